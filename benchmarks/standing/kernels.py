"""The kernel race: one sliding window over many values, ours against the libraries that people slide windows with.

Nanoseconds an answer, of the wall clock, as several use all cores, the better of two runs; whole numbers from a seed,
every window of a length. Everyone is handed the values in the form that suits it best, and may answer in its own. Ours
is told the window, as the others are; or, *a list*, makes the list of its spans, in which it finds that they slide.
Each answer is compared with numpy's own fold of some windows. Who takes long is given fewer values, said in the table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.standing.operations import RANGES, SEED, many_operations, operations
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.prefix_sums import run_sums, span_sums
from tidewheel.queries.kernels.runs import Run
from tidewheel.queries.kernels.sliding import slid
from tidewheel.queries.kernels.van_herk import blockwise
from tidewheel.queries.kernels.winners import selected

RUNS = 2
LONGEST = 1 << 16  # of many ranges
MOST, LESS = 10_000_000, 1_000_000  # values
Values = Any
# Folded by numpy itself, the judge of all.
JUDGES: Mapping[str, Callable[[Any], Any]] = {
    "sum": np.sum, "max": np.max, "arg_max": np.max, "stddev": lambda some: np.std(some, ddof=1),
}  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """What is asked of whom; `slide` takes what `given` made of the values, and the length of the window.

    It answers for each window, those at the beginning that are not whole perhaps among them.
    """

    what: str
    who: str
    slide: Callable[[Any, int], Any]
    given: Callable[[Values], Any] = lambda values: values
    rows: int = MOST


def kernel_race(rows: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Everyone at every length."""
    values = np.random.default_rng(SEED).integers(0, 10**6, rows)
    found = []
    for one in _contenders():
        times = _times(one, values[: one.rows], sizes)
        found.append({"what": one.what, "who": one.who, "rows": min(rows, one.rows), "ns": times})
    return {
        "rows": rows,
        "sizes": list(sizes),
        "slides": found,
        "many_ranges": list(_many_ranges(values[: max(rows // 40, 3 * LONGEST)])),
        "operations": list(operations()),
        "many_operations": list(many_operations()),
    }


def _times(one: Contender, values: Values, sizes: Sequence[int]) -> list[float | None]:
    given, found = one.given(values), list[float | None]()
    for size in sizes:
        if size > len(values) // 2:
            found.append(None)
            continue
        spent, answers = _best(partial(one.slide, given, size))
        whole = np.asarray(answers)[len(answers) - (len(values) - size + 1) :]
        _judge(one.what, values, size, whole)
        found.append(1e9 * spent / len(whole))
    return found


def _best(run: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of the better run, and its answers."""
    times, answers = [], None
    for _ in range(RUNS):
        begun = perf_counter()
        answers = run()
        times.append(perf_counter() - begun)
    return min(times), answers


def _judge(what: str, values: Values, size: int, answers: Any) -> None:
    chance, last = random.Random(SEED), len(values) - size
    assert len(answers) == last + 1, (what, size, len(answers))
    for start in (0, last, *(chance.randrange(last + 1) for _ in range(8))):
        true, given = JUDGES[what](values[start : start + size]), answers[start]
        assert abs(float(given) - float(true)) <= 1e-6 * abs(float(true)), (what, size, start, given, true)


def _contenders() -> Iterator[Contender]:
    """Ours, and of the others those that are there."""
    yield Contender("sum", "ours, prefix sums", lambda values, n: run_sums(values, [_run(values, n)]))
    yield Contender("sum", "ours, prefix sums, a list", lambda values, n: span_sums(values, *_spans(values, n)))
    yield Contender("max", "ours, doubling", lambda values, n: slid(np.maximum, values, [_run(values, n)]))
    yield Contender("max", "ours, doubling, a list", lambda values, n: doubled(np.maximum, values, *_spans(values, n)))
    yield Contender("max", "ours, blocks, a list", lambda values, n: blockwise(np.maximum, values, *_spans(values, n)))
    yield Contender("arg_max", "ours, packed, doubling, a list", _our_arg_max, _arg_max_columns, LESS)
    yield Contender("stddev", "ours, prefix sums of squares", _our_stddev)
    if polars := _there("polars"):
        for what, name in (("sum", "rolling_sum"), ("max", "rolling_max"), ("stddev", "rolling_std")):
            yield Contender(what, "Polars", _method(name), polars.Series)
    if bottleneck := _there("bottleneck"):
        for what, name in (("sum", "move_sum"), ("max", "move_max")):
            yield Contender(what, "bottleneck", getattr(bottleneck, name), _floats)
        yield Contender("arg_max", "bottleneck", _bottleneck_arg_max(bottleneck), _floats)
        yield Contender("stddev", "bottleneck", lambda values, n: bottleneck.move_std(values, n, ddof=1), _floats)
    if pandas := _there("pandas"):
        for what, name in (("sum", "sum"), ("max", "max"), ("stddev", "std")):
            yield Contender(what, "pandas", _pandas(name), lambda values: pandas.Series(values.astype(np.float64)))
    if filters := _there("scipy.ndimage"):
        yield Contender("max", "scipy", _scipy(filters.maximum_filter1d))
    for what, sql in (("sum", "sum(v)"), ("max", "max(v)"), ("arg_max", "arg_max(v, v)"), ("stddev", "stddev_samp(v)")):
        yield Contender(what, "DuckDB window", _duckdb(sql), _duckdb_table, LESS)


def _there(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _run(values: Values, n: int) -> Run:
    return Run(place=0, count=len(values) - n + 1, first=0, length=n, step=1)


def _spans(values: Values, n: int) -> tuple[Any, Any]:
    start = np.arange(len(values) - n + 1)
    return start, start + n


def _arg_max_columns(values: Values) -> Any:
    """The value where the value is largest, the newest of equal ones."""
    given = pa.array(values)
    return {"value": given, "by": given, "at": pa.array(np.arange(len(values)))}


def _our_arg_max(columns: Any, n: int) -> Any:
    return selected("arg_max", columns, *_spans(columns["at"], n))


def _our_stddev(values: Values, n: int) -> Any:
    """Of whole numbers, from their sums and those of their squares: exact until the division."""
    sums, squares = (run_sums(some, [_run(values, n)]).astype(float) for some in (values, values * values))
    return np.sqrt(np.maximum(squares - sums * sums / n, 0) / (n - 1))


def _floats(values: Values) -> Any:
    return values.astype(np.float64)


def _method(name: str) -> Callable[[Any, int], Any]:
    return lambda series, n: getattr(series, name)(n)


def _bottleneck_arg_max(bottleneck: Any) -> Callable[[Any, int], Any]:
    """It tells how far back the largest is."""
    return lambda values, n: values[
        np.arange(n - 1, len(values)) - bottleneck.move_argmax(values, n)[n - 1 :].astype(np.int64)
    ]


def _pandas(name: str) -> Callable[[Any, int], Any]:
    return lambda series, n: getattr(series.rolling(n), name)()


def _scipy(maximum: Any) -> Callable[[Any, int], Any]:
    return lambda values, n: maximum(values, n, origin=(n - 1) // 2)  # windows that end with their value


def _duckdb_table(values: Values) -> Any:
    connection = duckdb.connect(":memory:")
    connection.register("rows", pa.table({"i": np.arange(len(values)), "v": values}))
    connection.execute("CREATE TABLE given AS SELECT * FROM rows")
    return connection


def _duckdb(sql: str) -> Callable[[Any, int], Any]:
    def slide(connection: Any, n: int) -> Any:
        frame = f"OVER (ORDER BY i ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
        return connection.sql(f"SELECT {sql} {frame} AS a FROM given ORDER BY i").fetchnumpy()["a"]

    return slide


# Many ranges at every slide.


def _many_ranges(values: Values) -> Iterator[dict[str, Any]]:
    """64 ranges, each at every slide, one after another as queries are answered that have a day to catch up."""
    longest = min(LONGEST, len(values) // 2)
    ranges = np.unique(np.geomspace(16, longest, RANGES).astype(np.int64)).tolist()
    slides = len(values) - longest
    runs = [Run(place * slides, slides, longest - n, n, 1) for place, n in enumerate(ranges)]
    ends = np.tile(np.arange(longest, len(values)), len(ranges))
    spans = ends - np.repeat(ranges, slides), ends
    ways: list[tuple[str, str, Callable[[], Any]]] = [
        ("sum", "ours, prefix sums", partial(run_sums, values, runs)),
        ("sum", "ours, prefix sums, a list", partial(span_sums, values, *spans)),
        ("max", "ours, doubling", partial(slid, np.maximum, values, runs)),
        ("max", "ours, doubling, a list", partial(doubled, np.maximum, values, *spans)),
    ]
    if polars := _there("polars"):
        frame = polars.DataFrame({"v": values}).lazy()
        for what in ("sum", "max"):
            asked = [getattr(polars.col("v"), f"rolling_{what}")(n).alias(str(n)) for n in ranges]
            ways.append((what, "Polars", frame.select(asked).slice(longest).collect))
    for what, who, way in ways:
        yield {"what": what, "who": who, "ns": 1e9 * _best(way)[0] / len(ends)}
