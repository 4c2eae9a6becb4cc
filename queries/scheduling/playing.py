"""A schedule played over one virtual clock: updates come at whole multiples of a time, runs take what they cost.

All updates that have come are taken before anybody is chosen, so that windows do not lag behind a long run. A run that
has begun ends, whatever comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.scheduling.run_costs import Periodic
from tidewheel.queries.scheduling.tasks import Task, Timetable

Time = int | float | Fraction
Service = Callable[[Sequence[Periodic]], Time]


@dataclass(frozen=True)
class Turn:
    """Tasks that ran together at a version, each with how many updates late it was; `begun` is the clock's time."""

    version: int
    tasks: tuple[tuple[Task, int], ...]
    cost: Time
    begun: Time

    @property
    def queries(self) -> list[Periodic]:
        return [query for task, _ in self.tasks for query in task.members]


@dataclass(frozen=True)
class Clock:
    """`between` is the time from one update to the next: in units of cost, what can be done between two."""

    between: Time
    update: Time = 0  # what an update costs
    stalled: Collection[int] = ()  # versions at which nothing can run


def play(timetable: Timetable, updates: int, service: Service, clock: Clock) -> list[Turn]:
    """All runs that begin before the update after the last one comes."""
    runs: list[Turn] = []
    now: Time = clock.between
    while True:
        while now >= (timetable.version + 1) * clock.between:
            if timetable.version == updates:
                return runs
            timetable.advance()
            now += clock.update
        chosen = [] if timetable.version in clock.stalled else timetable.choose()
        if not chosen:
            now = (timetable.version + 1) * clock.between
            continue
        cost = service([query for task, _ in chosen for query in task.members])
        runs.append(Turn(timetable.version, tuple((task, max(0, -left)) for task, left in chosen), cost, now))
        now += cost
