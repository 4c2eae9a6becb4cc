"""Tasks, and when each is due: counted down literally, or as deadlines in heaps. Both make the same decisions.

A task should run at most `period` updates after it ran last. `d` is how many updates that is away: above 0 early, 0
pending, below 0 late. Late work is not dropped and not caught up with: after a run, whenever it was, `d` is the period.
Departs from the printed listing: all updates that have come are taken first, and a task runs once for each version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Protocol

from tidewheel.queries.scheduling.run_costs import Periodic


@dataclass(frozen=True)
class Task:
    """Queries of one group that always run together. `first` is its first deadline, the period unless said."""

    name: str
    group: str
    members: tuple[Periodic, ...]
    period: int
    first: int | None = None

    @property
    def priority(self) -> int:
        return max((one.priority for one in self.members), default=0)

    @property
    def deadline(self) -> int:
        return self.period if self.first is None else self.first


class Company(StrEnum):
    """The tasks of the same group that run with the one whose turn it is."""

    NONE = "alone"
    EQUAL = "those equally due"
    LATE = "those equally due; once late, all late ones"
    LATE_PENDING = "those equally due; once late, all late and pending ones"


class Mode(StrEnum):
    JUST_IN_TIME = "jit"  # nothing runs before it is due
    EAGER = "eager"  # whatever is stale runs when there is nothing else to do


@dataclass(frozen=True)
class Rules:
    company: Company
    mode: Mode = Mode.JUST_IN_TIME

    def latest_of_company(self, lowest: int) -> int:
        """The largest `d` of who runs along, where the lowest is given."""
        if lowest < 0 and self.company is Company.LATE:
            return -1
        if lowest < 0 and self.company is Company.LATE_PENDING:
            return 0
        return lowest


class Timetable(Protocol):
    """`d` of each task, as of a version: how many updates have come."""

    @property
    def version(self) -> int: ...

    def advance(self) -> None:
        """One more update has come."""

    def choose(self) -> list[tuple[Task, int]]:
        """Return the tasks that run now together, each with its `d`; none if nothing has to run. They count as run."""


class CountDown:
    """As the algorithms are written."""

    def __init__(self, tasks: Sequence[Task], rules: Rules) -> None:
        self.version = 0
        self._rules, self._tasks = rules, list(tasks)
        self._left = [task.deadline for task in tasks]
        self._ran = [0] * len(tasks)

    def advance(self) -> None:
        self.version += 1
        self._left = [left - 1 for left in self._left]

    def choose(self) -> list[tuple[Task, int]]:
        runnable = [place for place in range(len(self._tasks)) if self._is_runnable(place)]
        if not runnable:
            return []
        lowest = min(self._left[place] for place in runnable)
        ready = [place for place in runnable if self._left[place] == lowest]
        leader = min(ready, key=lambda place: (-self._tasks[place].priority, place))
        latest = self._rules.latest_of_company(lowest)
        chosen = [place for place in runnable if place == leader or self._goes_along(place, leader, lowest, latest)]
        ran = [(self._tasks[place], self._left[place]) for place in chosen]
        for place in chosen:
            self._left[place], self._ran[place] = self._tasks[place].period, self.version
        return ran

    def _is_runnable(self, place: int) -> bool:
        fresh = self._ran[place] == self.version
        return not fresh and (self._rules.mode is Mode.EAGER or self._left[place] <= 0)

    def _goes_along(self, place: int, leader: int, lowest: int, latest: int) -> bool:
        if self._rules.company is Company.NONE or self._tasks[place].group != self._tasks[leader].group:
            return False
        return lowest <= self._left[place] <= latest


class Deadlines:
    """A heap of absolute deadlines over all tasks and one for each group: an update costs nothing, a run log n."""

    def __init__(self, tasks: Sequence[Task], rules: Rules) -> None:
        self.version = 0
        self._rules, self._tasks = rules, list(tasks)
        self._due = [task.deadline for task in tasks]
        self._all: list[tuple[int, int, int]] = []
        self._groups: dict[str, list[tuple[int, int, int]]] = {task.group: [] for task in tasks}
        self._fresh: list[int] = []  # ran at this version
        for place in range(len(tasks)):
            self._push(place)

    def _push(self, place: int) -> None:
        task = self._tasks[place]
        entry = (self._due[place], -task.priority, place)
        heappush(self._all, entry)
        heappush(self._groups[task.group], entry)

    def advance(self) -> None:
        self.version += 1
        for place in self._fresh:
            self._push(place)
        self._fresh = []

    def choose(self) -> list[tuple[Task, int]]:
        leader = self._lowest(self._all, lambda _: True)
        if leader is None:
            return []
        lowest = self._due[leader] - self.version
        chosen = [leader]
        if self._rules.company is not Company.NONE:
            latest = self._rules.latest_of_company(lowest)
            chosen = self._company(self._groups[self._tasks[leader].group], leader, latest)
        ran = [(self._tasks[place], self._due[place] - self.version) for place in sorted(chosen)]
        for place in chosen:
            self._due[place] = self.version + self._tasks[place].period
        self._fresh += chosen
        return ran

    def _company(self, heap: list[tuple[int, int, int]], leader: int, latest: int) -> list[int]:
        found = [leader]
        while (place := self._lowest(heap, lambda due: due - self.version <= latest)) is not None:
            heappop(heap)
            found += [place] if place != leader else []
        return found

    def _lowest(self, heap: list[tuple[int, int, int]], wanted: Callable[[int], bool]) -> int | None:
        """The first entry of a heap that is still true and may run; entries of before are dropped."""
        while heap and heap[0][0] != self._due[heap[0][2]]:
            heappop(heap)
        if not heap:
            return None
        due, _, place = heap[0]
        is_ready = self._rules.mode is Mode.EAGER or due <= self.version
        return place if is_ready and wanted(due) else None
