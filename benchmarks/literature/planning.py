"""`python -m benchmarks planning`: how long planning takes: edges counted by F1 and by Bit Set, plans of many queries,
one query changed.

Seconds of this process's processors. Bit Set is not run above a period of 10^8, where it would take minutes and memory.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import isqrt, lcm, log10
from statistics import median
from time import process_time
from typing import Any

from benchmarks.literature.reference_workload import reference, reference_windows
from tidewheel.queries.literature.placement.optimizers import optimizer_named
from tidewheel.queries.literature.placement.placed_nodes import Setting
from tidewheel.queries.literature.planning.incremental_weave import rewoven
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.cost_model import PanesModel
from tidewheel.queries.planning.edge_counts import bit_set, edge_rate
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.measured_model import Constants, measured_model
from tidewheel.queries.planning.phases import Phase, period_of, phases_of, reduced
from tidewheel.queries.planning.population import Estimate
from tidewheel.queries.planning.workload import Request, Workload, workload_of
from tidewheel.queries.windows import Window

PERIOD_MAX = 10**8
SETS = (  # slides of which the common period grows
    range(2, 13), range(2, 17), (7, 11, 13, 17, 19), range(2, 18), range(2, 19), range(2, 21), (97, 101, 103, 107),
    (2, 3, 5, 7, 11, 13, 17, 19, 23, 29), range(2, 31), range(7, 51),
)  # fmt: skip
RANDOM_SETS, DECADES = 20, ((10**6, 10**7), (10**7, 10**8))
# Queries, longest slide, records per unit, skew towards long slides, greatest overlap, only primes: five workloads of
# the literature, each at the size where Weave Share with Bit Set ended for want of memory.
STOPS = (
    (550, 1_000, Fraction(1, 500), 0.5, 10, False), (1_000, 800, Fraction(1), 3, 100, True),
    (1_000, 100, Fraction(900), 1, 1_000, False), (50, 500, Fraction(1, 10), 2.25, 100, False),
    (1_000, 600, Fraction(1), 3, 40, True),
)  # fmt: skip


def seconds(work: Callable[[], Any]) -> float:
    before = process_time()
    work()
    return process_time() - before


def edges() -> Iterator[str]:
    yield f"{'period':>12} {'families':>9} {'Bit Set s':>10} {'F1 s':>10}"
    for slides in SETS:
        phases, period = reduced([(slide, 0) for slide in slides]), lcm(*slides)
        marked = f"{_s(bit_set, phases):10.4f}" if period <= PERIOD_MAX else f"{'-':>10}"
        yield f"{period:12.3g} {len(phases):9} {marked} {_s(edge_rate, phases):10.4f}"


def _s(count: Callable[[list[Phase]], Any], phases: list[Phase]) -> float:
    return seconds(lambda: count(phases))


def either_way() -> Iterator[str]:
    """Random windows whose common period is long, but short enough for Bit Set; seconds are medians."""
    yield f"{'period':>14} {'slides to':>9} {'cut':>5} {'sets':>5} {'Bit Set s':>10} {'F1 s':>8} {'worst ratio':>11}"
    for low, high in DECADES:
        for longest in (20, 50, 100, 1_000):
            for whole in (True, False):
                found = list(islice(_sets(random.Random(1), low, high, longest, whole), RANDOM_SETS))
                timed = [(_s(bit_set, one), _s(edge_rate, one)) for one in found]
                marked, counted = (median(column) for column in zip(*timed, strict=True))
                worst = max(ours / theirs for theirs, ours in timed)
                yield (
                    f"{low:.0e}..{high:.0e} {longest:9} {'once' if whole else 'twice':>5} {len(found):5} "
                    f"{marked:10.4f} {counted:8.4f} {worst:11.4f}"
                )


def _sets(chance: random.Random, low: int, high: int, longest: int, whole: bool) -> Iterator[list[Phase]]:
    while True:
        slides = chance.choices(range(2, longest + 1), k=chance.randint(3, 40))
        windows = [Window(s * chance.randint(1, 10) if whole else chance.randint(s, 10 * s), s) for s in slides]
        phases = reduced(phase for window in windows for phase in phases_of(window))
        if low <= period_of(phases) < high:
            yield phases


def stops() -> Iterator[str]:
    yield f"{'queries':>8} {'slides to':>9} {'skew':>5} {'primes':>7} {'period':>7} {'plan with F1 s':>14} {'trees':>6}"
    for size, longest, rate, skew, overlap_max, primes in STOPS:
        chance = random.Random(1)
        slides = published_slides(chance, size, longest, skew, primes)
        windows = [Window(slide * chance.randint(1, overlap_max), slide) for slide in slides]
        before = process_time()
        plan = planner_named("Weave Share").plan(Loom(workload_of(windows, rate)), draw())
        spent, period = process_time() - before, f"10^{log10(lcm(*slides)):.0f}"
        only = "yes" if primes else "no"
        yield f"{size:8} {longest:9} {skew:5} {only:>7} {period:>7} {spent:14.3f} {len(plan.trees):6}"


def published_slides(chance: random.Random, size: int, longest: int, skew: float, primes: bool) -> list[int]:
    slides = [one for one in range(longest, 0, -1) if not primes or _is_prime(one)]
    return chance.choices(slides, [rank**-skew for rank in range(1, len(slides) + 1)], k=size)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % one for one in range(2, isqrt(number) + 1))


def draw() -> Callable[[int], int]:
    return random.Random(1).randrange


def plans() -> Iterator[str]:
    yield f"{'planner':<24} {'cost':<10} {'queries':>8} {'seconds':>9} {'trees':>6} {'operations or ns':>17}"
    measured = measured_model(Estimate(), Constants(refresh=300))
    for name, cost, model, size in (
        ("Weave Share", "published", PanesModel, 500), ("TriWeave", "published", PanesModel, 500),
        ("Settle", "published", PanesModel, 500), ("Weave Share", "published", PanesModel, 2000),
        ("Settle", "published", PanesModel, 2000), ("Settle", "measured", measured, 500),
        ("Settle", "measured", measured, 2000),
    ):  # fmt: skip
        loom, before = Loom(reference(size, 300), model), process_time()
        plan = planner_named(name).plan(loom, draw())
        spent = process_time() - before
        yield f"{name:<24} {cost:<10} {size:8} {spent:9.3f} {len(plan.trees):6} {float(plan.cost):17,.0f}"
    loom, before = Loom(reference(500, 300)), process_time()
    optimizer_named("WG_TN").place(loom, Setting(8, draw()))
    yield f"{'WG_TN, 8 nodes':<24} {'published':<10} {500:8} {process_time() - before:9.3f}"


def mixed() -> Iterator[str]:
    """By the measured cost, queries that differ in predicate and group-by as well; two customers' columns are large."""
    columns = {"source": 2_000, "target": 500_000, "port": 60, "country": 30}
    known = Estimate({"tcp": 0.6, "large": 0.001, "night": 0.3}, columns)
    yield f"{'2,000 queries of predicates and groups':<42} {'seconds':>9} {'trees':>6} {'ns per unit':>17}"
    for name in ("Settle", "By Group", "Shared", "No Share"):
        loom = Loom(_requests(2000, sorted(columns)), measured_model(known, Constants(refresh=300)))
        before = process_time()
        plan = planner_named(name).plan(loom, draw())
        yield f"{name:<42} {process_time() - before:9.3f} {len(plan.trees):6} {float(plan.cost):17,.0f}"


