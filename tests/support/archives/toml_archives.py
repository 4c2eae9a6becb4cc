"""An archive described by a file, and the oracle beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import tidewheel
from benchmarks.archives.described_archive import DescribedArchive, records_of
from tidewheel.archive import Archive
from tidewheel.indexing.core.oracle import Oracle
from tidewheel.storage.ledger_store import ledger_of

Rows = list[tuple[int, int, str, int]]


@dataclass(frozen=True)
class TomlArchive(DescribedArchive):
    """One whose content can be compared."""

    def open(self) -> Archive:
        return tidewheel.open(self.path)

    def applied(self) -> list[int]:
        """The slots that the ledger says were applied."""
        applied = ledger_of(self.open().snapshot()).applied
        return [slot for first, last in applied for slot in range(first, last + 1)]

    def content(self) -> Rows:
        """What is alive at the watermark, straight from the files."""
        snapshot = self.open().snapshot()
        rows: Rows = []
        for fact in snapshot.files:
            table = pq.ParquetFile(snapshot.location.child(fact.path)).read(["ins_slot", "exp_slot", "key", "body"])
            rows += [tuple(row.values()) for row in table.to_pylist()]
        return sorted(row for row in rows if snapshot.watermark is None or row[1] > snapshot.watermark)

    def expected(self, slots: Iterable[int], editions: Mapping[int, int] | None = None) -> Rows:
        """What must be alive after these slots, by the oracle; `editions` names those that were corrected."""
        oracle = Oracle()
        for slot in slots:
            oracle.update({slot: records_of(slot, (editions or {}).get(slot, 0), self.span)})
        watermark = self.open().snapshot().watermark
        if watermark is not None:
            oracle.expire(watermark)
        return sorted((r.slot, r.expiration_slot, str(r.key), r.body) for r in oracle.content())  # type: ignore[misc]


def first_slot_fed(folder: Path) -> TomlArchive:
    """An archive with its first slot; the batches of the next three lie ready."""
    tide = TomlArchive(folder)
    tide.write_file(clock="data")
    tide.write_batches(range(4))
    tide.open().create()
    tide.open().update(tide.axis.name(0))
    return tide
