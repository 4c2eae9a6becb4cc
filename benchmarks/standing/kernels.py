"""The kernel race: one sliding window over many values, ours against the libraries that people slide windows with.

Nanoseconds an answer, of the wall clock, as several use all cores; whole numbers from a seed, every window of a length.
Each answer is compared with numpy's own fold of some windows. Who takes long is given fewer values, said in the table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tidewheel.queries.choice import TECHNIQUES, choose
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.prefix_sums import span_sums
from tidewheel.queries.kernels.selection import selected
from tidewheel.queries.kernels.van_herk import blockwise
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.technique_costs import cost
from tidewheel.queries.windows import Window

SEED = 7
RANGES = 64
SLIDES_COUNTED = 4_096
Values = Any
Slide = Callable[[Values, int], Any]  # values, the length of the window: an answer for each window that is whole
# Folded by numpy itself, the judge of all.
JUDGES: Mapping[str, Callable[[Any], Any]] = {
    "sum": np.sum, "max": np.max, "arg_max": np.max, "stddev": lambda some: np.std(some, ddof=1),
}  # fmt: skip


def kernel_race(rows: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Everyone at every length."""
    values = np.random.default_rng(SEED).integers(0, 10**6, rows)
    found = []
    for what, who, rows_max, slide in _contenders():
        times = _times(what, slide, values[:rows_max], sizes)
        found.append({"what": what, "who": who, "rows": min(rows, rows_max), "ns": times})
    return {
        "rows": rows,
        "sizes": list(sizes),
        "slides": found,
        "many_ranges": list(_many_ranges(values[: rows // 40])),
        "operations": list(operations()),
        "many_operations": list(many_operations()),
    }


def _times(what: str, slide: Slide | None, values: Values, sizes: Sequence[int]) -> list[float | None]:
    found: list[float | None] = []
    for size in sizes:
        if slide is None or size > len(values) // 2:
            found.append(None)
            continue
        begun = perf_counter()
        answers = slide(values, size)
        spent = perf_counter() - begun
        _judge(what, values, size, answers)
        found.append(1e9 * spent / len(answers))
    return found


def _judge(what: str, values: Values, size: int, answers: Any) -> None:
    chance, last = random.Random(SEED), len(values) - size
    assert len(answers) == last + 1, (what, size, len(answers))
    for start in (0, last, *(chance.randrange(last + 1) for _ in range(8))):
        true, given = JUDGES[what](values[start : start + size]), answers[start]
        assert abs(float(given) - float(true)) <= 1e-6 * abs(float(true)), (what, size, start, given, true)


def _contenders() -> Iterator[tuple[str, str, int, Slide | None]]:
    """What is asked, of whom, over how many values at most, and how; None where the library is not there."""
    most, less = 10_000_000, 1_000_000
    yield "sum", "ours, prefix sums", most, lambda values, n: span_sums(values, *_spans(values, n))
    yield "max", "ours, doubling tables", most, lambda values, n: doubled(np.maximum, values, *_spans(values, n))
    yield "max", "ours, van Herk's blocks", most, lambda values, n: blockwise(np.maximum, values, *_spans(values, n))
    yield "arg_max", "ours, ranks and doubling tables", less, _our_arg_max
    yield "stddev", "ours, prefix sums of squares", most, _our_stddev
    polars = _there("polars")
    for what, name in (("sum", "rolling_sum"), ("max", "rolling_max"), ("stddev", "rolling_std")):
        yield what, "Polars", most, polars and _polars(polars, name)
    bottleneck = _there("bottleneck")
    for what, name in (("sum", "move_sum"), ("max", "move_max"), ("arg_max", "move_argmax"), ("stddev", "move_std")):
        yield what, "bottleneck", most, bottleneck and _bottleneck(bottleneck, name)
    pandas = _there("pandas")
    for what, name in (("sum", "sum"), ("max", "max"), ("stddev", "std")):
        yield what, "pandas", most, pandas and _pandas(pandas, name)
    filters = _there("scipy.ndimage")
    yield (
        "max",
        "scipy",
        most,
        filters and (lambda values, n: filters.maximum_filter1d(values, n)[n // 2 : len(values) - n + n // 2 + 1]),
    )
    for what, sql in (("sum", "sum(v)"), ("max", "max(v)"), ("arg_max", "arg_max(v, v)"), ("stddev", "stddev_samp(v)")):
        yield what, "DuckDB window", less, _duckdb(sql)


def _there(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _spans(values: Values, n: int) -> tuple[Any, Any]:
    start = np.arange(len(values) - n + 1)
    return start, start + n


def _our_arg_max(values: Values, n: int) -> Any:
    """The value where the value is largest, the newest of equal ones."""
    given = pa.array(values)
    columns = {"value": given, "by": given, "at": pa.array(np.arange(len(values)))}
    return selected("arg_max", columns, *_spans(values, n)).to_numpy()


def _our_stddev(values: Values, n: int) -> Any:
    """Of whole numbers, from their sums and those of their squares: exact until the division."""
    start, end = _spans(values, n)
    sums, squares = span_sums(values, start, end).astype(float), span_sums(values * values, start, end).astype(float)
    return np.sqrt(np.maximum(squares - sums * sums / n, 0) / (n - 1))


def _polars(polars: Any, name: str) -> Slide:
    return lambda values, n: getattr(polars.Series(values), name)(n).to_numpy()[n - 1 :]


def _bottleneck(bottleneck: Any, name: str) -> Slide:
    move = getattr(bottleneck, name)
    if name == "move_argmax":  # how far back the largest is
        return lambda values, n: values[np.arange(n - 1, len(values)) - move(values, n)[n - 1 :].astype(np.int64)]
    more = {"ddof": 1} if name == "move_std" else {}
    return lambda values, n: move(values.astype(np.float64), n, **more)[n - 1 :]


def _pandas(pandas: Any, name: str) -> Slide:
    return lambda values, n: getattr(pandas.Series(values).rolling(n), name)().to_numpy()[n - 1 :]


def _duckdb(sql: str) -> Slide:
    def slide(values: Values, n: int) -> Any:
        rows = pa.table({"i": np.arange(len(values)), "v": values})
        frame = f"OVER (ORDER BY i ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
        connection = duckdb.connect(":memory:")
        connection.register("given", rows)
        return connection.sql(f"SELECT {sql} {frame} AS a FROM given ORDER BY i").fetchnumpy()["a"][n - 1 :]

    return slide


# Many ranges at every slide.


def _many_ranges(values: Values) -> Iterator[dict[str, Any]]:
    """64 ranges, asked at every slide: nanoseconds an answer."""
    longest = min(1 << 16, len(values) // 2)
    ranges = np.unique(np.geomspace(16, longest, RANGES).astype(np.int64))
    slides = np.arange(longest, len(values))
    starts = (slides[:, None] - ranges).ravel()
    ends = np.repeat(slides, len(ranges))
    for what, who, fold in (
        ("sum", "ours, prefix sums", span_sums),
        ("max", "ours, doubling tables", lambda *spans: doubled(np.maximum, *spans)),
    ):
        begun = perf_counter()
        fold(values, starts, ends)
        yield {"what": what, "who": who, "ns": 1e9 * (perf_counter() - begun) / len(starts)}
    polars = _there("polars")
    for what in ("sum", "max") if polars else ():
        frame = polars.DataFrame({"v": values}).lazy()
        asked = [getattr(polars.col("v"), f"rolling_{what}")(int(n)).alias(str(n)) for n in ranges]
        begun = perf_counter()
        frame.select(asked).slice(longest).collect()
        yield {"what": what, "who": "Polars", "ns": 1e9 * (perf_counter() - begun) / len(starts)}


# Operations, which do not depend on the machine.


def many_operations(size: int = 1024) -> Iterator[dict[str, Any]]:
    """Of 64 ranges at every slide: SlickDeque's, counted, and those of the kernels, which are given."""
    ranges = sorted({int(n) for n in np.geomspace(16, size, RANGES)})
    for operation, who, ours in (
        (whole_sum(), "prefix sums", 1 + len(ranges)),  # a running total, a difference for each range
        (MAX, "doubling tables", size.bit_length() - 1 + len(ranges)),  # a row of each table, two that overlap
    ):
        make = choose(operation, ranges)
        technique, chance, before = make(operation, ranges), random.Random(SEED), 0
        for turn in range(2 * size + SLIDES_COUNTED):
            if turn == 2 * size:
                before = technique.calls
            technique.insert(chance.randrange(10**9))
            technique.query_many(ranges)
        counted = (technique.calls - before) / SLIDES_COUNTED
        yield {"of": operation.name, "ranges": len(ranges), "technique": make.name, "counted": counted,
               "who": who, "ours": ours}  # fmt: skip


def operations(sizes: Sequence[int] = (16, 64, 256, 1024)) -> Iterator[dict[str, Any]]:
    """Of every technique, how many operations a slide takes, counted; and what the published formula says."""
    for make in TECHNIQUES:
        operation = MAX if AlgebraClass.SEL in make.classes else whole_sum()
        for size in sizes:
            technique, chance = make(operation, [size]), random.Random(SEED)
            for _ in range(2 * size):
                technique.insert(chance.randrange(10**9))
                technique.query(size)
            before = technique.calls
            for _ in range(SLIDES_COUNTED):
                technique.insert(chance.randrange(10**9))
                technique.query(size)
            formula = cost(make, operation, build_shared_plan([Window(size, 1)])).mean
            counted = (technique.calls - before) / SLIDES_COUNTED
            yield {"technique": make.name, "of": operation.name, "n": size, "counted": counted, "formula": formula}
