"""Archives that were written long ago, by the program of commit 548f668, stay readable, mendable and writable."""

from __future__ import annotations

import math
import tarfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.old_archives.contents import EPOCH, INTERVAL, OLD_ARCHIVES, SLOT_CORRECTED, SLOT_LAST, OldArchive, Row
from tidewheel.archive import Archive
from tidewheel.indexing.rules.findings import Flaw
from tidewheel.resolve import resolve

PACKED = Path(__file__).parent.parent / "old_archives" / "packed"
FORGOTTEN_THROUGH = 7
CONFIRMED: dict[str, Any] = {"allow_future": True, "allow_jump": True, "allow_shrink": True}
# Where every kind of key's bytes are stored in another way, and the composite ones.
WRITTEN_BY_DEFAULT = ("binary", "string_long")


@dataclass
class Unpacked:
    """An old archive in a folder, with what must be alive in it."""

    one: OldArchive
    place: Path
    watermark: int = SLOT_LAST
    forgotten: dict[tuple[Any, ...], int] = field(default_factory=dict)
    applied: set[int] = field(default_factory=lambda: set(range(SLOT_LAST + 1)))

    @staticmethod
    def of(one: OldArchive, folder: Path) -> Unpacked:
        with tarfile.open(PACKED / f"{one.name}.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        gone = tuple(comparable(kind.values[0]) for kind in one.key)
        return Unpacked(one, folder / one.name, forgotten={gone: FORGOTTEN_THROUGH})

    def open(self, *, later_us: int = 0) -> Archive:
        written_ns = (self.place / "alive.parquet").stat().st_mtime_ns
        return Archive(resolve(str(self.place / "archive.toml")), clock=lambda: written_ns // 1000 + later_us)

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(comparable(row[name]) for name in self.one.key_columns)

    def expected(self) -> Counter[tuple[Any, ...]]:
        """By the definition, from the batches: those of the slots applied, alive, and not forgotten."""
        end = EPOCH + (self.watermark + 1) * INTERVAL
        rows = []
        for slot in self.applied:
            for row in pq.ParquetFile(self.place / "batches" / f"{slot}.parquet").read().to_pylist():
                if row["until"] and row["until"] > end and slot > self.forgotten.get(self.key(row), -1):
                    rows.append(row)
        return self.counted(rows)

    def counted(self, rows: Iterable[Row]) -> Counter[tuple[Any, ...]]:
        return Counter((self.key(row), row["body"], row["word"], row["ins"], row["until"]) for row in rows)

    def check_reads(self) -> None:
        """A scan and the probes of every key, of its first column, and of one that is not there."""
        expected = self.expected()
        with self.open().reader as reader:
            assert self.counted(reader.scan().dicts()) == expected
            keys = {self.key(row): tuple(row[name] for name in self.one.key_columns) for row in self.rows()}
            assert expected, "there is something to find"
            for key, value in keys.items():
                of_key = Counter({row: times for row, times in expected.items() if row[0] == key})
                assert self.counted(reader.probe(value).dicts()) == of_key, key
                of_first = Counter({row: times for row, times in expected.items() if row[0][:1] == key[:1]})
                assert self.counted(reader.probe(value[:1]).dicts()) == of_first, key

    def rows(self) -> list[Row]:
        return [row for slot in self.applied for row in self.one.rows(slot)]


def comparable(value: Any) -> Any:
    """A value such that equal keys are equal here: NaN is itself, and there is one zero."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@pytest.fixture(params=OLD_ARCHIVES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Unpacked:
    return Unpacked.of(OLD_ARCHIVES[request.param], tmp_path)


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Unpacked:
    return Unpacked.of(OLD_ARCHIVES[request.param], tmp_path)


def test_it_is_read_as_it_was(old: Unpacked) -> None:
    alive = pq.ParquetFile(old.place / "alive.parquet").read().to_pylist()
    assert old.counted(alive) == old.expected()
    old.check_reads()
    archive = old.open()
    assert [receipt.operation for _, receipt in archive.history()] == [
        *("update", "update", "update", "migrate", "forget"), *["update"] * 6, "init",
    ]  # fmt: skip
    status = archive.status()
    assert (status.watermark, status.missing) == (SLOT_LAST, ())
    check_audited(old)


def with_filter(old: Unpacked) -> list[str]:
    """The files of the newest version that have a Bloom filter on the first key."""
    snapshot = old.open().snapshot()
    column = snapshot.definition.key[0]
    place = snapshot.schema.fields.index(next(one for one in snapshot.schema.fields if one.name == column))
    files = {one.path: pq.read_metadata(snapshot.location.child(one.path)) for one in snapshot.files}
    return [path for path, file in files.items() if file.row_group(0).column(place).bloom_filter_offset is not None]


@pytest.mark.parametrize("old", ["boolean"], indirect=True)
def test_an_audit_names_old_files_with_filters_on_truth_values(old: Unpacked) -> None:
    report = old.open().audit(deep=False)
    assert [one.path for one in report.findings if one.path] == with_filter(old) != []
    assert report.remedy == f"tidewheel migrate {old.place / 'archive.toml'} --stop-and-rebuild"


def check_audited(old: Unpacked) -> None:
    """Nothing is wrong in it but what misleads other readers; audit names the commands that mend that."""
    report = old.open().audit(deep=True)
    assert {one.kind for one in report.findings} == {Flaw.OTHER_READERS}
    unsaid = [one for one in report.findings if one.path is None]
    assert len(unsaid) == 1
    called = old.place / "archive.toml"
    vacuum = f"tidewheel vacuum {called}"
    assert vacuum in unsaid[0].message
    filtered = [one.path for one in report.findings if one.path]
    misleading = old.one.key[0].spark in ("binary", "float", "double", "boolean")
    assert filtered == (with_filter(old) if misleading else [])
    rewrite = f"tidewheel migrate {called} --stop-and-rebuild"
    assert report.remedy == (rewrite if filtered else vacuum)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("written", WRITTEN_BY_DEFAULT, indirect=True)
def test_it_is_written(written: Unpacked) -> None:
    check_written(written)


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("written", [name for name in OLD_ARCHIVES if name not in WRITTEN_BY_DEFAULT], indirect=True)
def test_each_is_written(written: Unpacked) -> None:
    check_written(written)


def check_written(old: Unpacked) -> None:
    """Every operation, one after the other; after each, what is read is what the definition says."""
    update(old, 10)
    old.check_reads()
    assert not [one for one in old.open().audit(deep=False).findings if not one.path], "the table says it now"
    forget(old, old.one.rows(SLOT_LAST)[1])
    update(old, SLOT_CORRECTED)
    old.check_reads()
    old.open().undo()
    old.check_reads()
    update(old, 11)
    old.open().expire(_at(12), allow_future=True, allow_jump=True)
    old.watermark = 12
    old.check_reads()
    old.open().migrate(rebuild=True)
    old.check_reads()
    update(old, 12)
    old.open(later_us=7 * 3600 * 1_000_000).vacuum()
    old.check_reads()
    assert old.open().audit(deep=True).findings == ()


def update(old: Unpacked, slot: int) -> None:
    old.open().update(_at(slot), **CONFIRMED)
    old.applied.add(slot)
    old.watermark = max(old.watermark, slot)


def forget(old: Unpacked, row: Row) -> None:
    old.open().forget([tuple(as_text(row[name]) for name in old.one.key_columns)])
    old.forgotten[old.key(row)] = max(old.applied)


def as_text(value: Any) -> str:
    """A key as it is typed."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _at(slot: int) -> str:
    return (EPOCH + slot * INTERVAL).isoformat().replace("+00:00", "Z")
