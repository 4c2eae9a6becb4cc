"""Published views show what the reader shows, to people who have only their engine."""

import duckdb
import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.published.published_views import DIALECTS, published_view
from tidewheel.sql.reader import Reader

ENDS = (2, 5, 9)


def build(place, clock, **options):
    table = BuiltTable.create(
        place, [column('ke"y', "string"), column("size", "long")], ['ke"y'], clock=clock, **options
    )
    table.append([table.row(0, end * HOUR_US, **{'ke"y': f"{end}", "size": end}) for end in ENDS], watermark=1)
    return table


@pytest.fixture
def connection():
    with duckdb.connect(":memory:") as connection:
        yield connection


@pytest.mark.parametrize("clock", list(Clock))
def test_the_duckdb_view_equals_the_reader(tmp_path, connection, clock):
    table = build(tmp_path / "it's", clock)
    table.widen(column("added", "double"))
    connection.execute(published_view(table.snapshot, "duckdb"))
    # For the wall clock all of 1970 is over: what the view shows then is nothing, like the reader of today.
    with Reader.open(table.location, now_us=lambda: 2**51) as reader:
        expected = reader.sql("select * exclude valid_until, epoch_us(valid_until) from live order by 1").rows()
    view = connection.execute("select * exclude valid_until, epoch_us(valid_until) from built order by 1")
    assert [column[0] for column in view.description][:3] == ['ke"y', "size", "added"]
    assert view.fetchall() == expected
    assert len(expected) == (2 if clock is Clock.DATA else 0)


def test_the_view_of_a_live_archive_shows_what_is_alive(tmp_path, connection):
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"], clock=Clock.WALL)
    table.append([table.row(0, end, key=str(end)) for end in (5 * HOUR_US, 2**55)], watermark=1)
    connection.execute(published_view(table.snapshot, "duckdb"))
    assert connection.execute("select key from built").fetchall() == [(str(2**55),)]


def test_the_view_of_an_empty_archive_has_columns(tmp_path, connection):
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    connection.execute(published_view(table.snapshot, "duckdb"))
    assert connection.execute("select * from built").description[0][0] == "key"


def test_the_views_that_follow_the_table(tmp_path):
    table = build(tmp_path, Clock.WALL)
    delta = published_view(table.snapshot, "duckdb_delta")
    assert (
        f"FROM delta_scan('{tmp_path}')\nWHERE valid_until > greatest(now(), make_timestamptz({2 * HOUR_US}));" in delta
    )
    spark = published_view(table.snapshot, "spark")
    assert 'CREATE OR REPLACE VIEW `built` AS\nSELECT `ke"y`, `size`, `ins_slot`, `exp_slot`, `valid_until`' in spark
    assert f"FROM delta.`{tmp_path}`\n" in spark
    assert "valid_until > greatest(current_timestamp(), TIMESTAMP '1970-01-01T02:00:00Z');" in spark


def test_the_views_of_a_historic_archive_stay_at_their_version(tmp_path):
    table = build(tmp_path, Clock.DATA)
    spark = published_view(table.snapshot, "spark")
    assert "` VERSION AS OF 1\nWHERE valid_until > TIMESTAMP '1970-01-01T02:00:00Z';" in spark
    delta = published_view(table.snapshot, "duckdb_delta")
    assert f"FROM delta_scan('{tmp_path}', version := 1)\n" in delta
    assert f"WHERE valid_until > make_timestamptz({2 * HOUR_US});" in delta


def test_an_unknown_dialect_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=f"known are {', '.join(sorted(DIALECTS))}"):
        published_view(build(tmp_path, Clock.DATA).snapshot, "trino")
