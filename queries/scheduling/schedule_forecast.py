"""Schedules of an archive's standing queries: what each scheduler makes of them with only so much time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from statistics import fmean
from typing import Any

from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.load import TreeLoad, load_of
from tidewheel.queries.scheduling.lateness import lateness
from tidewheel.queries.scheduling.playing import Clock, Turn, play
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts
from tidewheel.queries.scheduling.schedule_worth import Worth, worth
from tidewheel.queries.scheduling.schedulers import SCHEDULERS, Scheduler, scheduler_named
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Assignment

CARRIED_OUT = "CS-LP"
UPDATES, UPDATES_PASSED_OVER = 300, 100
# So late is whoever has no answer in all that time.
NEVER_SLOTS = UPDATES - UPDATES_PASSED_OVER
NS = 1_000_000_000


@dataclass(frozen=True)
class Scheduled:
    """A forecast of answers and delays, given seconds of work from one slot to the next."""

    budget_s: float
    interval_us: int
    demand_s: float  # of work per slot, each query answered when it is due and with its sub-group alone
    lateness_slots: float  # forecast for all, by a formula
    worths: Mapping[str, Worth]  # by scheduler
    periods: Mapping[str, int]  # by query, in slots: what is asked for
    late_slots: Mapping[str, float]  # by query, beyond that, as refreshes run

    @property
    def effective_periods_s(self) -> dict[str, float]:
        slot_s = self.interval_us / 1e6
        return {name: (period + self.late_slots[name]) * slot_s for name, period in self.periods.items()}

    def to_json(self) -> dict[str, Any]:
        return {
            "budget_s": self.budget_s,
            "demand_s": self.demand_s,
            "lateness_forecast_slots": self.lateness_slots if isfinite(self.lateness_slots) else None,
            "schedulers": {
                name: {"about": scheduler_named(name).about, **asdict(one)} for name, one in self.worths.items()
            },
            "carried_out_by": CARRIED_OUT,
            "effective_period_s": self.effective_periods_s,
        }


@dataclass(frozen=True)
class _Load:
    trees: Mapping[str, TreeLoad]

    @cached_property
    def groups(self) -> dict[str, list[Periodic]]:
        return {
            tree: [Periodic(one.name, load.windows[one.name], load.periods[one.name]) for one in load.queries]
            for tree, load in self.trees.items()
        }

    @property
    def queries(self) -> list[Periodic]:
        return [query for group in self.groups.values() for query in group]

    @cached_property
    def tree_of(self) -> dict[str, str]:
        return {query.name: tree for tree, group in self.groups.items() for query in group}

    @property
    def update_ns(self) -> int:
        return sum(load.update_ns for load in self.trees.values())

    def costs(self, tree: str) -> RunCosts:
        load = self.trees[tree]
        return RunCosts(merge=load.slot_ns, after=round(fmean(load.report_ns.values())))

    def run_ns(self, queries: Sequence[Periodic]) -> int:
        """One run; all of its queries are of one tree."""
        load = self.trees[self.tree_of[queries[0].name]]
        return int(load.slot_ns * max(one.window for one in queries) + sum(load.report_ns[one.name] for one in queries))

    def played(self, scheduler: Scheduler, budget_ns: int) -> list[Turn]:
        tasks = []
        for tree, group in self.groups.items():
            tasks += scheduler.tasks({tree: group}, self.costs(tree))
        clock = Clock(budget_ns, self.update_ns)
        return play(scheduler.timetable(tasks), UPDATES, self.run_ns, clock)


def scheduled(assignment: Assignment, queries: Sequence[Query], known: Known, budget_s: float | None) -> Scheduled:
    """Forecast each scheduler. Without a budget, a refresh has all the time from one slot to the next."""
    budget = known.interval_us / 1e6 if budget_s is None else budget_s
    budget_ns = max(1, round(budget * NS))
    load = _Load({tree.name: load_of(_mine(queries, assignment, tree.name), known) for tree in assignment.trees})
    sub_groups = [
        (float(load.run_ns(task.members)), task.period)
        for task in scheduler_named("No-S").tasks(load.groups, RunCosts())
    ]
    worths = {}
    for one in SCHEDULERS:
        runs = load.played(one, budget_ns)
        worths[one.name] = worth(runs, load.queries, UPDATES_PASSED_OVER, UPDATES)
        if one.name == CARRIED_OUT:
            late = {query.name: worth(runs, [query], UPDATES_PASSED_OVER, UPDATES).latency for query in load.queries}
    return Scheduled(
        budget_s=budget,
        interval_us=known.interval_us,
        demand_s=(load.update_ns + sum(cost / period for cost, period in sub_groups)) / NS,
        lateness_slots=lateness(sub_groups, budget_ns - load.update_ns),
        worths=worths,
        periods={query.name: query.period for query in load.queries},
        late_slots=late,
    )


def _mine(queries: Sequence[Query], assignment: Assignment, tree: str) -> list[Query]:
    return [query for query in queries if assignment.tree_of[query.name] == tree]
