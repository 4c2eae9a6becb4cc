"""An archive described by a file, with JSON batches that follow from slot and edition, and the oracle beside it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

import tidewheel
from tidewheel.archive import Archive
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.oracle import Oracle, Record
from tidewheel.indexing.slots import TimeAxis, iso
from tidewheel.storage.ledger_store import ledger_of

MINUTE_US = 60 * 1_000_000
SPAN = 12
Rows = list[tuple[int, int, str, int]]
_FILE = """
[archive]
name = "{name}"
path = "../tables/{name}"
key = ["key"]
inserted_at = "at"
expires_at = "until"
clock = "{clock}"

[time]
interval = "20m"
max_lifetime = "{lifetime}"

[layout]
expiration_classes = 3

[source]
path = "../batches/{{slot}}.json"
format = "json"
schema = "key string, at timestamp, until timestamp, body bigint"

[retention]
grace = "1h"
vacuum_period = "1h"

[schedule]
cron = "{cron}"
{schedule}
"""


@dataclass(frozen=True)
class TomlArchive:
    """`archives/<name>.toml`, `batches/` and `tables/` in a folder; three slots of 20 minutes to an hourly run."""

    folder: Path
    name: str = "tide"
    axis: TimeAxis = field(default_factory=lambda: TimeAxis(20 * MINUTE_US))
    span: int = SPAN

    @property
    def path(self) -> Path:
        return self.folder / "archives" / f"{self.name}.toml"

    def write_file(self, schedule: str = "", *, clock: str = "wall", cron: str = "0 * * * *") -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lifetime = duration_text(self.span * self.axis.interval_us)
        text = _FILE.format(name=self.name, schedule=schedule, clock=clock, cron=cron, lifetime=lifetime)
        self.path.write_text(text, encoding="utf-8")

    def write_batches(self, slots: Iterable[int], edition: int = 0) -> None:
        """The files of some slots; a later edition holds other records."""
        folder = self.folder / "batches"
        folder.mkdir(exist_ok=True)
        for slot in slots:
            lines = [json.dumps(self._row(record)) for record in records_of(slot, edition, self.span)]
            neighbour = folder / f"{slot}.part"
            neighbour.write_text("\n".join(lines) + "\n", encoding="utf-8")
            neighbour.replace(folder / f"{slot}.json")

    def _row(self, record: Record) -> dict[str, object]:
        offset_us = (2 + hash(record.body) % 1000) * 1_000_000
        start_us = self.axis.start_us(record.slot)
        at_us = start_us + (1_000_000 if record.expiration_slot == record.slot else offset_us)
        return {
            "key": record.key,
            "at": iso(at_us),
            "until": iso(self.axis.start_us(record.expiration_slot) + offset_us),
            "body": record.body,
        }

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
            rows += [tuple(row.values()) for row in table.to_pylist()]  # type: ignore[misc]
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


def records_of(slot: int, edition: int, span: int = SPAN, rows: int = 40) -> list[Record]:
    chance = random.Random(slot * 1000 + edition)
    return [
        Record(slot, slot + chance.randint(0, span - 1), f"k{chance.randrange(9)}", chance.randrange(1_000_000))
        for _ in range(rows)
    ]
