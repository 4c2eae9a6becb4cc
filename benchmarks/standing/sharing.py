"""What sharing is worth here: the same queries in the trees of several planners, refreshed slot by slot.

From it come the constants of the measured cost: seconds of refreshes, explained by what each refresh had to do.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.archives.feeding import feed
from benchmarks.harness.store import RESULTS
from benchmarks.standing.ours import Ours
from benchmarks.standing.refresh_costs import FILE
from benchmarks.standing.stream import (
    AXIS,
    GROUPS,
    MINUTE_US,
    OUTPUTS,
    PREDICATES,
    SLOT_ZERO,
    Size,
    batch,
    query_text,
    read,
)
from tidewheel.local.standing.statistics import known_of
from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.measured_model import Amounts, Constants, MeasuredModel
from tidewheel.queries.planning.standing_requests import pools
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.standing.query import Query

PLANNERS = ("No Share", "Shared", "By Group", "Weave Share", "Settle")
SETTINGS = ((12, 1_000), (12, 10_000), (40, 3_000), (8, 30_000))  # queries, records a slot
SLIDES = (5, 10, 15, 30)  # minutes: all of them repeat within what is measured
# Some so long that a tree of too many rows is read at length.
WINDOWS = (15, 30, 60, 180, 720)
SLOTS, MEASURED = 156, 6
SEEDS_FITTED, SEEDS_TESTED = (1, 2), (3, 4, 5)
PLANNERS_TESTED = ("By Group", "Settle")
MANY = 50_000  # groups, and records of a slot, of which rows are counted


@dataclass(frozen=True)
class Sample:
    """Refreshes of one setting in one planner's trees."""

    queries: int
    rows: int
    seed: int
    planner: str
    trees: int
    seconds: float  # of this process's processors, mean of a refresh
    amounts: Amounts  # of a refresh, as the model sees it

    @property
    def work(self) -> list[float]:
        return [1.0, *astuple(self.amounts)]


def random_queries(seed: int, count: int) -> list[Query]:
    chance = random.Random(seed)
    texts = []
    for number in range(count):
        slide = chance.choice(SLIDES)
        window = chance.choice([one for one in WINDOWS if one >= slide])
        where = f'where = "{chance.choice(PREDICATES)}"\n' if chance.random() < 0.3 else ""
        select = ", ".join(sorted(chance.sample(OUTPUTS, chance.randint(1, 3))))
        groups = chance.choice(GROUPS)
        rest = f'{where}revise = "5m"\n'
        texts.append(query_text(f"q{number:03}", select, groups, window * MINUTE_US, slide * MINUTE_US, rest))
    return read(texts)


def loaded(folder: Path, rows: int, seed: int) -> Size:
    """An archive that nobody asks anything of yet."""
    shutil.rmtree(folder, ignore_errors=True)
    size = Size("sharing", rows=rows, slots=SLOTS, seed=seed)
    Ours(folder, size, (), SLOT_ZERO - SLOTS).load(range(SLOT_ZERO - SLOTS, SLOT_ZERO - MEASURED))
    return size


def sample(folder: Path, size: Size, asked: Sequence[Query], planner: str) -> Sample:
    """Refresh an archive that was loaded slot by slot."""
    ours = Ours(folder, size, asked, SLOT_ZERO - SLOTS)
    ours.handle = replace(ours.handle, planner=planner)
    ours.refresh()
    seconds = []
    for slot in range(SLOT_ZERO - MEASURED, SLOT_ZERO):
        feed(ours.job, [slot], batch(size, slot))
        before = process_time()
        ours.refresh()
        seconds.append(process_time() - before)
    assignment = ours.handle.assignment()
    sharing = [[one for one in asked if assignment.tree_of[one.name] == tree.name] for tree in assignment.trees]
    amounts = amounts_of(asked, sharing, known_of(ours.job, asked))
    return Sample(len(asked), size.rows, size.seed, planner, len(sharing), fmean(seconds[1:]), amounts)


def amounts_of(queries: Sequence[Query], sharing: Sequence[Sequence[Query]], known: Known) -> Amounts:
    """What one refresh does for these trees."""
    total = Amounts(*[0.0] * len(fields(Amounts)))
    for pool in pools(queries):
        loom = Loom(Workload(pool.requests, known.rate), known.model("measured"))
        model = loom.model
        assert isinstance(model, MeasuredModel)
        places = {request.name: place for place, request in enumerate(pool.requests)}
        for some in sharing:
            members = [places[one.name] for one in some if one.name in places]
            if members:
                tree = loom.tree(members)
                total += model.amounts(loom.space.count(tree.edges), tree.state)
    return Amounts(*(one * known.interval_us for one in astuple(total)))


