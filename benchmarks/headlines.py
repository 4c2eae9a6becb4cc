"""`python -m benchmarks headlines`: what the literature is known for, beside what the same algorithms do here; writes
docs/headlines.md anew. What is measured already is kept, if only some parts are run.

Published figures are of C++ and Java on other machines. Here an operation is a call in CPython, so throughputs are
compared within one run, and operations beside them, which do not depend on a machine.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from math import lcm
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.headline import Headline
from benchmarks.placements import placements
from benchmarks.planning import PERIOD_MAX, SETS, draw, seconds
from benchmarks.store import RESULTS, machine, now, write_json
from benchmarks.technique_states import latencies, memory
from benchmarks.weaving import weaving
from benchmarks.windows import slides_per_second
from tidewheel.queries.choice import technique_named
from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.edge_counts import bit_set, f1_collapsed
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.omega_model import omega_model
from tidewheel.queries.planning.omegas import Form
from tidewheel.queries.planning.phases import reduced
from tidewheel.queries.planning.workload import workload_of
from tidewheel.queries.scheduling.measures import Worth, worth
from tidewheel.queries.scheduling.playing import Clock, play
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts
from tidewheel.queries.scheduling.schedulers import scheduler_named
from tidewheel.queries.windows import Window

SEED = 7
SIZES = (64, 256, 1024)
MANY_SIZES = (64, 256)
SECONDS = 0.15
CALLS = "a call in CPython costs more than what an operation saves"
UPDATES, PASSED_OVER, SEEDS = 600, 100, 3
PAGE = Path(__file__).parent.parent / "docs" / "headlines.md"
_HEAD = """# What the literature is known for, here

Written by `python -m benchmarks headlines`; do not edit. Measured on {cores} cores of {processor}.

