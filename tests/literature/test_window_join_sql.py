"""The set-oriented form of lazy runs is SQL that DuckDB runs, and gives what the loops give (P7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import duckdb
import pytest

from tests.support.models.window_joins import arrivals_of, join_of, random_arrivals, vector
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.lazy import Lazy
from tidewheel.queries.literature.joins.lazy_restore import LazyRestore
from tidewheel.queries.literature.joins.playing import play_by_run
from tidewheel.queries.literature.joins.set_oriented import decomposed, one_shot
from tidewheel.queries.literature.joins.window_join import Arrival, Result, WindowJoin, time_windows

FORMS = [decomposed, one_shot]


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        yield connection


def _store(engine: duckdb.DuckDBPyConnection, count: int, arrivals: list[Arrival]) -> None:
    for stream in range(count):
        engine.execute(f"create or replace table s{stream + 1} (id varchar, ts integer, exp integer, key varchar)")
        rows = [(one.id[0], one.ts, one.exp, str(one.values[0])) for place, one in arrivals if place == stream]
        if rows:
            engine.executemany(f"insert into s{stream + 1} values (?, ?, ?, ?)", rows)


def _reported(
    engine: duckdb.DuckDBPyConnection, form: Callable[..., str], count: int, restore: bool, now: int, slide: int
) -> Counter[Any]:
    rows = engine.execute(form(count, restore=restore), {"prev": now - slide, "now": now}).fetchall()
    return Counter((tuple(row[0 : 2 * count : 2]), *row[2 * count :]) for row in rows)


def _looped(results: list[Result]) -> Counter[Any]:
    return Counter((one.ids, one.ts, one.exp, one.restored) for one in results)


def _compare(engine: duckdb.DuckDBPyConnection, join: WindowJoin, arrivals: list[Arrival], slide: int) -> None:
    count, until = len(join.windows), max((one.record.ts for one in arrivals), default=0) + slide
    _store(engine, count, arrivals)
    for loops in (LazyRestore(join, slide), Lazy(join, slide, loses=True)):
        restore = isinstance(loops, LazyRestore)
        for now, results in play_by_run(loops, arrivals, range(slide, until + 1, slide)):
            for form in FORMS:
                assert _reported(engine, form, count, restore, int(now), slide) == _looped(results), (form, now)


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W4"])
def test_vectors_as_sql(engine: duckdb.DuckDBPyConnection, name: str) -> None:
    one = vector(name)
    _compare(engine, join_of(one), arrivals_of(one), one["slide"])


def test_random_joins_as_sql(engine: duckdb.DuckDBPyConnection) -> None:
    for seed in range(12):
        chance = Random(seed)
        lengths = [chance.randint(2, 8) for _ in range(chance.choice((2, 2, 3)))]
        join = time_windows(*lengths, layout="calendar", order=tuple(chance.sample(range(len(lengths)), len(lengths))))
        arrivals = random_arrivals(chance, join, 10, 2, variable=seed % 2 == 0)
        _compare(engine, join, arrivals, chance.randint(2, 6))


@pytest.mark.parametrize("form", FORMS)
def test_sql_of_one_stream_is_refused(form: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="at least two"):
        form(1, restore=True)
