"""What one commit promises, as programs for several processes: each commit lands once, or its writer is told.

The functions are started in processes of their own, by `spawn`: delta-rs deadlocks in a forked child.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.support.archives.columns import column
from tidewheel.commits.commit import commit, create_table
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Conflict
from tidewheel.storage.entry import NewFile
from tidewheel.storage.ledger_store import all_receipts, fold_into_ledger
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot

EXPIRATION_CLASSES = 4
HOUSEKEEPING_EVERY = 10


def create_contract_table(uri: str) -> None:
    """An empty archive without a source: the commits below bring files that nobody opens."""
    layout = Layout(LayoutKind.ROUND_ROBIN, 1, EXPIRATION_CLASSES, 8)
    definition = Definition(
        "contract",
        ("key",),
        TimeAxis(1_000_000),
        8_000_000,
        Clock.DATA,
        (Generation(0, layout, Strategy.REBUILD),),
        Retention(1, 1, 1, 1),
        "salt",
    )
    create_table(Location.of(uri), [column("key", "string")], definition, Receipt(Deed.INIT, "init", 0, None, 0, 0))


def commit_slot(snapshot: Snapshot, writer: int, number: int) -> int:
    """One commit of one file, named for who made it."""
    expires = number + 1
    place = (0, 0, expires % EXPIRATION_CLASSES)
    fact = FileFact(f"w{writer}/{number}.parquet", *place, number, number, expires, expires, 1, 100)
    bounds = {"ins_slot": number, "exp_slot": expires}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {}}
    slot = SlotReceipt(number, 1, 1, 0, 0, 0, 0, {expires: Cell(1, 2**64 - 1)})
    receipt = Receipt(Deed.UPDATE, f"{writer}-{number}", snapshot.head + 1, number, 0, 0, slots=(slot,), files_added=1)
    return commit(snapshot, receipt, [NewFile(fact, json.dumps(stats), 1)], [])


def write_commits(uri: str, writer: int, commits: int, start: Barrier, lost: Any) -> None:
    """Commit so many times, trying again whenever somebody else was first."""
    location = Location.of(uri)
    races_lost = 0
    start.wait()
    for number in range(commits):
        while True:
            snapshot = open_snapshot(location)
            try:
                version = commit_slot(snapshot, writer, number)
                break
            except Conflict:
                races_lost += 1
        if version % HOUSEKEEPING_EVERY == 0:
            newest = open_snapshot(location)
            fold_into_ledger(newest)
            newest.table.create_checkpoint()
    lost.put(races_lost)


def write_once(uri: str, writers: range, start: Barrier, winners: Any) -> None:
    """Several snapshots of one version, and at the same moment one commit on each; who won."""
    snapshots = {writer: open_snapshot(Location.of(uri)) for writer in writers}

    def won(writer: int) -> bool:
        try:
            commit_slot(snapshots[writer], writer, 1)
        except Conflict:
            return False
        return True

    start.wait()
    with ThreadPoolExecutor(len(writers)) as threads:
        outcomes = list(threads.map(won, writers))
    for writer, is_winner in zip(writers, outcomes, strict=True):
        if is_winner:
            winners.put(writer)


@dataclass(frozen=True)
class Outcome:
    """What the log holds in the end, and how many races were lost on the way."""

    version: int
    head: int
    files: int
    attempts: list[str]
    races_lost: int

    def check(self, writers: int, commits: int) -> None:
        """Every commit of every writer is in the log exactly once, and so is the table's creation."""
        expected = {"init", *(f"{writer}-{number}" for writer in range(writers) for number in range(commits))}
        assert sorted(self.attempts) == sorted(expected)
        assert self.version == self.head == self.files == writers * commits


def run_writers(uri: str, writers: int, commits: int) -> Outcome:
    """Let processes commit at the same time, and read the log when they are done."""
    create_contract_table(uri)
    lost = _run(write_commits, [(uri, writer, commits) for writer in range(writers)])
    snapshot = open_snapshot(Location.of(uri))
    attempts = [receipt.attempt for _, receipt in all_receipts(snapshot)]
    return Outcome(snapshot.version, snapshot.head, len(snapshot.files), attempts, sum(lost))


def race(uri: str, processes: int, writers_each: int) -> list[int]:
    """Writers that all saw the same version; those whose commit landed."""
    create_contract_table(uri)
    shares = [range(n * writers_each, (n + 1) * writers_each) for n in range(processes)]
    return _run(write_once, [(uri, share) for share in shares])


def _run(target: Callable[..., None], arguments: list[tuple[Any, ...]]) -> list[Any]:
    """One process for each tuple of arguments, started together; all that they report."""
    context = multiprocessing.get_context("spawn")
    start, reports = context.Barrier(len(arguments)), context.SimpleQueue()
    processes = [context.Process(target=target, args=(*one, start, reports)) for one in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    reported = []
    while not reports.empty():
        reported.append(reports.get())
    return reported