The published figures are of C++ and Java on other machines. Here the same algorithms run in CPython, where an operation
is a call: throughputs are compared within one run, and operations stand beside them, which do not depend on a machine.
Costs of plans and schedules are the published ones, operations a second. What was looked at closer, and is held by
tests, is in [the catalogue](../queries/README.md#which-published-results-hold-here); what standing queries
take in seconds, in [the benchmarks](benchmarks.md#standing-queries)."""


def ratio(one: str, others: Sequence[str], operation: Operation, *, many: bool) -> str:
    """Slides a second of a technique against the best of others, and the operations of a slide: means of some sizes."""
    faster, fewer = [], []
    for size in MANY_SIZES if many else SIZES:
        asked = range(1, size + 1) if many else [size]
        speeds = {name: slides_per_second(technique_named(name)(operation, asked), list(asked), SECONDS)
                  for name in (one, *others)}  # fmt: skip
        best = max(others, key=lambda name: speeds[name])
        faster.append(speeds[one] / speeds[best])
        fewer.append(_operations(best, operation, asked) / _operations(one, operation, asked))
    return f"{fmean(faster):.2f}x in slides a second; the other needs {fmean(fewer):.2f}x the operations"


def _operations(name: str, operation: Operation, asked: Sequence[int]) -> float:
    technique, chance = technique_named(name)(operation, asked), random.Random(SEED)
    size = max(asked)
    before = 0
    for turn in range(3 * size):
        if turn == 2 * size:
            before = technique.calls
        technique.insert(chance.randrange(10**6))
        technique.query_many(asked)
    return max((technique.calls - before) / size, 1e-9)


def techniques() -> Iterator[Headline]:
    single, many = ("FlatFAT", "FlatFIT", "TwoStacks", "DABA"), ("FlatFAT", "FlatFIT", "B-Int")
    yield Headline(
        "FlatFIT / FlatFAT, one range, max", "1.8x, at most 2.6x", ratio("FlatFIT", ["FlatFAT"], MAX, many=False), CALLS
    )
    yield Headline(
        "FlatFIT / FlatFAT, every range, max", "10x, at most 17x", ratio("FlatFIT", ["FlatFAT"], MAX, many=True),
        CALLS,
    )  # fmt: skip
    yield Headline(
        "SlickDeque / second best, one range, sum", "+15 %, at most +19 %",
        ratio("SlickDeque (Inv)", single, whole_sum(), many=False), CALLS,
    )  # fmt: skip
    yield Headline(
        "SlickDeque / second best, one range, max", "+7 %, at most +10 %",
        ratio("SlickDeque (Non-Inv)", single, MAX, many=False), CALLS,
    )  # fmt: skip
    yield Headline(
        "SlickDeque / second best, every range, sum", "+45 %, at most +60 %",
        ratio("SlickDeque (Inv)", many, whole_sum(), many=True),
        "two operations for each range and slide, where FlatFIT has about one and Python code around it",
    )  # fmt: skip
    yield Headline(
        "SlickDeque / second best, every range, max", "+266 %, at most +345 %",
        ratio("SlickDeque (Non-Inv)", many, MAX, many=True), "its answers are looked up, which is no operation",
    )  # fmt: skip


def edges() -> Iterator[Headline]:
    times = []
    for slides in SETS:
        if lcm(*slides) <= PERIOD_MAX:
            phases = reduced([(slide, 0) for slide in slides])
            times.append(seconds(lambda: bit_set(phases)) / max(seconds(lambda: f1_collapsed(phases)), 1e-6))  # noqa: B023
    yield Headline(
        "F1 / Bit Set, time to count edges", "350x to 60,000x",
        f"{median(times):.0f}x in the median, at most {max(times):,.0f}x (periods to {PERIOD_MAX:.0e})",
        "only periods that Bit Set counts in seconds; published are runs up to where its memory ended",
    )  # fmt: skip


def new_costs() -> Iterator[Headline]:
    """Slides are the factors of a thousand, ranges up to ten thousand slides."""
    factors, ranges = [one for one in range(1, 1001) if 1000 % one == 0], random.Random(SEED)
    for rate, published in ((1, "SlickDeque 3x below FlatFIT, 5,000x below Panes"), (10**6, "up to 270,000x")):
        windows = [Window(slide * ranges.randint(1, 10_000), slide) for slide in ranges.choices(factors, k=100)]
        workload = workload_of(windows, Fraction(rate))
        costs = {}
        for name in ("Panes", "FlatFIT", "SlickDeque (Inv)"):
            loom = Loom(workload, omega_model(name, Form.PUBLISHED))
            costs[name] = min(float(planner_named(one).plan(loom, draw()).cost) for one in ("Shared", "By Group"))
        slick = costs["SlickDeque (Inv)"]
        yield Headline(
            f"new cost estimation, 100 queries, rate {rate:,}", published,
            f"{costs['FlatFIT'] / slick:.1f}x below FlatFIT, {costs['Panes'] / slick:,.0f}x below Panes",
            "by the published formula the pass over the records, which all share, is most of the cost at this rate"
            if rate > 1 else "",
        )  # fmt: skip


def scheduling() -> Iterator[Headline]:
    found = {name: [_played(name, seed) for seed in range(SEEDS)] for name in ("CS", "HS", "H-LP")}
    answers = {name: fmean(one.useful for one in some) for name, some in found.items()}
    latency = {name: fmean(one.latency for one in some) for name, some in found.items()}
    why = "by cost alone; a run is as dear as its deepest window"
    yield Headline(
        "hybrid / conservative scheduling, 160 queries", "2x throughput, a tenth of the latency",
        f"{answers['HS'] / answers['CS']:.1f}x useful answers, {latency['HS'] / latency['CS']:.2f} of the latency", why,
    )  # fmt: skip
    yield Headline(
        "late-pending / hybrid scheduling, 160 queries", "more than 2x throughput under overload",
        f"{answers['H-LP'] / answers['HS']:.1f}x useful answers, {latency['H-LP'] / latency['HS']:.2f} of the latency",
        why,
    )  # fmt: skip


def _played(name: str, seed: int) -> Worth:
    """The load of the comparison in the tests."""
    chance, costs = random.Random(1000 + seed), RunCosts(after=2)
    load: dict[str, list[Periodic]] = {}
    for group in range(8):
        load[str(group)] = []
        for at in range(20):
            window = chance.randint(20, 100)
            load[str(group)].append(Periodic(f"{group}.{at}", window, chance.randint(1, window // 2)))
    queries = [query for group in load.values() for query in group]
    scheduler = scheduler_named(name)
    timetable = scheduler.timetable(scheduler.tasks(load, costs, 0))
    return worth(play(timetable, UPDATES, costs.run, Clock(300, 8)), queries, PASSED_OVER, UPDATES)


# Weaving plans sets of 2,000 queries over and over, and takes as long as all others together.
PARTS: Mapping[str, Callable[[], Iterator[Headline]]] = {
    "Techniques": techniques,
    "Latency": latencies,
    "Memory": memory,
    "Edges": edges,
    "Weave Share": weaving,
    "New cost estimation": new_costs,
    "Several nodes": placements,
    "Scheduling": scheduling,
}


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks headlines", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="only this part (repeatable)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    path = arguments.results / "headlines.json"
    values: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    for name in arguments.only or PARTS:
        rows = []
        for headline in PARTS[name]():
            rows.append(asdict(headline))
            print(f"{headline.what}\n    published  {headline.published}\n    here       {headline.ours}", flush=True)
        values["parts"][name] = {"rows": rows, "measured_at": now()}
        values["machine"] = machine()
        write_json(path, values)
    if arguments.results == RESULTS:
        PAGE.write_text(page_of(values), encoding="utf-8")
    return 0


def page_of(values: Mapping[str, Any]) -> str:
    parts = [(name, values["parts"][name]["rows"]) for name in PARTS if name in values["parts"]]
    return "\n\n".join([_HEAD.format(**values["machine"]), *(_section(name, rows) for name, rows in parts)]) + "\n"


def _section(name: str, rows: Sequence[Mapping[str, str]]) -> str:
    lines = [f"| {one['what']} | {one['published']} | {one['ours']} | {one['why']} |" for one in rows]
    return "\n".join([f"## {name}\n", "| what | published | here | why it differs |", "|---|---|---|---|", *lines])
