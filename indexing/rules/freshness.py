"""Freshness: how old an archive's newest batch is, and how old it may get. An older one makes the archive late.

The age counts from the end of the newest slot that a *batch* brought. The watermark is no measure: expiry moves it
without any data. A late archive whose batches come faster than time passes is catching up, not late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tidewheel.indexing.core.definition import ArchiveFile, Clock, SourceKind
from tidewheel.indexing.schedule.cron_runs import runs_after

RUNS_BY_DEFAULT = 3


@dataclass(frozen=True)
class Landing:
    """A commit that brought batches: when, and the end of its newest slot."""

    committed_us: int
    end_us: int

    @property
    def delay_us(self) -> int:
        return self.committed_us - self.end_us


@dataclass(frozen=True)
class Freshness:
    """The newest batch's age and the age that it may reach; without a bound nobody expects anything."""

    now_us: int
    since_us: int | None  # the end of the newest batch; before the first one, when it could have been expected
    bound_us: int | None = None
    is_written: bool = False  # whether the bound is the file's own `freshness`, or three runs of its schedule
    is_catching_up: bool = False

    @property
    def age_us(self) -> int | None:
        return None if self.since_us is None else max(0, self.now_us - self.since_us)

    @property
    def is_over(self) -> bool:
        """Tell whether the newest batch is older than it may be."""
        return self.age_us is not None and self.bound_us is not None and self.age_us > self.bound_us

    @property
    def is_late(self) -> bool:
        return self.is_over and not self.is_catching_up

    def to_json(self) -> dict[str, Any]:
        return {
            "age_us": self.age_us,
            "bound_us": self.bound_us,
            "bound_is": None if self.bound_us is None else "freshness" if self.is_written else "three runs",
            "late": self.is_late,
            "catching_up": self.is_catching_up,
        }


def freshness_of(file: ArchiveFile | None, applied_us: int | None, created_us: int, now_us: int) -> Freshness:
    """Return the age of the batch that ends at `applied_us`, or of an archive that waits for its first one."""
    if file is None:
        return Freshness(now_us, applied_us)
    since_us = created_us if applied_us is None else applied_us
    begun_us = max(since_us, since_us if file.schedule.start_us is None else file.schedule.start_us)
    written_us = file.schedule.freshness_us
    return Freshness(now_us, begun_us, age_bound_us(file, begun_us), is_written=written_us is not None)


def age_bound_us(file: ArchiveFile, since_us: int) -> int | None:
    """Return how old a batch that ends at a moment may get before the next one is late; None if nothing limits it.

    A `freshness` that is shorter than the time to the next run counts from that run on: before, nothing is due.
    Archives of historic data have no present, unless a `freshness` gives them one.
    """
    schedule = file.schedule
    runs = list(islice(runs_after(schedule.cron, since_us), RUNS_BY_DEFAULT))
    if not runs or schedule.freshness_us == 0:
        return None
    if schedule.freshness_us is None:
        waits_us = file.source.lateness_us if file.source.kind is SourceKind.TOPIC else 0
        return None if file.clock is Clock.DATA else runs[-1] - since_us + waits_us
    run_us = runs[0] - since_us
    return schedule.freshness_us if schedule.freshness_us > run_us else run_us + schedule.freshness_us


def is_catching_up(landings: Sequence[Landing], interval_us: int, bound_us: int, now_us: int) -> bool:
    """Tell whether late batches come faster than time passes.

    The newest one came a short while ago, and is at least a slot less late than another of the last ones. The first
    batch of all has none before it. `landings` are the newest ones, oldest first, each with a newer slot than those
    before it. A source that is always equally late does not catch up.
    """
    recent = [one for one in landings if now_us - one.committed_us <= bound_us]
    if len(recent) < 2:
        return len(recent) == len(landings) == 1
    return max(one.delay_us for one in recent) - recent[-1].delay_us >= interval_us