def rows_ns(folder: Path) -> dict[str, float]:
    """Of a partial row written and of an answer's row given, as their number grows and nothing else does.

    Plans of the same records have about as many of both, so what refreshes of plans take does not tell them.
    """
    seconds = {
        (groups, slide): _of_groups(folder, groups, slide * MINUTE_US) for groups in (100, MANY) for slide in (5, 60)
    }
    each = {slide: 1e9 * (seconds[MANY, slide] - seconds[100, slide]) / (MANY - 100) for slide in (5, 60)}
    return {"written_ns": each[60], "answer_ns": max(0.0, each[5] - each[60])}


def _of_groups(folder: Path, groups: int, slide_us: int) -> float:
    """Seconds of a refresh that gets as many records, of so many groups; it gives no answer if the slide is long."""
    shutil.rmtree(folder, ignore_errors=True)
    text = query_text("many", "count(*) as n, sum(v) as total", ["key"], 60 * MINUTE_US, slide_us, 'revise = "5m"\n')
    ours = Ours(folder, Size("groups", rows=MANY, slots=MEASURED), read([text]), SLOT_ZERO)
    keys, seconds = pa.array([f"g{number % groups:06}" for number in range(MANY)]), []
    for slot in range(SLOT_ZERO, SLOT_ZERO + MEASURED):
        rows = batch(ours.size, slot)
        feed(ours.job, [slot], rows.set_column(rows.schema.get_field_index("key"), "key", keys))
        before = process_time()
        ours.refresh()
        seconds.append(process_time() - before)
    shutil.rmtree(folder)
    return median(seconds[1:])


def fitted(samples: Sequence[Sample], known_ns: Mapping[str, float]) -> Constants:
    """Nanoseconds, none below nothing, such that relative errors are small: least squares by coordinates."""
    names = [one.name for one in fields(Constants) if one.name != "refresh"]
    weights = np.array([1 / one.seconds for one in samples])
    work = np.array([one.work for one in samples]) * weights[:, None]
    scale = np.maximum(np.abs(work).max(axis=0), 1e-300)
    work, found = work / scale, np.array([known_ns.get(name, 0.0) / 1e9 for name in names]) * scale
    for _ in range(20_000):
        for place in (place for place, name in enumerate(names) if name not in known_ns):
            column = work[:, place]
            rest = 1.0 - work @ found + column * found[place]
            found[place] = max(0.0, float(column @ rest) / float(column @ column + 1e-12))
    return Constants(AXIS.interval_us, *(1e9 * found / scale))


def predicted_s(one: Sample, constants: Constants) -> float:
    return (constants.refresh_ns + one.amounts.priced(constants)) / 1e9


def measured(folder: Path, seeds: Sequence[int], planners: Sequence[str]) -> list[Sample]:
    found = []
    for queries, rows in SETTINGS:
        for seed in seeds:
            size, asked = loaded(folder / "loaded", rows, seed), random_queries(seed, queries)
            for planner in planners:
                shutil.rmtree(folder / "sharing", ignore_errors=True)
                shutil.copytree(folder / "loaded", folder / "sharing")
                found.append(sample(folder / "sharing", size, asked, planner))
                say(found[-1])
    return found


def say(one: Sample) -> None:
    print(
        f"{one.queries} queries, {one.rows} records, seed {one.seed}, {one.planner}: {one.trees} trees, "
        f"{one.seconds:.3f} s of processor a refresh",
        file=sys.stderr,
        flush=True,
    )


def report(fit: Sequence[Sample], test: Sequence[Sample], constants: Constants) -> dict[str, Any]:
    """Constants, errors on seeds that were not fitted, and how planners compare."""
    errors: dict[int, list[float]] = {seed: [] for seed in sorted({one.seed for one in test})}
    for one in test:
        errors[one.seed].append(abs(predicted_s(one, constants) / one.seconds - 1))
    means = {
        planner: fmean(one.seconds for one in (*fit, *test) if one.planner == planner)
        for planner in sorted({one.planner for one in (*fit, *test)})
    }
    return {
        "constants_ns": {one.name: getattr(constants, one.name) for one in fields(Constants) if one.name != "refresh"},
        "error_median_by_seed": {seed: median(some) for seed, some in errors.items()},
        "error_median": median(median(some) for some in errors.values()),
        "seconds_mean_by_planner": means,
        "samples_fitted": len(fit),
        "samples_tested": len(test),
        "tested": [
            {"queries": one.queries, "rows": one.rows, "planner": one.planner, "trees": one.trees,
             "seconds": one.seconds, "predicted_s": predicted_s(one, constants)}
            for one in test
        ],
    }  # fmt: skip


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks sharing",
        description="The same queries in the trees of several planners, refreshed; constants of the measured cost, "
        "which `python -m benchmarks adopt` lets it have.",
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-bench-sharing")
    parser.add_argument("--results", type=Path, default=RESULTS / FILE)
    arguments = parser.parse_args(given)
    fit = measured(arguments.work, SEEDS_FITTED, PLANNERS)
    constants = fitted(fit, rows_ns(arguments.work / "groups"))
    found = report(fit, measured(arguments.work, SEEDS_TESTED, PLANNERS_TESTED), constants)
    arguments.results.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    return 0
