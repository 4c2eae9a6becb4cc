"""Our own contender: an archive fed without Spark, and the refresh of its standing queries."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.archives.feeding import create, feed
from benchmarks.harness.measures import MEGABYTE, resident_bytes
from benchmarks.standing.oracle import Answers
from benchmarks.standing.stream import AXIS, FIELDS, LIVES_DAYS, Size, batch
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.operations.forget import forget
from tidewheel.hands import VARIABLE, archive_job
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.hand_choice import HandKind
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.local.standing.refresh import Refresh
from tidewheel.queries.standing.query import Query
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

DAY_US = 86_400_000_000
SLOTS_PER_COMMIT = 48
RETENTION = Retention(DAY_US, DAY_US, 30 * DAY_US, DAY_US)
# Of what is still asked about, so few that a slot's records are not searched for among very many others.
SLOTS_PER_COMMIT_ASKED = 4
SLOTS_ASKED = 600
CLASSES = 8


class Peak:
    """The most resident memory of this process while it is watched, above what it was before."""

    def __init__(self) -> None:
        self.peak = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        before, done = resident_bytes(), threading.Event()
        self.peak = 0

        def look() -> None:
            while not done.wait(0.01):
                self.peak = max(self.peak, resident_bytes() - before)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.peak = max(self.peak, resident_bytes() - before)


@dataclass
class Ours:
    """The archive, with the refresh's handle open."""

    folder: Path
    size: Size
    asked: Sequence[Query]
    first: int
    retention: Retention = RETENTION
    clock: Callable[[], int] | None = None  # by default it stands at the first slot
    refreshed: Refreshed | None = None
    watch: Peak = field(default_factory=Peak)

    def __post_init__(self) -> None:
        clock = self.clock or (lambda: AXIS.start_us(self.first))
        self.job = archive_job(Location.of(self.folder / "race"), clock=clock)
        span = (LIVES_DAYS + 1) * DAY_US
        layout = Layout(LayoutKind.ROUND_ROBIN, 1, CLASSES, AXIS.span(span))
        definition = Definition(
            name="race",
            key=("key",),
            axis=AXIS,
            max_lifetime_us=span,
            clock=Clock.DATA,
            generations=(Generation(0, layout, Strategy.NO_REBUILD, dead_share_max=0.5, runs_max=1000),),
            retention=self.retention,
            salt="benchmark",
        )
        if not (self.folder / "race").exists():
            create(self.job, FIELDS, definition)
        self.handle = Refresh(self.job, self.asked)

    def load(self, slots: range) -> None:
        """What there is before anything is measured, and one slot for a commit of its own."""
        asked = max(slots.start, slots.stop - SLOTS_ASKED)
        for part, step in ((range(slots.start, asked), SLOTS_PER_COMMIT),
                           (range(asked, slots.stop), SLOTS_PER_COMMIT_ASKED)):  # fmt: skip
            for start in range(part.start, part.stop, step):
                some = range(start, min(start + step, part.stop))
                feed(self.job, some, pa.concat_tables([batch(self.size, slot) for slot in some]))

    def ask(self, asked: Sequence[Query]) -> None:
        """Other queries, as if nothing had been asked before."""
        for kind in ("partials", "answers"):
            shutil.rmtree(self.folder / f"race.{kind}", ignore_errors=True)
        self.asked, self.handle = asked, Refresh(self.job, asked)

    def refresh(self) -> dict[str, Any]:
        """One refresh, both commits in it: what it took, and what it did."""
        with self.watch.watching():
            start, processor = perf_counter(), process_time()
            self.refreshed = self.handle.run()
            seconds, processor = perf_counter() - start, process_time() - processor
        reports = sum(len(one.reports) for one in self.refreshed.due)
        return {
            "seconds": seconds,
            "processor_seconds": processor,
            "reports": reports,
            "stale": len(self.refreshed.stale),
            "rows": _rows_given(self.refreshed.partials) + _rows_given(self.refreshed.answers),
            "rows_moved": _rows_moved(self.refreshed.partials) + _rows_moved(self.refreshed.answers),
            "peak_mb": self.watch.peak / MEGABYTE,
            "laps_ms": dict(self.refreshed.timings_ms),
        }

    def forget(self, key: str) -> float:
        """A key's records leave the archive, by this process's hand; how long that took."""
        with patch.dict(os.environ, {VARIABLE: HandKind.LOCAL.value}):
            start = perf_counter()
            forget(self.job, keys=[(key,)])
            return perf_counter() - start

    def forget_answers(self) -> None:
        """As if no answer had been given yet; partials stay."""
        shutil.rmtree(self.folder / "race.answers")

    def answers(self, since_us: int) -> Answers:
        """What is stored, of reports after a moment, as far as it is whole."""
        snapshot = open_snapshot(self.job.location.derived("answers"))
        stored = rows_of(snapshot.location, snapshot.files, file_schema(snapshot))
        after = pa.scalar(since_us, pa.int64()).cast(pa.timestamp("us", "UTC"))
        recent = (pc.field("window_end") > after) & (pc.field("exp_slot") > (snapshot.watermark or 0))
        found: Answers = {}
        rows = stored.to_table(filter=recent & (pc.field("complete") == 1.0))
        for query in self.asked:
            columns = [column for column, _ in answer_columns(query).values()]
            mine = rows.filter(pc.equal(rows.column("part"), query.part))
            moments = mine.column("window_end").cast(pa.int64()).to_pylist()
            values = zip(*(mine.column(name).to_pylist() for name in columns), strict=True)
            for at_us, row in zip(moments, values, strict=True):
                keys = len(query.groups)
                found.setdefault((query.name, at_us), {})[row[:keys]] = row[keys:]
        return found

    def bytes(self) -> dict[str, float]:
        """Current data bytes of the archive and of what is derived from it."""
        locations = {"archive": self.job.location} | {
            kind: self.job.location.derived(kind) for kind in ("partials", "answers")
        }
        return {f"{name}_mb": open_snapshot(one).bytes / MEGABYTE for name, one in locations.items()}


def _rows_given(outcome: Outcome | None) -> int:
    """The rows that a commit brought."""
    return sum(one.rows_in for one in outcome.receipt.slots) if outcome and outcome.receipt else 0


def _rows_moved(outcome: Outcome | None) -> int:
    """The rows that a commit had to copy, as they lay in files with others that were replaced or expired."""
    return outcome.receipt.rows_rewritten if outcome and outcome.receipt else 0
