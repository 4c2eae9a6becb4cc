"""The published experiment (Golab 2006, section 7.5) as a simulation of events in virtual seconds.

One processor. Each step: slides that are due are applied, then a one-time query goes before the periodic groups, which
take turns without a pause, and reads one sub-window. Serial lets slides wait, and one-time queries, until its query is
done. Staleness is measured from the moment the last slide in the answer was *due*: measured from when it was applied,
Serial, which delays slides, would look fresh.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from statistics import fmean

from tidewheel.queries.literature.isolation.read_schedulers import Attempt, State
from tidewheel.queries.literature.isolation.window_ring import Ring

SHARED_BY = 5  # queries of one group


@dataclass(frozen=True)
class Costs:
    """Seconds: of a read of a sub-window by kind of query, of a slide, of a test of one query at a slide."""

    periodic_s: float = 0.012
    periodic_tuple_s: float = 1e-6
    one_time_s: float = 0.001
    one_time_tuple_s: float = 0.3e-6
    slide_s: float = 0.001
    slide_tuple_s: float = 0.5e-6
    test_s: float = 5e-6
    bookkeeping_s: float = 2e-6


@dataclass(frozen=True)
class Setting:
    slots: int
    slide_s: float
    groups: int
    one_time_rate: float = 0.0  # per second
    costs: Costs = Costs()


@dataclass
class Measured:
    """The figures of one run."""

    horizon_s: float
    committed: int = 0
    aborted: int = 0
    one_time_aborted: int = 0
    staleness_s: list[float] = field(default_factory=list)
    one_time_staleness_s: list[float] = field(default_factory=list)
    response_s: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        periodic = self.committed - len(self.response_s)
        found = {
            "abort_pct": 100 * self.aborted / max(1, self.aborted + periodic),
            "staleness_s": _mean(self.staleness_s),
            "transactions_per_s": self.committed / self.horizon_s,
            "periodic_per_s": periodic / self.horizon_s,
        }
        if self.response_s:
            found |= {
                "response_s": _mean(self.response_s),
                "one_time_staleness_s": _mean(self.one_time_staleness_s),
                "one_time_abort_pct": 100 * self.one_time_aborted / (self.one_time_aborted + len(self.response_s)),
            }
        return found


def _mean(values: list[float]) -> float:
    return fmean(values) if values else 0.0


@dataclass
class _Running:
    attempt: Attempt
    length: int
    arrived_s: float
    is_one_time: bool


class Simulation:
    """One scheduler over one seeded course of slides and queries."""

    def __init__(self, setting: Setting, scheduler: type[Attempt], seed: int) -> None:
        self.setting, self.scheduler = setting, scheduler
        self.chance = random.Random(seed)
        self.ring = Ring(setting.slots)
        self.horizon_s = setting.slots * setting.slide_s
        self.last = setting.slots - 1
        self.turns = deque(max(self._length() for _ in range(SHARED_BY)) for _ in range(setting.groups))
        self.sizes = [self._size() for _ in range(2 * setting.slots + 2)]
        self.arrivals = deque(self._arrivals())
        self.now_s = 0.0
        self.waiting: deque[tuple[float, int]] = deque()
        self.open: list[_Running] = []  # the one-time query first
        self.measured = Measured(self.horizon_s)

    def _size(self) -> float:
        return 1000 * self.setting.slide_s * 10 ** (2 * self.chance.random() - 1)

    def _length(self) -> int:
        return self.chance.randint(1, self.setting.slots)

    def _arrivals(self) -> list[tuple[float, int]]:
        found = []
        moment_s = 0.0
        while self.setting.one_time_rate:
            moment_s += self.chance.expovariate(self.setting.one_time_rate)
            if moment_s >= self.horizon_s:
                break
            found.append((moment_s, self._length()))
        return found

    def run(self) -> Measured:
        while self.now_s < self.horizon_s:
            self._slide()
            self._accept()
            self._step(self._chosen())
        return self.measured

    def _due_s(self, slide: int) -> float:
        return (slide - self.setting.slots + 1) * self.setting.slide_s

    def _slide(self) -> None:
        """Apply the slides that are due, and test every query that is open."""
        costs = self.setting.costs
        while self._due_s(self.last + 1) <= self.now_s and not (self.open and self.scheduler.holds_window):
            self.last += 1
            self.now_s += costs.slide_s + costs.slide_tuple_s * self.sizes[min(self.last, len(self.sizes) - 1)]
            for running in list(self.open):
                running.attempt.slide()
                self.now_s += costs.test_s if running.attempt.is_tested else 0
                if running.attempt.state is State.ABORTED:
                    self._abort(running)

    def _abort(self, running: _Running) -> None:
        """Restart a one-time query at once; a periodic one takes its turn again after all others."""
        self.open.remove(running)
        if running.is_one_time:
            self.measured.one_time_aborted += 1
            self.waiting.appendleft((running.arrived_s, running.length))
        else:
            self.measured.aborted += 1

    def _accept(self) -> None:
        while self.arrivals and self.arrivals[0][0] <= self.now_s:
            self.waiting.append(self.arrivals.popleft())

    def _chosen(self) -> _Running:
        """Return the open query of the highest priority; where none is open, or a one-time query waits, begin one."""
        is_preempting = self.waiting and not self.scheduler.holds_window
        if self.open and (self.open[0].is_one_time or not is_preempting):
            return self.open[0]
        if self.waiting:
            arrived_s, length = self.waiting.popleft()
            self.open.insert(0, self._begun(length, arrived_s, is_one_time=True))
        else:
            length = self.turns[0]
            self.turns.rotate(-1)
            self.open.append(self._begun(length, self.now_s, is_one_time=False))
        return self.open[0]

    def _begun(self, length: int, arrived_s: float, is_one_time: bool) -> _Running:
        return _Running(self.scheduler(self.ring, length, self.last), length, arrived_s, is_one_time)

    def _step(self, running: _Running) -> None:
        costs = self.setting.costs
        running.attempt.read()
        tuples = self.sizes[min(running.attempt.versions[-1], len(self.sizes) - 1)]
        if running.is_one_time:
            self.now_s += costs.one_time_s + costs.one_time_tuple_s * tuples
        else:
            self.now_s += costs.periodic_s + costs.periodic_tuple_s * tuples
        self.now_s += 0 if running.attempt.holds_window else costs.bookkeeping_s
        if running.attempt.state is State.COMMITTED:
            self._commit(running)

    def _commit(self, running: _Running) -> None:
        self.open.remove(running)
        self.measured.committed += 1
        stale_s = self.now_s - self._due_s(max(running.attempt.versions))
        if running.is_one_time:
            self.measured.response_s.append(self.now_s - running.arrived_s)
            self.measured.one_time_staleness_s.append(stale_s)
        else:
            self.measured.staleness_s.append(stale_s)


def experiment(setting: Setting, scheduler: type[Attempt], seeds: range) -> dict[str, float]:
    """Average the figures of one run for each seed.

    The time between two executions of a query follows from how many end in all: gaps that were seen would leave out the
    queries that always abort.
    """
    runs = [Simulation(setting, scheduler, seed).run().figures() for seed in seeds]
    found = {name: fmean(run[name] for run in runs) for name in runs[0]}
    return found | {"inter_execution_s": setting.groups / max(found.pop("periodic_per_s"), 1e-9)}
