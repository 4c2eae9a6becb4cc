"""The demo archive of `make airflow` and its feeder: every minute a batch of sessions, each with its own expiry.

A batch follows from its slot alone, so a test can say what the archive must hold.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

NAME = "demo"
BEFORE = timedelta(minutes=5)
_MINUTE = timedelta(minutes=1)
_FILE = """\
# Made-up sessions: every customer's plan says how many minutes a session is kept.

[archive]
name = "demo"
path = "../tables/demo"
key = ["customer"]
inserted_at = "at"
expires_at = "at + make_dt_interval(0, 0, keep_minutes)"

[time]
interval = "1m"
max_lifetime = "20m"

[layout]
expiration_classes = 4

[source]
path = "../batches/{start:%Y-%m-%dT%H%M}.json"
format = "json"
schema = "customer string, at timestamp, keep_minutes int, bytes bigint"

[retention]
grace = "10m"
vacuum_period = "5m"
log = "1h"

[schedule]
cron = "* * * * *"
# What was missed while nothing ran was never written either.
catchup = false
pool = "demo"
freshness = "3m"
"""


def demo_records(start: datetime, rows: int = 200) -> Iterator[dict[str, Any]]:
    """The batch of the minute that starts then."""
    chance = random.Random(int(start.timestamp()))
    for _ in range(rows):
        yield {
            "customer": f"c{chance.randrange(50):02d}",
            "at": (start + timedelta(seconds=chance.randrange(60))).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "keep_minutes": chance.choice((2, 5, 20)),
            "bytes": chance.randrange(1, 1_000_000),
        }


class DemoFeed:
    """Writes the archive file, and from then on the batch of every minute that is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive_file = folder / "archives" / f"{NAME}.toml"
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo feed", daemon=True)

    def write_file(self) -> None:
        self.archive_file.parent.mkdir(parents=True, exist_ok=True)
        self.archive_file.write_text(_FILE, encoding="utf-8")

    def start(self) -> None:
        self.write_file()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def first_minute(self, now: datetime) -> datetime:
        """Where the feed begins."""
        return now.replace(second=0, microsecond=0) - BEFORE

    def feed(self, now: datetime) -> None:
        """The batches of the last minutes that are over, where there is none."""
        minute = self.first_minute(now)
        (self.folder / "batches").mkdir(parents=True, exist_ok=True)
        while minute + _MINUTE <= now:
            target = self.folder / "batches" / f"{minute:%Y-%m-%dT%H%M}.json"
            if not target.exists():
                neighbour = target.with_suffix(".part")
                neighbour.write_text("".join(json.dumps(one) + "\n" for one in demo_records(minute)), "utf-8")
                neighbour.replace(target)
            minute += _MINUTE

    def _run(self) -> None:
        from tidewheel.commits.clock import now_us
        from tidewheel.indexing.slots import moment

        while not self._stopped.wait(1):
            self.feed(moment(now_us()))
