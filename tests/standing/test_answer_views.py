"""Answers of standing queries as views: in SQL of one archive and of several, of a moment, and for other readers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.asked_archive import asked_archive, copied_archive, events, told
from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput

TOTAL = "select n, total from answers.total order by window_end desc limit 1"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    asked_archive(folder)
    tidewheel.open(folder / "archives" / "m.toml").queries.refresh()
    return folder


@pytest.fixture
def archive(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    return copied_archive(built, tmp_path, monkeypatch)


def test_a_view_shows_what_ask_gives(archive: LocalArchive) -> None:
    opened = tidewheel.open("m")
    for query in opened.queries.check():
        asked = opened.queries.ask(query.name, last=None)
        shown = opened.sql(f"select * from answers.{query.name}").arrow()
        assert shown.column_names == asked.column_names
        key = [(name, "ascending") for name in ("window_end", *(one.name for one in query.groups))]
        assert shown.sort_by(key).to_pylist() == asked.sort_by(key).to_pylist()


def test_answers_are_joined_with_records_and_told_by_version(archive: LocalArchive) -> None:
    joined = "select count(*) as n from live join answers.by_key using (k)"
    answer = tidewheel.open("m").sql(joined)
    assert answer.versions == {"m": 7, "m.answers": 1} or answer.versions == {"m": 8, "m.answers": 1}
    # Eight live records, and of each key answers from the second slot on.
    assert answer.rows()[0][0] > 8
    assert told("sql", "m", joined)["rows"] == told("sql", joined.replace("live", "m"))["rows"]


def test_a_query_without_an_archive_is_found_by_its_name(archive: LocalArchive) -> None:
    assert told("sql", TOTAL)["rows"] == told("sql", "m", TOTAL)["rows"]
    done = CliRunner().invoke(main, ["sql", "select * from answers.unknown"])
    assert done.exit_code == 2
    assert "no query file has it" in done.output
    done = CliRunner().invoke(main, ["sql", "m", "select * from answers.unknown"])
    assert "answers.total" in done.output, "what there is"


def test_answers_are_those_of_the_moment(archive: LocalArchive) -> None:
    before_us = 6 * MINUTE_US
    opened = tidewheel.open("m")
    newest = opened.sql(TOTAL).rows()
    archive.update({6: events(6)})
    assert opened.sql(TOTAL).rows() == newest, "before the refresh"
    opened.queries.refresh()
    assert opened.sql(TOTAL).rows() != newest
    assert opened.sql(TOTAL, as_of=iso(before_us)).rows() == newest


def test_a_moment_before_the_first_answers_has_none(tmp_path: Path) -> None:
    made = asked_archive(tmp_path)
    opened = tidewheel.open(tmp_path / "archives" / "m.toml")
    opened.queries.refresh()
    with pytest.raises(InvalidInput, match="there is no table"):
        opened.sql(TOTAL, as_of=iso(4 * MINUTE_US))
    with tidewheel.session({"m": made.job.location.uri}, as_of=iso(4 * MINUTE_US)) as session:
        assert session.sql("select count(*) from m").rows()[0][0]


def test_two_archives_with_a_query_of_one_name_show_neither(archive: LocalArchive, tmp_path: Path) -> None:
    other = tmp_path / "other"
    asked_archive(other)
    tidewheel.open(other / "archives" / "m.toml").queries.refresh()
    with tidewheel.session({"m": "m", "other": other / "table"}) as session:
        assert len(session.sql("select part from m.answers union all select part from other.answers").rows()) > 0
        with pytest.raises(InvalidInput, match="there is no table"):
            session.sql(TOTAL)


def test_the_sandbox_shows_no_further_files(archive: LocalArchive) -> None:
    opened = tidewheel.open("m")
    with pytest.raises(InvalidInput):
        opened.sql("select * from answers.total, read_parquet('x.parquet')")
    with pytest.raises(InvalidInput):
        opened.sql("select * from answers.total; drop view answers.total")


def test_published_views_are_read_by_duckdb_alone(archive: LocalArchive) -> None:
    opened = tidewheel.open("m.answers")
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(opened.published_view("duckdb"))
        plain = connection.execute(TOTAL).fetchall()
    assert [tuple(row) for row in plain] == tidewheel.open("m").sql(TOTAL).rows()
    spark = opened.published_view("spark")
    assert (
        "CREATE SCHEMA IF NOT EXISTS answers;\nCREATE OR REPLACE VIEW answers.`total` AS\nSELECT `window_start`"
        in spark
    )
    assert "CREATE OR REPLACE VIEW `m_answers` AS" in spark
