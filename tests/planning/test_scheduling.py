"""Schedulers of periodic queries against the examples of the literature, one another, and brute force."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from statistics import fmean
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.scheduling.blocks import Block, Blocks, planned, rate, sub_groups
from tidewheel.queries.scheduling.lateness import lateness
from tidewheel.queries.scheduling.playing import Clock, Turn, play
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts, SynopsisKind
from tidewheel.queries.scheduling.schedule_worth import Worth, worth
from tidewheel.queries.scheduling.schedulers import SCHEDULERS, scheduler_named
from tidewheel.queries.scheduling.tasks import Company, CountDown, Deadlines, Mode, Rules, Task

PAGE = pages("schedules.json")
G1 = [Periodic(f"q{number}", *given) for number, given in enumerate(PAGE["G1"])]
NAMES = {"2": "G11", "3": "G12", "5": "G13"}
COSTS = RunCosts()
ENOUGH = 10**9


def blocks_of(periods: list[list[int]]) -> Blocks:
    return tuple(Block(tuple(one for one in G1 if one.period in some)) for some in periods)


@pytest.mark.parametrize("vector", PAGE["costs"], ids=lambda one: one["name"])
def test_rates_of_blocks(vector: dict[str, Any]) -> None:
    assert rate(blocks_of(vector["blocks"]), COSTS) == Fraction(vector["rate"])


def test_two_queries_of_which_one_is_longer_and_rarer() -> None:
    both = [Periodic("a", 10, 2), Periodic("b", 14, 3)]
    merges = [Block((one,)) for one in both]
    assert sum(Fraction(one.window - 1, one.period) for one in both) == Fraction(53, 6)
    assert [COSTS.scan([10]), COSTS.scan([14]), COSTS.scan([10, 14])] == [9, 13, 13]
    assert rate(merges, COSTS) == Fraction(44, 6)
    assert rate([Block(tuple(both))], COSTS) == Fraction(13, 2)


def test_the_hybrid_plan_is_the_cheapest() -> None:
    plan = planned(G1, COSTS)
    assert {tuple(sorted({one.period for one in block.members})) for block in plan} == {(2, 3), (5,)}
    assert sum(COSTS.run([one]) / Fraction(one.period) for one in G1) == Fraction(404, 15)


@pytest.mark.parametrize("vector", PAGE["counts"], ids=lambda one: one["scheduler"])
def test_work_of_one_common_period(vector: dict[str, Any]) -> None:
    runs = played(vector["scheduler"], 30)
    queries = sum(len(run.queries) for run in runs)
    assert (len(runs), queries, sum(run.cost for run in runs)) == tuple(
        vector[k] for k in ("runs", "queries", "merges")
    )


def played(name: str, updates: int, capacity: int = ENOUGH, stalled: Sequence[int] = (), **how: Any) -> list[Turn]:
    scheduler = scheduler_named(name)
    timetable = scheduler.timetable(scheduler.tasks({"G1": G1}, COSTS), **how)
    return play(timetable, updates, COSTS.run, Clock(capacity, stalled=stalled))


def shown(runs: list[Turn], names: dict[str, str]) -> str:
    def one(task: Task, late: int) -> str:
        return names.get(str(task.period), task.name) + (f"({late})" if late else "")

    return " ".join(f"{run.version}:{'+'.join(one(*pair) for pair in by_lateness(run))}" for run in runs)


def by_lateness(run: Turn) -> list[tuple[Task, int]]:
    return sorted(run.tasks, key=lambda pair: -pair[1])


@pytest.mark.parametrize("vector", vectors("schedules.json"))
@pytest.mark.parametrize("literal", [True, False], ids=["counted down", "deadlines"])
def test_published_schedules(vector: dict[str, Any], literal: bool) -> None:
    capacity, stalled = vector.get("capacity", ENOUGH), vector.get("stalled", ())
    runs = played(vector["scheduler"], vector["updates"], capacity, stalled, literal=literal)
    assert shown(runs, vector.get("names", NAMES)) == vector["runs"]
    for version, merges in vector.get("merges_at", {}).items():
        assert sum(run.cost for run in runs if run.version == int(version)) == merges


@pytest.mark.parametrize("vector", PAGE["facts"], ids=lambda one: one["name"])
def test_facts(vector: dict[str, Any]) -> None:
    tasks = [
        Task(name, told.get("group", "g"), (Periodic(name, 1, told["period"], told.get("priority", 0)),),
             told["period"], told.get("first"))
        for name, told in vector["tasks"].items()
    ]  # fmt: skip
    for form in (CountDown, Deadlines):
        timetable = form(tasks, Rules(Company.EQUAL))
        runs = play(timetable, vector["updates"], COSTS.run, Clock(ENOUGH, stalled=vector.get("stalled", ())))
        assert shown(runs, {}) == vector["runs"]


def random_group(chance: random.Random, size: int) -> list[Periodic]:
    return [
        Periodic(f"q{at}", chance.randint(1, 20), chance.randint(1, 9), chance.choice([0, 0, 3])) for at in range(size)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_both_forms_decide_alike(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        groups = {name: random_group(chance, chance.randint(1, 6)) for name in "abc"}
        scheduler, mode = chance.choice(SCHEDULERS), chance.choice(list(Mode))
        stalled = [version for version in range(1, 40) if chance.random() < 0.15]
        tasks = scheduler.tasks(groups, COSTS)
        clock = Clock(chance.choice([ENOUGH, 15, 40]), chance.choice([0, 3]), stalled)
        runs = [
            play(scheduler.timetable(tasks, mode, literal=literal), 40, COSTS.run, clock) for literal in (True, False)
        ]
        assert runs[0] == runs[1], (seed, scheduler.name, mode)
        assert all(task.group == run.tasks[0][0].group for run in runs[0] for task, _ in run.tasks)


@pytest.mark.parametrize("seed", range(10))
def test_rates_are_those_of_walking_all_versions(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        queries = random_group(chance, chance.randint(1, 5))
        costs = RunCosts(chance.choice([SynopsisKind.BASIC, SynopsisKind.RUNNING]), after=chance.choice([0, 3]))
        plan = planned(queries, costs)
        period = lcm(*(block.period for block in plan))
        walked: Any = 0
        for version in range(1, period + 1):
            due = [one for block in plan if version % block.period == 0 for one in block.members]
            walked += costs.run(due) if due else 0
        assert rate(plan, costs) == Fraction(walked) / period
        alone, together = rate(sub_groups(queries), costs), rate([Block(tuple(queries))], costs)
        assert rate(plan, costs) <= min(alone, together), "never above the conservative and the aggressive one"
        greedy = planned(queries, costs, exact_max=0)
        assert rate(plan, costs) <= rate(greedy, costs) <= together


def test_in_time_nothing_is_late_and_late_is_told() -> None:
    runs = played("No-S", 200)
    assert all(late == 0 for run in runs for _, late in run.tasks)
    found = worth(runs, G1, 50, 200)
    assert found.answers == pytest.approx(77 / 30, rel=0.02)
    assert found.latency == 0.0
    assert found.useful == found.answers
    assert any(late for run in played("No-S", 200, 10) for _, late in run.tasks)


@pytest.mark.parametrize("seed", range(4))
def test_the_forecast_of_lateness(seed: int) -> None:
    chance = random.Random(seed)
    queries = [Periodic(f"q{at}", chance.randint(5, 40), chance.randint(1, 15)) for at in range(12)]
    tasks = [Task(one.name, one.name, (one,), one.period) for one in queries]
    costs = [float(COSTS.run([one])) for one in queries]
    capacity = sum(cost / one.period for cost, one in zip(costs, queries, strict=True)) / chance.uniform(1.5, 4)
    told = lateness([(cost, one.period) for cost, one in zip(costs, queries, strict=True)], capacity)
    runs = play(Deadlines(tasks, Rules(Company.NONE)), 2000, COSTS.run, Clock(capacity))
    assert worth(runs, queries, 500, 2000).latency == pytest.approx(told, abs=1.1)
    assert lateness([(1.0, 2)], 0.5) == 0.0
    assert lateness([(1.0, 2)], 0) == float("inf")


def test_nothing_starves() -> None:
    for scheduler in SCHEDULERS:
        ran = {query.name for run in played(scheduler.name, 60, 3) for query in run.queries}
        assert ran == {query.name for query in G1}, scheduler.name


def test_a_scheduler_that_is_none() -> None:
    with pytest.raises(InvalidInput, match="no scheduler 'EDF'"):
        scheduler_named("EDF")
    assert planned([], COSTS) == ()


COMPARED = pages("schedulers_compared.json")
AFTER = RunCosts(after=2)


def compared_load(seed: int, each: int) -> dict[str, list[Periodic]]:
    chance = random.Random(1000 + seed)
    groups: dict[str, list[Periodic]] = {}
    for group in range(8):
        groups[str(group)] = []
        for at in range(each):
            window = chance.randint(20, 100)
            groups[str(group)].append(Periodic(f"{group}.{at}", window, chance.randint(1, window // 2)))
    return groups


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(one, id=one["name"], marks=[pytest.mark.nightly] * (one["queries"] > 40))
        for one in COMPARED["vectors"]
    ],
)
def test_schedulers_compared_by_cost(vector: dict[str, Any]) -> None:
    found: dict[str, list[Worth]] = {name: [] for name in COMPARED["schedulers"]}
    counts: list[tuple[int, int]] = []
    for seed in range(5):
        load = compared_load(seed, vector["queries"] // 8)
        queries = [query for group in load.values() for query in group]
        tasks = {one.blocks: one.tasks(load, AFTER, 0) for one in SCHEDULERS}
        for name, worths in found.items():
            scheduler = scheduler_named(name)
            timetable = scheduler.timetable(tasks[scheduler.blocks])
            runs = play(timetable, 600, AFTER.run, Clock(vector["capacity"], 8))
            worths.append(worth(runs, queries, 100, 600))
        counts.append(tuple(len(tasks[scheduler_named(name).blocks]) for name in ("CS", "HS")))  # type: ignore[arg-type]
    for cell, (name, worths) in zip(vector["cells"], found.items(), strict=True):
        mean = [fmean(getattr(one, part) for one in worths) for part in ("answers", "useful", "latency")]
        for here, there in zip(mean, cell.split("/"), strict=True):
            # The table is printed with one or two digits: below them it says nothing.
            digit = 10 ** -len(there.partition(".")[2])
            assert here == pytest.approx(float(there), rel=0.02, abs=digit), (name, cell, mean)
    assert [fmean(one) for one in zip(*counts, strict=True)] == [pytest.approx(one, abs=0.6) for one in vector["tasks"]]
