"""Roll-up tables in a DuckDB file, and three ways to answer from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.standing import roll_up_sql as sql
from benchmarks.standing.goals import EACH, PREFIXES, TOGETHER
from benchmarks.standing.rival import Found, Rival, told
from benchmarks.standing.stream import AXIS, GROUPS, due
from tidewheel.queries.standing.query import Query

Wanted = Sequence[tuple[Query, int]]
One = TypeVar("One")
DAY_BUCKETS = 288


class RolledUp(Rival):
    """A roll-up table for each group-by, by 5 minutes and predicates."""

    name = EACH
    setting = "a database file; a table for each group-by, a row per 5 minutes, group and predicates that hold"

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        super().__init__(folder, asked)
        self.connection = duckdb.connect(str(folder / "rolled.duckdb"))
        self.connection.execute("SET TimeZone = 'UTC'")
        self.create()

    def create(self) -> None:
        for number, groups in enumerate(GROUPS):
            columns = "".join(f", {one} {'VARCHAR' if one == 'key' else 'BIGINT'}" for one in groups)
            self.connection.execute(
                f"CREATE TABLE rolled_{number} (bucket BIGINT{columns}, holds INTEGER, n BIGINT, sv HUGEINT, "
                "hi BIGINT, lo BIGINT, sx DOUBLE, nx BIGINT)"
            )

    def load(self, rows: pa.Table, slots: range) -> None:
        self.connection.register("rows", rows)
        for number in range(len(GROUPS)):
            rolled = sql.rolled(number, "rows", f"epoch_us(moment) // {AXIS.interval_us}")
            self.connection.execute(f"INSERT INTO rolled_{number} {rolled}")

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self.connection.execute("BEGIN")
        self.load(rows, range(slot, slot + 1))
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        self.connection.execute("BEGIN")
        for number in range(len(GROUPS)):
            self.connection.execute(
                f"DELETE FROM rolled_{number} WHERE bucket BETWEEN {slots.start} AND {slots.stop - 1}"
            )
        self.load(rows, slots)
        return self._answer(slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        self.found = self.asked_of(list(due(self.asked, since_us, AXIS.end_us(slot))))
        count = self.kept()
        self.connection.execute("COMMIT")
        return count

    def close(self) -> None:
        self.connection.close()

    def rows_of(self, text: str) -> pa.Table:
        """The rows of a SELECT."""
        return self.connection.sql(text).to_arrow_table()

    def asked_of(self, wanted: Wanted) -> Found:
        return [(query, at_us, self.rows_of(sql.one_report(query, at_us))) for query, at_us in wanted]

    def kept(self) -> int:
        """Into one table for each kind of row, in the same transaction; answers given again are replaced."""
        total = 0
        for columns, same in by(self.found, lambda one: sql.shape_of(one[0])):
            table = "answers_" + "_".join(columns)
            rows = pa.concat_tables([told(*one) for one in same], promote_options="permissive")
            self.connection.register("told", rows)
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM told LIMIT 0")
            names = ", ".join(f"'{name}'" for name in {query.name for query, _, _ in same})
            first = pc.min(rows.column("report")).as_py() or 0
            self.connection.execute(f"DELETE FROM {table} WHERE query IN ({names}) AND report >= {first}")
            self.connection.execute(f"INSERT INTO {table} FROM told")
            total += rows.num_rows
        return total


class RolledUpTogether(RolledUp):
    name = TOGETHER
    setting = (
        "as above; one report: every query a filtered aggregate of one scan; many: window expressions over densified "
        "fragments, one per aggregate, predicate and range"
    )

    def asked_of(self, wanted: Wanted) -> Found:
        moments = {at_us for _, at_us in wanted}
        found: Found = []
        for table, same in by(wanted, lambda one: sql.table_of(one[0])):
            if len(moments) > 1:
                found += self.windows(table, same)
            else:
                (at_us,) = moments
                queries = [query for query, _ in same]
                found += apart(queries, at_us, self.rows_of(sql.one_report_of_all(queries, at_us)))
        return found

    def windows(self, table: str, same: Wanted) -> Found:
        """Every report of one group-by's queries."""
        asked = list({query.name: query for query, _ in same}.values())
        self.densify(table, asked, same)
        columns = sql.expressions(asked)
        self.made("slid", sql.slid(asked, columns))
        found: Found = []
        for query, first, last in spans(asked, same):
            outputs = [columns[sql.over(query, n)] for n in range(len(query.calls))]
            found.append((query, -1, self.rows_of(sql.reports(query, outputs, columns[sql.there(query)], first, last))))
        return found

    def densify(self, table: str, asked: Sequence[Query], same: Wanted) -> None:
        first, last = (extreme(at_us for _, at_us in same) // AXIS.interval_us for extreme in (min, max))
        low = first - DAY_BUCKETS
        self.made("dense", sql.densified(table, sql.groups_of(asked[0]), asked, low, self.buckets(low, last)))

    def made(self, name: str, text: str) -> None:
        """A table of a name, from a SELECT, for as long as it is needed."""
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}")

    def buckets(self, low: int, high: int) -> str:
        return f"(SELECT range AS bucket FROM range({low}, {high}))"


class Prefixes(RolledUpTogether):
    name = PREFIXES
    setting = "as above; many reports: sums from the beginning over densified fragments, joined with themselves"

    @classmethod
    def takes(cls, query: Query) -> bool:
        return all(call.aggregate in sql.SUMS for call in query.calls)

    def windows(self, table: str, same: Wanted) -> Found:
        asked = list({query.name: query for query, _ in same}.values())
        self.densify(table, asked, same)
        self.made("summed", sql.prefixes(asked))
        return [(query, -1, self.rows_of(sql.differences(query, first, last)))
                for query, first, last in spans(asked, same)]  # fmt: skip


def spans(asked: Sequence[Query], wanted: Wanted) -> Iterator[tuple[Query, int, int]]:
    """Each query with its first report and its last."""
    reports: dict[str, list[int]] = {}
    for query, at_us in wanted:
        reports.setdefault(query.name, []).append(at_us)
    for query in asked:
        yield query, min(reports[query.name]), max(reports[query.name])


def apart(same: Sequence[Query], at_us: int, table: pa.Table) -> Found:
    """The answers of each query, out of the columns of all."""
    found: Found = []
    number = 0
    for query in same:
        mine = [f"c{number + place}" for place in range(len(query.calls))]
        number += len(query.calls) + 1
        rows = table.select([*sql.groups_of(query), *mine])
        found.append((query, at_us, rows.filter(table.column(f"c{number - 1}").is_valid())))
    return found


def by(some: Iterable[One], key: Callable[[One], Any]) -> list[tuple[Any, list[One]]]:
    """Those with the same key together."""
    return [(value, list(found)) for value, found in groupby(sorted(some, key=key), key=key)]
