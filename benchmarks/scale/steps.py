"""One step on an archive on paper, in a process of its own: `python -m benchmarks.scale.steps STEP FOLDER`.

Prints JSON: of each part of the step the seconds and the processor seconds (the machine may have other work), and the
most memory that the process ever had.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeVar

from benchmarks.scale.paper import KEYS
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.status import status
from tidewheel.indexing.core.plan import plan_update
from tidewheel.indexing.rules.audit import file_list_findings
from tidewheel.jobs.audit.compare import beside_files, ledger_findings_of
from tidewheel.sql.keys.key_conditions import KeyBetween
from tidewheel.sql.keys.key_filters import KeyFilters
from tidewheel.sql.pinned_version import PinnedVersion
from tidewheel.storage.ledger_store import fold_into_ledger, state_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

PROBES = 21
Made = TypeVar("Made")


def peak_bytes() -> int:
    """The most memory this program had; what the kernel counts as `ru_maxrss` is also that of whoever started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


class Told:
    """What a step took, part by part, and what it counted."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def timed(self, part: str, work: Callable[[], Made]) -> Made:
        wall, processor = perf_counter(), process_time()
        made = work()
        self.values[part] = {"seconds": perf_counter() - wall, "processor_seconds": process_time() - processor}
        return made


def plan(told: Told, location: Location) -> None:
    """What every update does before it reads a record."""
    snapshot = told.timed("open", lambda: open_snapshot(location))
    told.timed("files", lambda: snapshot.files)
    state = told.timed("ledger", lambda: state_of(snapshot))
    told.timed("plan", lambda: plan_update(state, [(snapshot.watermark or 0) + 1]))
    told.values["files_count"] = len(snapshot.files)


def probe(told: Told, location: Location) -> None:
    """Which files the probes of an open handle have to look into."""
    snapshot = open_snapshot(location)
    filters = KeyFilters(location, "key")
    version = PinnedVersion(snapshot, filters)
    as_of_us = version.end_us or 0
    told.timed("first", lambda: version.access(KeyBetween((1,), (2,)), as_of_us))
    version.asked_again()
    told.timed("order", lambda: version.key_order)
    times, admitted = [], 0
    for n in range(PROBES):
        key = (n * KEYS + KEYS // 2) // PROBES
        started, processor = perf_counter(), process_time()
        admitted = len(version.access(KeyBetween((key,), (key + 1,)), as_of_us).read)
        times.append((perf_counter() - started, process_time() - processor))
    walls, processors = zip(*times, strict=True)
    told.values["pruned"] = {"seconds": median(walls), "processor_seconds": median(processors)}
    told.values["admitted"] = admitted


def look(told: Told, location: Location) -> None:
    """`tidewheel status`."""
    told.timed("status", lambda: status(ArchiveJob(location)))


def audit(told: Told, location: Location) -> None:
    """What an audit does before it opens the first data file."""
    job = ArchiveJob(location)
    snapshot = open_snapshot(location)
    state, receipts, findings = told.timed("ledger", lambda: ledger_findings_of(snapshot))
    told.timed("log", lambda: beside_files(job, snapshot, receipts))
    told.timed("list", lambda: file_list_findings(snapshot.files, [one.attempt for _, one in receipts]))
    told.timed("cells", lambda: state.ledger.cells() if state else None)
    told.values["findings"] = len(findings)


def commit(told: Told, location: Location) -> None:
    """An expiry that drops files: planned, committed, and what follows a commit."""
    job = ArchiveJob(location)
    watermark = open_snapshot(location).watermark or 0
    told.timed("expire", lambda: expire(job, watermark + 1))


def keep(told: Told, location: Location) -> None:
    """A ledger file and a checkpoint, as every so many commits."""
    snapshot = open_snapshot(location)
    told.timed("fold", lambda: fold_into_ledger(snapshot, every=1))
    told.timed("checkpoint", lambda: ArchiveJob(location).table.write_checkpoint(snapshot))


# In this order: the last two change the archive.
REPEATED = ("plan", "probe")
STEPS = {"plan": plan, "probe": probe, "look": look, "audit": audit, "commit": commit, "keep": keep}


def main(step: str, folder: str) -> None:
    told = Told()
    STEPS[step](told, Location.of(folder))
    told.values["peak_bytes"] = peak_bytes()
    sys.stdout.write(json.dumps(told.values) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