def _requests(size: int, columns: list[str]) -> Workload:
    chance, found = random.Random(3), []
    for at in range(size):
        slide = chance.choice((60, 300, 600, 900, 1800, 3600))
        groups = frozenset(one for one in columns if chance.random() < 0.25)
        window = Window(slide * chance.randint(1, 24), slide, chance.choice((0, 0, 30)))
        found.append(Request(str(at), window, chance.choice(("", "", "tcp", "large", "night")), groups))
    return Workload(tuple(found), Fraction(300))


def changes() -> Iterator[str]:
    windows = {f"q{at}": one for at, one in enumerate(reference_windows(200, 1))}
    trees = planner_named("Weave Share").plan(Loom(workload_of(windows, 300)), draw()).trees
    del windows["q7"]
    loom, before = Loom(workload_of({**windows, "new": Window(777, 300)}, 300)), process_time()
    found = rewoven(loom, trees)
    spent = process_time() - before
    names = [one.name for one in loom.workload.requests]
    after = {frozenset(names[member] for member in tree.members) for tree in found}
    changed = len(after - set(map(frozenset, trees)))
    yield f"one query of 200 changed: {spent * 1000:.1f} ms, {changed} of {len(after)} trees changed"


def main(given: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m benchmarks planning", description=__doc__).parse_args(given)
    for lines in (edges(), either_way(), stops(), plans(), mixed(), changes()):
        for line in lines:
            print(line, flush=True)
        print()
    return 0
