"""The demo archive of `make airflow` and its feeder: every minute a batch of sessions, each with its own expiry."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from pathlib import Path

from tidewheel.playground.demo_source import DemoSource

NAME = "demo"
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


class DemoFeed:
    """The feeder: it writes the archive file, and from then on the batch of every minute that is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive_file = folder / "archives" / f"{NAME}.toml"
        self.source = DemoSource(folder / "batches", _MINUTE)
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
        """Return the minute at which the feed begins."""
        return self.source.due(now)[0]

    def feed(self, now: datetime) -> None:
        """Write the missing batches of the last minutes that are over."""
        self.source.feed(now)

    def _run(self) -> None:
        from tidewheel.commits.clock import now_us
        from tidewheel.indexing.core.slots import moment

        while not self._stopped.wait(1):
            self.feed(moment(now_us()))
