"""An archive's life: one commit after the other into the same log, each an expiry that drops files, none vacuumed.

What grows is what an archive carries along until vacuum has cleaned its log: how long a version takes to open, to plan
and to commit by the number of commits, and how many files the log and the ledger have.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from benchmarks.scale.paper import Paper, make
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.expire import expire
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

WINDOW = 50
LIFE = Paper("life", slots=500, files_a_slot=5)


def live(folder: Path, commits: int) -> list[dict[str, Any]]:
    """Medians of each so many commits."""
    location = make(LIFE, folder)
    job = ArchiveJob(location)
    first = (open_snapshot(location).watermark or 0) + 1
    samples = [_lived(job, first + number) for number in range(commits)]
    points = [samples[start : start + WINDOW] for start in range(0, commits, WINDOW)]
    return [{name: median(one[name] for one in window) for name in window[0]} for window in points]


def _lived(job: ArchiveJob, through: int) -> dict[str, float]:
    location = job.location
    started, processor = perf_counter(), process_time()
    snapshot = open_snapshot(location)
    opened = perf_counter()
    state_of(snapshot)
    planned = perf_counter()
    outcome = expire(job, through)
    return {
        "version": outcome.version or 0,
        "open_ms": (opened - started) * 1000,
        "state_ms": (planned - opened) * 1000,
        "expire_ms": (perf_counter() - planned) * 1000,
        "processor_ms": (process_time() - processor) * 1000,
        "log_files": _files(location, "_delta_log"),
        "ledger_files": _files(location, "_tidewheel/ledger"),
    }


def _files(location: Location, below: str) -> int:
    return len(location.files_below(below))
