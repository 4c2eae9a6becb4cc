"""A small archive described by a file, with JSON batches that follow from slot and edition: what Airflow is given."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.durations import duration_text

MINUTE_US = 60 * 1_000_000
SPAN = 12
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
class DescribedArchive:
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


def records_of(slot: int, edition: int, span: int = SPAN, rows: int = 40) -> list[Record]:
    chance = random.Random(slot * 1000 + edition)
    return [
        Record(slot, slot + chance.randint(0, span - 1), f"k{chance.randrange(9)}", chance.randrange(1_000_000))
        for _ in range(rows)
    ]
