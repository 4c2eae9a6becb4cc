"""`python -m benchmarks.literature.kept_states`: one slide of a query by kernels, and by techniques.

A refresh with one new fragment: by kernels over the partials of the whole window; by a technique that begins anew with
the window's first; by one that goes on from the state that the last refresh kept, which is read before, and written to
a file after. Milliseconds, the least of a few; only ratios within one run mean anything. Integers from a seed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.answers.by_kernels import KernelFolder
from tidewheel.local.answers.by_technique import TechniqueFolder
from tidewheel.local.partials.fold import PartialBuilder, aggregate_of
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.queries.choice import TECHNIQUES, fitting
from tidewheel.queries.operation import Operation
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import Tree, assigned
from tidewheel.queries.technique import Technique
from tidewheel.queries.value_text import value_of, value_text
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query
from tidewheel.storage.location import Location

SEED = 7
MINUTE_US = 60_000_000
COLUMNS = {"k": "BIGINT", "v": "BIGINT", "t": "TIMESTAMP WITH TIME ZONE"}
TIMES = 3
AGGREGATES = ("sum", "max", "gcd")


@dataclass(frozen=True)
class Slide:
    """Groups with a partial in every minute of the window, and one answer asked of them."""

    aggregate: str
    groups: int
    size: int

    @cached_property
    def query(self) -> Query:
        text = (
            f'[query]\nname = "q"\nof = "m"\ntime = "t"\nselect = "{self.aggregate}(v) as v"\ngroup_by = ["k"]\n'
            f'window = "{self.size}m"\nslide = "1m"\nkeep = "400d"\nrevise = "400d"'
        ).replace("\\\n", "\n")
        query, faults = read_query(SelectParser(COLUMNS), parse_query_file(text, "q.toml")[0])
        assert query is not None, faults
        return query

    @cached_property
    def tree(self) -> Tree:
        return assigned([self.query], MINUTE_US).tree("q")

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(":memory:")
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    @cached_property
    def rows(self) -> pa.Table:
        """The partials of one more minute than the window has."""
        chance, minutes = random.Random(SEED), self.size + 1
        count = minutes * self.groups
        table = {
            "k": pa.array([place % self.groups for place in range(count)], pa.int64()),
            "v": pa.array([chance.randrange(1, 10**6) for _ in range(count)], pa.int64()),
            "t": pa.array([place // self.groups * MINUTE_US for place in range(count)], pa.timestamp("us", "UTC")),
        }
        table["ins_slot"] = pa.array([self.size] * count, pa.int64())
        return PartialBuilder(self.tree, TimeAxis(MINUTE_US), self.connection).build(pa.table(table), 0)

    @property
    def operation(self) -> Operation:
        """The one that tells which techniques fit."""
        return aggregate_of(self.query.calls[0]).operations[-1]

    def by_kernels(self) -> float:
        due = {"q": [DueReport((self.size + 1) * MINUTE_US, 1.0)]}
        rows = TreeRows.of(self.rows)
        return least_ms(lambda: list(KernelFolder(self.tree, TimeAxis(MINUTE_US), self.connection, rows)
                                     .fold([self.query], due)))  # fmt: skip

    def by_technique(self, technique: type[Technique]) -> tuple[float, float, int]:
        """Begun anew, gone on from what was kept, and how many bytes that has."""
        query = replace(self.query, technique=technique.name)
        columns = KernelFolder(self.tree, TimeAxis(MINUTE_US), self.connection, TreeRows.of(self.rows)).columns
        folder = TechniqueFolder(query, self.tree, self.rows, columns, technique)
        last = DueReport((self.size + 1) * MINUTE_US, 1.0)
        _, streams = folder.called([DueReport(self.size * MINUTE_US, 1.0)])
        kept = value_text(streams.state())
        with tempfile.TemporaryDirectory() as place:
            location = Location.of(place)
            path = location.child("state")
            location.write_bytes(path, kept.encode())

            def carried_on() -> None:
                state = value_of(location.read_bytes(path).decode())
                _, moved = folder.called([last], state)
                location.write_bytes(f"{path}.new", value_text(moved.state()).encode())

            return least_ms(lambda: folder.called([last])), least_ms(carried_on), len(kept)


def least_ms(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - begun))
    return min(times)


def lines(groups: Sequence[int], sizes: Sequence[int]) -> Iterator[str]:
    yield f"{'':22}{'groups':>8}{'n':>8}{'kernels':>10}{'anew':>10}{'kept':>10}{'kept kB':>10}"
    for aggregate in AGGREGATES:
        for count in groups:
            for size in sizes:
                slide = Slide(aggregate, count, size)
                kernels = slide.by_kernels()
                operation = slide.operation
                for technique in TECHNIQUES:
                    if technique in fitting(operation, [size]):
                        anew, kept, held = slide.by_technique(technique)
                        yield (
                            f"{aggregate + ' ' + technique.name:22}{count:8,}{size:8,}{kernels:10.1f}{anew:10.1f}"
                            f"{kept:10.1f}{held / 1000:10.1f}"
                        )


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.literature.kept_states", description=__doc__)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 100], help="groups with a partial in every minute")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 1024], help="partials in a window")
    arguments = parser.parse_args(given)
    for line in lines(arguments.groups, arguments.sizes):
        print(line, flush=True)


if __name__ == "__main__":
    main()
