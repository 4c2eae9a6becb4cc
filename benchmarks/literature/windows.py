"""`python -m benchmarks.literature.windows`: the speed of techniques of final aggregation, and of the kernels.

Per technique: slides per second over one range of n partials, each slide an insert and an answer; then with every range
1..n asked at every slide. Per kernel: nanoseconds an answer, every window of a length at once. Integers from a seed.
Processor time, of which only ratios within one run mean anything. Operations per slide, which do not depend on the
machine, are in the tests.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tidewheel.queries.choice import TECHNIQUES
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.prefix_sums import span_sums
from tidewheel.queries.kernels.van_herk import blockwise
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.technique import Technique

SEED = 7
KERNELS: dict[str, Callable[..., object]] = {
    "prefix sums (sum)": span_sums,
    "doubling tables (max)": lambda *spans: doubled(np.maximum, *spans),
    "van Herk's blocks (max)": lambda *spans: blockwise(np.maximum, *spans),
}


def slides_per_second(technique: Technique, asked: Sequence[int], seconds: float) -> float:
    chance = random.Random(SEED)
    partials = [chance.randrange(10**6) for _ in range(4096)]
    for partial in partials[: min(len(partials), technique.size)]:
        technique.insert(partial)
    slides, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds or not slides:
        for partial in partials[:64]:
            technique.insert(partial)
            technique.query_many(asked)
            slides += 1
    return slides / spent


def technique_rows(sizes: Sequence[int], seconds: float, every_range: bool) -> Iterator[tuple[str, list[float | None]]]:
    for make in TECHNIQUES:
        operation = MAX if AlgebraClass.SEL in make.classes else whole_sum()
        if every_range and make.one_count_only:
            continue
        ranges = [range(1, n + 1) if every_range else [n] for n in sizes]
        yield (
            f"{make.name} ({operation.name})",
            [slides_per_second(make(operation, asked), list(asked), seconds) for asked in ranges],
        )


def kernel_rows(sizes: Sequence[int], rows: int) -> Iterator[tuple[str, list[float | None]]]:
    values = np.random.default_rng(SEED).integers(0, 10**6, rows)
    for name, fold in KERNELS.items():
        times: list[float | None] = []
        for n in sizes:
            start = np.arange(max(0, rows - n))
            begun = time.process_time()
            if len(start):
                fold(values, start, start + n)
            times.append((time.process_time() - begun) * 1e9 / len(start) if len(start) else None)
        yield name, times


def table(title: str, sizes: Sequence[int], rows: Iterator[tuple[str, list[float | None]]]) -> Iterator[str]:
    yield ""
    yield f"{title:32}" + "".join(f"{f'n = {n}':>12}" for n in sizes)
    for name, figures in rows:
        yield f"{name:32}" + "".join(f"{'-' if figure is None else f'{figure:,.0f}':>12}" for figure in figures)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.literature.windows", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 64, 1024, 16384], help="partials in a window")
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each technique runs")
    parser.add_argument("--rows", type=int, default=1_000_000, help="partials that the kernels fold")
    arguments = parser.parse_args(given)
    sizes, few = arguments.sizes, [n for n in arguments.sizes if n <= 1024]
    for title, ns, rows in (
        ("one range, slides/s", sizes, technique_rows(sizes, arguments.seconds, every_range=False)),
        ("every range, slides/s", few, technique_rows(few, arguments.seconds, every_range=True)),
        ("kernels, ns an answer", sizes, kernel_rows(sizes, arguments.rows)),
    ):
        for line in table(title, ns, rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
