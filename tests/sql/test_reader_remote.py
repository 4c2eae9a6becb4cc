"""The way that object stores are read, pyarrow under DuckDB, over a file system that stands in for one."""

from collections import Counter

import duckdb
import pytest
from pyarrow import fs

from tests.support.archives.built_table import HOUR_US, BuiltTable, alive, cells_of
from tests.support.archives.columns import column
from tests.support.archives.stored_cells import live_cells, stored_cells
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.sql import pinned_version
from tidewheel.sql.engine.remote_files import RemoteFiles
from tidewheel.sql.questions import Probe
from tidewheel.sql.reader import Reader


@pytest.fixture
def table(tmp_path, monkeypatch):
    table = BuiltTable.create(tmp_path, [column("key", "string"), column("size", "long")], ["key"], file_rows_max=20)
    rows = [table.row(0, (2 + i % 5) * HOUR_US + i, key=f"k{i % 30:02}", size=i) for i in range(150)]
    table.append(rows, watermark=0)
    table.widen(column("added", "double"))
    table.append([table.row(1, 8 * HOUR_US, key="k05", size=1, added=0.5)], watermark=1)
    monkeypatch.setattr(pinned_version, "files_at", lambda location, shape: RemoteFiles(location, shape.arrow))
    return table


def test_reads_are_the_same(table):
    with Reader.open(table.location, now_us=lambda: 0) as reader:
        for at in (None, 3 * HOUR_US + 7, 90 * HOUR_US):
            rows = alive(table.rows, at or 2 * HOUR_US)
            expected = Counter((row["key"], row["size"], row.get("added")) for row in rows)
            assert Counter(reader.scan(as_of_us=at).rows()) == expected
            assert Counter(reader.sql("select key, size, added from live", as_of_us=at).rows()) == expected
            probed = Counter({row: n for row, n in expected.items() if row[0] == "k05"})
            assert Counter(reader.probe("k05", as_of_us=at).rows()) == probed
            ranged = Counter({row: n for row, n in expected.items() if "k05" <= row[0] < "k09"})
            assert Counter(reader.probe_range("k05", "k09", as_of_us=at).rows()) == ranged
            assert live_cells(reader, at) == cells_of(rows)
        assert stored_cells(reader) == cells_of(table.rows)
        assert reader.connect().execute("select count(*) from probe('k05')").fetchall()[0][0] > 1
        told = reader.explain(Probe("k05"))
        assert told.rows_found == len(reader.probe("k05").rows())
        assert len(told.access.outside_key) > 0


def test_ad_hoc_sql_is_fenced_in_too(table):
    with Reader.open(table.location, now_us=lambda: 0) as reader:
        for query in ("from tidewheel_files", f"from '{table.path(next(iter(table.rows_by_file)))}'"):
            with pytest.raises(InvalidInput):
                reader.sql(query).rows()


def test_a_missing_file_is_named(table):
    victim, rows = next(iter(table.rows_by_file.items()))
    key = rows[0]["key"]
    table.path(victim).unlink()
    with Reader.open(table.location, now_us=lambda: 0) as reader:
        for read in (lambda: reader.probe(key), lambda: reader.scan().rows()):
            with pytest.raises(Damaged, match=f"{victim}.* is gone"):
                read()
        with pytest.raises(duckdb.Error) as failed:
            stored_cells(reader)
        assert f"{victim}" in str(reader.session().explained(failed.value))


def test_the_file_system_of_the_location_is_used(table):
    table.location.__dict__["filesystem"] = spy = fs.PyFileSystem(_Spy(table.location.filesystem))
    with Reader.open(table.location, now_us=lambda: 0) as reader:
        assert reader.probe("k05").rows()
    opened = spy.handler.opened
    assert opened
    assert all(path.endswith(".parquet") for path in opened)
    assert len(opened) < len(table.rows_by_file)


class _Spy(fs.FSSpecHandler):  # type: ignore[misc]
    """A file system that notes what is opened."""

    def __init__(self, inner):
        self.inner = inner
        self.opened = []

    def get_type_name(self):
        return "spy"

    def open_input_file(self, path):
        self.opened.append(path)
        return self.inner.open_input_file(path)

    def open_input_stream(self, path):
        return self.inner.open_input_stream(path)

    def get_file_info(self, paths):
        return self.inner.get_file_info(paths)
