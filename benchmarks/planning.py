"""`python -m benchmarks planning`: how long planning takes: edges counted, plans of many queries, one query changed.

Seconds of this process's processors. Bit Set is not run above a period of 10^8, where it would take minutes and memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import lcm
from time import process_time
from typing import Any

from benchmarks.reference_workload import reference, reference_windows
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.cost_model import PanesModel
from tidewheel.queries.planning.edge_counts import bit_set, f1_collapsed
from tidewheel.queries.planning.incremental import rewoven
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.measured_model import Constants, measured_model
from tidewheel.queries.planning.phases import Phase, reduced
from tidewheel.queries.planning.placement.catalogue import optimizer_named
from tidewheel.queries.planning.placement.nodes import Setting
from tidewheel.queries.planning.population import Estimate
from tidewheel.queries.planning.workload import workload_of
from tidewheel.queries.windows import Window

PERIOD_MAX = 10**8
SETS = (  # slides of which the common period grows
    range(2, 13), range(2, 17), range(10, 30, 2), (7, 11, 13, 17, 19), range(2, 21), (97, 101, 103, 107),
    (2, 3, 5, 7, 11, 13, 17, 19, 23, 29), range(2, 31), range(7, 51),
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
        yield f"{period:12.3g} {len(phases):9} {marked} {_s(f1_collapsed, phases):10.4f}"


def _s(count: Callable[[list[Phase]], Any], phases: list[Phase]) -> float:
    return seconds(lambda: count(phases))


def draw() -> Callable[[int], int]:
    return random.Random(1).randrange


def plans() -> Iterator[str]:
    yield f"{'planner':<24} {'cost':<10} {'queries':>8} {'seconds':>9} {'trees':>6}"
    measured = measured_model(Estimate(), Constants(refresh=300))
    for name, cost, model, size in (
        ("Weave Share", "published", PanesModel, 500), ("TriWeave", "published", PanesModel, 500),
        ("Settle", "published", PanesModel, 500), ("Settle", "measured", measured, 500),
        ("Settle", "measured", measured, 2000),
    ):  # fmt: skip
        loom, before = Loom(reference(size, 300), model), process_time()
        plan = planner_named(name).plan(loom, draw())
        yield f"{name:<24} {cost:<10} {size:8} {process_time() - before:9.3f} {len(plan.trees):6}"
    loom, before = Loom(reference(500, 300)), process_time()
    optimizer_named("WG_TN").place(loom, Setting(8, draw()))
    yield f"{'WG_TN, 8 nodes':<24} {'published':<10} {500:8} {process_time() - before:9.3f}"


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


def main() -> int:
    for lines in (edges(), plans(), changes()):
        for line in lines:
            print(line, flush=True)
        print()
    return 0
