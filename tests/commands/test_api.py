"""The Python API: finding an archive, moments, slots, and reads that go through to the reader."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import tidewheel
from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.errors import InvalidInput
from tidewheel.moments import moment_us
from tidewheel.resolve import known_archives, resolve
from tidewheel.writing import groups

FIELDS = [column("key", "string"), column("body", "long")]
FILE = """
[archive]
name = "flows"
path = "../data/flows"
key = ["src_ip"]
inserted_at = "at"
expires_at = "until"
[time]
interval = "1h"
max_lifetime = "1d"
[source]
path = "{source}"
format = "parquet"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one archive file, as the working directory."""
    (tmp_path / "archives").mkdir()
    _write(tmp_path / "archives" / "flows.toml", "../in/{start:%Y%m%dT%H}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEWHEEL_ARCHIVES", raising=False)
    return tmp_path


def _write(path: Path, source: str) -> None:
    path.write_text(FILE.replace("{source}", source), encoding="utf-8")


# Names.


def test_a_name_is_a_file_in_archives(project: Path) -> None:
    target = resolve("flows")
    assert target.file is not None
    assert target.path == str(project / "data" / "flows")
    assert target.file.source.path == str(project / "in") + "/{start:%Y%m%dT%H}"
    assert known_archives() == ["flows"]


def test_paths_do_not_depend_on_where_one_is(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = resolve("flows")
    monkeypatch.chdir("/")
    assert resolve(project / "archives" / "flows.toml") == here
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(project / "archives"))
    assert resolve("flows") == here


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("in/{slot}", "archives/in/{slot}"),
        ("./in/{slot}", "archives/in/{slot}"),
        ("../in/{start:%H}{slot}", "in/{start:%H}{slot}"),
    ],
)
def test_a_relative_source_starts_at_the_file(project: Path, written: str, meant: str) -> None:
    _write(project / "archives" / "flows.toml", written)
    file = resolve("flows").file
    assert file is not None
    assert file.source.path == f"{project}/{meant}"


@pytest.mark.parametrize("path", ["/abs/{slot}", "s3a://bucket/{slot}"])
def test_an_absolute_source_stays(project: Path, path: str) -> None:
    _write(project / "archives" / "flows.toml", path)
    file = resolve("flows").file
    assert file is not None
    assert file.source.path == path


def test_a_folder_with_signs_of_patterns_is_meant_literally(tmp_path: Path) -> None:
    folder = tmp_path / "a{b}[c]"
    folder.mkdir()
    _write(folder / "flows.toml", "in/{slot}")
    file = resolve(folder / "flows.toml").file
    assert file is not None
    assert file.source.path == f"{tmp_path}/a\\{{{{b\\}}}}\\[c\\]/in/{{slot}}"


@pytest.mark.parametrize("path", ["s3a://bucket/table", "/somewhere/table", "./table"])
def test_a_path_is_a_table(path: str) -> None:
    assert resolve(path).file is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("flow", ["no archive flow", "did you mean flows?", "archives/"]),
        ("nothing.toml", ["no archive file nothing.toml", "flows"]),
    ],
)
def test_an_unknown_name_lists_the_known(project: Path, name: str, words: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        resolve(name)
    for word in words:
        assert word in str(refusal.value)


def test_where_there_is_no_folder_it_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="TIDEWHEEL_ARCHIVES"):
        resolve("flows")


def test_an_archive_says_how_it_was_named_and_where_it_lies(project: Path) -> None:
    table = project / "data" / "flows"
    assert repr(tidewheel.open("flows")) == f"<Archive flows at {table}>"
    assert repr(tidewheel.open("flows.answers")).startswith("<Archive flows.answers at ")
    assert repr(tidewheel.open(table)) == f"<Archive at {table}>"


@pytest.mark.parametrize(
    ("name", "content"), [("a\0b.toml", None), ("flows.toml", b"\xff\xfe[\0"), ("flows.toml", b"[a\0]")]
)
def test_a_name_or_a_file_with_bytes_that_are_no_text_is_refused(
    project: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (project / name).write_bytes(content)
    with pytest.raises(InvalidInput):
        tidewheel.open(project / name)


# Moments and slots.


@pytest.mark.parametrize(
    "given",
    [
        "2026-11-18T10:00Z",
        " 2026-11-18 10:00:00+00:00",
        "2026-11-18T11:00+01:00",
        datetime(2026, 11, 18, 10, tzinfo=UTC),
        datetime(2026, 11, 18, 5, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_moment_in_many_ways(given: object) -> None:
    assert moment_us(given) == micros(datetime(2026, 11, 18, 10, tzinfo=UTC))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["2026-11-18", date(2026, 11, 18)])
def test_a_date_is_its_midnight(given: object) -> None:
    assert moment_us(given) == micros(datetime(2026, 11, 18, tzinfo=UTC))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["2026-11-18T10:00", "2026-11-18 10:00:00", datetime(2026, 11, 18, 10)])
def test_a_naive_moment_is_refused_with_the_way_out(given: object) -> None:
    with pytest.raises(InvalidInput, match="write 2026-11-18T10:00Z for UTC"):
        moment_us(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["", "now", "10:00", "2026-13-01", "1700000000", "2026-11-18T10:00Zz"])
def test_what_is_no_moment_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="is not a moment"):
        moment_us(given)


def test_slots_of_a_range_and_of_a_moment(project: Path) -> None:
    archive = tidewheel.open("flows")
    assert archive.slots("1970-01-01T02:00Z") == range(2, 3)
    assert archive.slots("1970-01-01", "1970-01-02") == range(24)
    assert archive.slots_to_fill("1970-01-01", "1970-01-02") == range(24)
    with pytest.raises(InvalidInput, match="needs a range, or --missing"):
        archive.slots_to_fill("1970-01-01")


def test_groups_lose_and_double_nothing() -> None:
    for each in range(1, 9):
        for newest_first in (False, True):
            found = [slot for group in groups(range(7), each, newest_first=newest_first) for slot in group]
            assert sorted(found) == list(range(7))
            assert found == sorted(found, reverse=newest_first)
    with pytest.raises(InvalidInput, match="0 slots in a commit"):
        list(groups(range(7), 0))


# Reads.


@pytest.fixture
def built(tmp_path: Path) -> BuiltTable:
    """Two slots: one record lives through both, one arrives in the second."""
    table = BuiltTable.create(tmp_path / "table", FIELDS, ["key"])
    table.append([table.row(0, 4 * HOUR_US, key="a", body=0)], watermark=0)
    table.append([table.row(1, 3 * HOUR_US, key="b", body=1)], watermark=1)
    return table


def test_reads_go_through_to_the_reader(built: BuiltTable) -> None:
    archive = tidewheel.open(built.location.uri)
    assert archive.probe("a").dicts() == [{"key": "a", "body": 0}]
    assert sorted(archive.probe_range("a", "c", columns=["body"]).rows()) == [(0,), (1,)]
    assert archive.scan("body > 0", columns=["key"]).rows() == [("b",)]
    assert archive.sql("select count(*) from live").rows() == [(2,)]
    assert archive.connect().sql("select key from live order by key").fetchall() == [("a",), ("b",)]


def test_reads_are_as_of_a_moment(built: BuiltTable) -> None:
    archive = tidewheel.open(built.location.uri)
    assert archive.scan(as_of="1970-01-01T03:30Z").rows() == [("a", 0)]
    assert archive.probe("a", as_of=datetime(1970, 1, 1, 4, tzinfo=UTC)).rows() == []


def test_a_table_says_what_needs_its_archive_file(built: BuiltTable) -> None:
    archive = tidewheel.open(built.location.uri)
    with pytest.raises(InvalidInput, match="needs to know the source"):
        archive.update("1970-01-01T02:00Z")
    assert [receipt.operation.value for _, receipt in archive.history(1)] == ["update"]


def test_changes_tell_what_came_and_why_it_left(built: BuiltTable) -> None:
    archive = tidewheel.open(built.location.uri)
    told = archive.changes(-1)
    assert [one.version for one in told] == [version for version, _ in reversed(archive.history())]
    newest = archive.history(1)[0][0]
    assert archive.changes(newest) == []
    assert archive.changes(newest - 1) == told[-1:]
    assert archive.changes(-1, through=newest - 1) == told[:-1]
    with pytest.raises(InvalidInput, match="there is no version 99"):
        archive.changes(99)


def test_a_historic_archive_has_no_present_to_expire_through(built: BuiltTable) -> None:
    with pytest.raises(InvalidInput, match="--through"):
        tidewheel.open(built.location.uri).expire()


def test_the_package_says_what_it_offers() -> None:
    assert tidewheel.__version__
    with pytest.raises(AttributeError, match="it offers Archive"):
        tidewheel.shut  # noqa: B018
