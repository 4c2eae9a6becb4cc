"""`python -m benchmarks.process.hands`: this process or Spark? Every live record moved by each, side by side, by size.

For each size an archive is made, then moved into its own layout by one hand and the other, some times; shown are the
best wall-clock seconds and the peak memory of this process. Spark is warm; what it takes to start is shown first.
`indexing/core/hand_choice.py` draws its bounds from this.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.migrate import migrate
from tidewheel.hands import VARIABLE, archive_job
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.hand_choice import HandKind
from tidewheel.indexing.core.layouts import MEBIBYTE
from tidewheel.jobs.create import create
from tidewheel.jobs.process.session import open_session
from tidewheel.jobs.update import update
from tidewheel.storage.location import Location

SEED, SPAN, ROW_BYTES = 7, 36, 45
MINUTE_US = 60_000_000
_FILE = """
[archive]
name = "hands"
path = "{folder}/table"
key = ["key"]
expires_at = "until"
clock = "data"
[time]
interval = "1m"
max_lifetime = "36m"
[layout]
expiration_classes = 4
[source]
path = "{folder}/source/{{slot}}.parquet"
schema = "key string, number bigint, word string, until timestamp"
"""


def archive_of(folder: Path, mebibytes: float) -> ArchiveJob:
    """An archive of about so many MiB, in one slot's batch."""
    random, rows = np.random.default_rng(SEED), int(mebibytes * MEBIBYTE / ROW_BYTES)
    source = folder / "source" / "0.parquet"
    source.parent.mkdir(parents=True)
    addresses, lives = random.integers(0, 1 << 24, rows), random.integers(1, SPAN, rows)
    words = np.char.mod("%x", random.integers(0, 1 << 60, rows))
    until = pa.array(lives * MINUTE_US + random.integers(1, MINUTE_US, rows)).cast(pa.timestamp("us", "UTC"))
    key = np.char.mod("10.%d", addresses)
    pq.write_table(
        pa.table({"key": key, "number": random.integers(0, 1 << 40, rows), "word": words, "until": until}), source
    )
    job = archive_job(Location.of(folder / "table"), parse_archive_file(_FILE.format(folder=folder), "hands.toml"))
    create(job)
    update(job, [0])
    return job


@contextmanager
def asked(hand: HandKind) -> Iterator[None]:
    os.environ[VARIABLE] = hand
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def moved_s(job: ArchiveJob, hand: HandKind) -> float:
    """One move of every record, its commit included."""
    with asked(hand):
        start = perf_counter()
        migrate(job, job.snapshot().definition.current, relocate=True)
        return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--mebibytes", type=float, nargs="+", default=[1, 16, 128])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    start = perf_counter()
    open_session()
    print(f"Spark starts in {perf_counter() - start:.1f} s")
    print(f"{'MiB stored':>12} {'this process, s':>16} {'Spark, warm, s':>16} {'peak memory, MiB':>18}")
    for mebibytes in options.mebibytes:
        with tempfile.TemporaryDirectory(prefix="tidewheel-hands-") as folder:
            job = archive_of(Path(folder), mebibytes)
            stored = sum(file.bytes for file in job.snapshot().files) / MEBIBYTE
            best = {hand: min(moved_s(job, hand) for _ in range(options.times)) for hand in HandKind}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{stored:12.1f} {best[HandKind.LOCAL]:16.2f} {best[HandKind.SPARK]:16.2f} {peak:18.0f}", flush=True)


if __name__ == "__main__":
    main()
