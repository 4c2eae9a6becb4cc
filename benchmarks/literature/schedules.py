"""Periodic queries played against one clock: hybrid and late-pending scheduling, with time enough and without."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from statistics import fmean

from benchmarks.literature.headline import Headline
from tidewheel.queries.scheduling.playing import Clock, play
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts
from tidewheel.queries.scheduling.schedule_worth import Worth, worth
from tidewheel.queries.scheduling.schedulers import scheduler_named

UPDATES, PASSED_OVER, SEEDS, GROUPS = 600, 100, 5, 8
UPDATE_COST, ENOUGH, OVERLOADED = 8, 300, 150  # operations between two updates
WHY = "by cost alone; a run is as dear as its deepest window"


def scheduling() -> Iterator[Headline]:
    yield _row("hybrid / conservative scheduling, 160 queries", "2x throughput, a tenth of the latency",
               "HS", "CS", 160, ENOUGH)  # fmt: skip
    for size in (160, 240):
        yield _row(f"late-pending / hybrid scheduling, {size} queries under overload", "more than 2x throughput",
                   "H-LP", "HS", size, OVERLOADED)  # fmt: skip


def _row(what: str, published: str, subject: str, rival: str, size: int, between: int) -> Headline:
    counted = partial(_compared, subject, rival, size, between)
    return Headline(what, published, counted, why=WHY, subject=subject, rival=rival, slow=True)


def _compared(one: str, other: str, size: int, between: int) -> str:
    mine, theirs = ([_played(name, seed, size, between) for seed in range(SEEDS)] for name in (one, other))
    answers, useful, latency = (
        fmean(getattr(found, part) for found in mine) / fmean(getattr(found, part) for found in theirs)
        for part in ("answers", "useful", "latency")
    )
    return f"{answers:.1f}x answers, {useful:.1f}x those that are useful, {latency:.2f} of the latency"


def _played(name: str, seed: int, size: int, between: int) -> Worth:
    """The load of the comparison in the tests."""
    chance, costs = random.Random(1000 + seed), RunCosts(after=2)
    load: dict[str, list[Periodic]] = {}
    for group in range(GROUPS):
        load[str(group)] = []
        for at in range(size // GROUPS):
            window = chance.randint(20, 100)
            load[str(group)].append(Periodic(f"{group}.{at}", window, chance.randint(1, window // 2)))
    queries = [query for group in load.values() for query in group]
    scheduler = scheduler_named(name)
    timetable = scheduler.timetable(scheduler.tasks(load, costs, 0))
    return worth(play(timetable, UPDATES, costs.run, Clock(between, UPDATE_COST)), queries, PASSED_OVER, UPDATES)
