"""Archives as an operator meets them, each in a state of its own, made without Spark: healthy, late, damaged, not yet
begun, and one whose file has faults."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidewheel
from benchmarks.archives.feeding import create, feed
from tests.support.archives.columns import column
from tidewheel.hands import archive_job
from tidewheel.indexing.core.slots import iso
from tidewheel.resolve import read_archive_file
from tidewheel.storage.location import Location

HOUR_US = 3_600_000_000
CUSTOMERS = ("amber", "birch", "cedar", "dahlia", "elder", "fern", "ginkgo")
FIELDS = [
    column("customer", "string"),
    column("at", "timestamp"),
    column("keep_hours", "long"),
    column("bytes", "long"),
]
FILE = """
[archive]
name = "{name}"
path = "../tables/{name}"
key = ["customer"]
inserted_at = "at"
expires_at = "at + make_dt_interval(0, keep_hours)"

[time]
interval = "{interval}"
max_lifetime = "48h"

[layout]
insertion_classes = 3
expiration_classes = 6

[source]
path = "../landing/{name}/{{start:%Y-%m-%dT%H}}.json"
format = "json"
schema = "customer string, at timestamp, keep_hours bigint, bytes bigint"

[retention]
grace = "6h"
vacuum_period = "6h"

[schedule]
cron = "@hourly"
start = {start}
freshness = "90m"
"""
QUERIES = """
[[query]]
name = "bytes_by_customer"
of = "flows"
select = "sum(bytes) as bytes"
group_by = ["customer"]
window = "6h"
slide = "1h"
keep = "3d"

[[query]]
name = "alive"
of = "flows"
select = "count(*) as flows"
window = "live"
slide = "1h"
keep = "3d"
"""


@dataclass(frozen=True)
class OperatedArchives:
    """`archives/`, `tables/` and `landing/` in a folder; the hour that begins at `now_us` has just begun."""

    folder: Path
    now_us: int

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    def make(self) -> None:
        (self.archives / "queries").mkdir(parents=True)
        (self.archives / "queries" / "flows.toml").write_text(QUERIES)
        self._healthy()
        # Seven hours did not come; two more are missing before them.
        self._fed("readings", hours=[*range(-60, -33), *range(-31, -7)], start=-33)
        self._fed("consents", hours=range(-57, 0), start=-57)
        # Behind the newest checkpoint.
        (self.folder / "tables" / "consents" / "_delta_log" / "00000000000000000055.json").unlink()
        self._write("orders", start=0)
        (self.archives / "tickets.toml").write_text(FILE.format(name="tickets", interval="1 hour", start="yesterday"))

    def land(self, name: str, hours: Iterable[int]) -> None:
        """The files that the source of an archive waits for."""
        folder = self.folder / "landing" / name
        folder.mkdir(parents=True, exist_ok=True)
        for hour in hours:
            start_us = self.now_us + hour * HOUR_US
            rows = [{**row, "at": iso(row["at"])} for row in _rows(start_us // HOUR_US)]
            path = folder / f"{iso(start_us)[:13]}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def _healthy(self) -> None:
        self._fed("flows", hours=range(-60, 0), start=-60)
        archive = tidewheel.open(self.archives / "flows.toml")
        archive.queries.refresh()
        archive.vacuum()
        archive.audit(deep=False)

    def _write(self, name: str, start: int) -> Path:
        path = self.archives / f"{name}.toml"
        path.write_text(FILE.format(name=name, interval="1h", start=iso(self.now_us + start * HOUR_US)))
        return path

    def _fed(self, name: str, *, hours: Iterable[int], start: int) -> None:
        file = read_archive_file(self._write(name, start))
        job = archive_job(Location.of(file.path))
        create(job, FIELDS, file.definition("salt"))
        for hour in hours:
            slot = file.axis.slot_of(self.now_us + hour * HOUR_US)
            feed(job, [slot], _table(slot))


def _rows(slot: int) -> list[dict[str, Any]]:
    """More by day than by night, and most are kept for a few hours only."""
    chance = random.Random(slot)
    count = round(60 + 40 * math.sin(slot * math.pi / 12))
    return [
        {
            "customer": chance.choice(CUSTOMERS),
            "at": slot * HOUR_US + chance.randrange(HOUR_US // 1_000_000) * 1_000_000,
            "keep_hours": chance.choice((2, 4, 6, 6, 12, 24, 47)),
            "bytes": chance.randrange(100, 90_000),
        }
        for _ in range(count)
    ]


def _table(slot: int) -> pa.Table:
    rows, times = _rows(slot), pa.timestamp("us", "UTC")
    until_us = [row["at"] + row["keep_hours"] * HOUR_US for row in rows]
    return pa.table(
        {
            "customer": pa.array([row["customer"] for row in rows]),
            "at": pa.array([row["at"] for row in rows], times),
            "keep_hours": pa.array([row["keep_hours"] for row in rows], pa.int64()),
            "bytes": pa.array([row["bytes"] for row in rows], pa.int64()),
            "ins_slot": pa.array([slot] * len(rows), pa.int64()),
            "exp_slot": pa.array([-(-one // HOUR_US) - 1 for one in until_us], pa.int64()),
            "valid_until": pa.array(until_us, times),
            "row_hash": pa.array([random.Random(f"{slot}/{n}").getrandbits(62) for n in range(len(rows))], pa.int64()),
        }
    )
