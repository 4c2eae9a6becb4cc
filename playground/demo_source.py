"""The source of the demo archives: made-up sessions, one file for every interval that is over.

    python -m tidewheel.playground.demo_source s3a://bucket/folder             one every five minutes
    python -m tidewheel.playground.demo_source --healthy s3a://bucket/folder   whether the last one that is due is there

A batch follows from its start alone, so a test can say what an archive must hold.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

LOG = logging.getLogger(__name__)
BEFORE_INTERVALS = 5
KEPT = timedelta(days=1)
FILE_NAME = "%Y-%m-%dT%H%M.json"
EVERY = timedelta(minutes=5)
_LOOK_S = 5.0


def demo_records(start: datetime, every: timedelta = timedelta(minutes=1), rows: int = 200) -> Iterator[dict[str, Any]]:
    """Return the batch of the interval that starts then."""
    chance = random.Random(int(start.timestamp()))
    for _ in range(rows):
        yield {
            "customer": f"c{chance.randrange(50):02d}",
            "at": (start + timedelta(seconds=chance.randrange(int(every.total_seconds())))).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            ),
            "keep_minutes": chance.choice((2, 5, 20)),
            "bytes": chance.randrange(1, 1_000_000),
        }


class DemoSource:
    """A folder, here or on an object store, that holds the batch of every interval that is over."""

    def __init__(self, folder: str | Path, every: timedelta) -> None:
        from tidewheel.storage.location import Location

        self.location = Location.of(folder)
        self.every = every
        self._written: set[str] = set()

    def due(self, now: datetime) -> list[datetime]:
        """Return the starts of the last intervals that are over, the oldest first."""
        end = now - (now - datetime.fromtimestamp(0, now.tzinfo)) % self.every
        return [end - count * self.every for count in range(BEFORE_INTERVALS, 0, -1)]

    def feed(self, now: datetime) -> int:
        """Write the batches that are due and missing; return how many they were."""
        written = 0
        for start in self.due(now):
            if (name := start.strftime(FILE_NAME)) not in self._written:
                written += self._write(name, start)
                self._written.add(name)
        return written

    def clean(self, now: datetime) -> None:
        """Remove batches that nobody asks for any more."""
        oldest = (now - KEPT).strftime(FILE_NAME)
        for info in self.location.files_below(""):
            if info.base_name < oldest:
                self.location.delete(info.base_name)
                self._written.discard(info.base_name)

    def is_fed(self, now: datetime) -> bool:
        """Tell whether the last batch that had a minute to be written is there."""
        return self._is_there(self.due(now - timedelta(minutes=1))[-1].strftime(FILE_NAME))

    def _write(self, name: str, start: datetime) -> int:
        if self._is_there(name):
            return 0
        lines = "".join(json.dumps(one) + "\n" for one in demo_records(start, self.every))
        self.location.write_bytes(self.location.child(name), lines.encode())
        return 1

    def _is_there(self, name: str) -> bool:
        return bool(self.location.filesystem.get_file_info(self.location.child(name)).is_file)


def keep_feeding(source: DemoSource) -> None:
    """Feed until the process is stopped; if the store is away for a while, wait for it."""
    while True:
        try:
            now = _now()
            if written := source.feed(now):
                LOG.info("%s batches written", written)
                source.clean(now)
        except OSError as error:
            LOG.warning("the batches cannot be written: %s", error)
        time.sleep(_LOOK_S)


def _now() -> datetime:
    from tidewheel.commits.clock import now_us
    from tidewheel.indexing.core.slots import moment

    return moment(now_us())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--healthy", action="store_true")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    source = DemoSource(given.folder, EVERY)
    if given.healthy:
        return 0 if source.is_fed(_now()) else 1
    keep_feeding(source)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
