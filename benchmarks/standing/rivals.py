"""What people use instead: DuckDB from Parquet, and roll-up tables; each stores its answers durably after every slot.

Another contender is another `Rival` in `RIVALS`: it takes slots (`load`, `step`) in a folder of its own, and tells what
it answered (`answers`), which is compared and not timed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.standing.goals import EACH, RECOMPUTED, TOGETHER
from benchmarks.standing.stream import AXIS, GROUPS, PREDICATES, due
from tidewheel.queries.standing.query import Query

# By report: the groups' values, and the outputs in order.
Answers = dict[tuple[str, int], dict[tuple[Any, ...], tuple[Any, ...]]]
_ROLLED = {"count_rows": "n", "sum": "sv", "max": "hi", "min": "lo", "avg": "x"}


class Rival(ABC):
    """One way to keep the answers of the queries up to date, in a folder of its own."""

    name: str
    setting: str
    catches_up = True  # whether it is asked for all reports of a day at once, too

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        folder.mkdir(parents=True)
        self.folder, self.asked = folder, asked

    @abstractmethod
    def load(self, rows: pa.Table, slots: range) -> None:
        """Take slots that nobody asks about yet."""

    @abstractmethod
    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        """Take a slot and give every answer after a moment, durably; how many rows of answers that were."""

    @abstractmethod
    def answers(self) -> Answers:
        """What the last step answered."""

    def close(self) -> None:
        """Let go of what is open; the folder is deleted afterwards."""
        return


class Recomputed(Rival):
    name = RECOMPUTED
    catches_up = False
    setting = "a file per slot sorted as it arrives, those outside the window left out by name; all cores"

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        super().__init__(folder, asked)
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET TimeZone = 'UTC'")
        self._slots: list[int] = []
        self._found: list[tuple[Query, int, pa.Table]] = []

    def load(self, rows: pa.Table, slots: range) -> None:
        bounds = np.searchsorted(rows.column("ins_slot").to_numpy(), [*slots, slots.stop])
        for slot, start, end in zip(slots, bounds, bounds[1:], strict=False):
            self._put(rows.slice(start, end - start), slot)

    def _put(self, rows: pa.Table, slot: int) -> None:
        pq.write_table(rows, self.folder / f"{slot}.parquet", compression="zstd")
        self._slots = sorted({*self._slots, slot})

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self._put(rows, slot)
        self._found = []
        for query, at_us in due(self.asked, since_us, AXIS.end_us(slot)):
            self._found.append((query, at_us, self.connection.sql(self._sql(query, at_us)).to_arrow_table()))
        return _stored(self.folder / f"answers-{slot}.parquet", self._found)

    def _sql(self, query: Query, at_us: int) -> str:
        assert query.terms.window_us is not None
        first_us = at_us - query.terms.window_us
        # A late record lies in a later file.
        first = AXIS.slot_of(first_us)
        files = [f"'{self.folder / f'{slot}.parquet'}'" for slot in self._slots if slot >= first]
        columns = [*(one.name for one in query.groups), *(_plain(query, number) for number in range(len(query.calls)))]
        conditions = [f"moment >= make_timestamptz({first_us})", f"moment < make_timestamptz({at_us})"]
        conditions += [f"({query.where})"] if query.where else []
        return (
            f"SELECT {', '.join(columns)} FROM read_parquet([{', '.join(files)}]) "
            f"WHERE {' AND '.join(conditions)} GROUP BY ALL"
        )

    def answers(self) -> Answers:
        return {(query.name, at_us): _rows(query, table) for query, at_us, table in self._found}


class RolledUp(Rival):
    """A roll-up table for each group-by, by 5 minutes and predicates."""

    name = EACH
    setting = "a database file; a table for each group-by, a row per 5 minutes, group and predicates that hold"

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        super().__init__(folder, asked)
        self.connection = duckdb.connect(str(folder / "rolled.duckdb"))
        self.connection.execute("SET TimeZone = 'UTC'")
        for number, groups in enumerate(GROUPS):
            columns = "".join(f", {one} {'VARCHAR' if one == 'key' else 'BIGINT'}" for one in groups)
            self.connection.execute(
                f"CREATE TABLE rolled_{number} (bucket BIGINT{columns}, holds INTEGER, n BIGINT, sv HUGEINT, "
                "hi BIGINT, lo BIGINT, sx DOUBLE, nx BIGINT)"
            )

    def load(self, rows: pa.Table, slots: range) -> None:
        self.connection.register("rows", rows)
        bits = " + ".join(f"if({text}, {1 << bit}, 0)" for bit, text in enumerate(PREDICATES))
        for number, groups in enumerate(GROUPS):
            listed = "".join(f", {one}" for one in groups)
            self.connection.execute(
                f"INSERT INTO rolled_{number} SELECT epoch_us(moment) // {AXIS.interval_us} AS bucket{listed}, "
                f"{bits} AS holds, count(*), sum(v), max(v), min(v), sum(x), count(x) FROM rows GROUP BY ALL"
            )

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self.connection.execute("BEGIN")
        self.load(rows, range(slot, slot + 1))
        self._found = self._asked(list(due(self.asked, since_us, AXIS.end_us(slot))))
        count = self._kept()
        self.connection.execute("COMMIT")
        return count

    def close(self) -> None:
        self.connection.close()

    def _asked(self, wanted: Sequence[tuple[Query, int]]) -> list[tuple[Query, int, pa.Table]]:
        found = []
        for query, at_us in wanted:
            columns = [*(one.name for one in query.groups), *(_folded(query, n) for n in range(len(query.calls)))]
            sql = f"SELECT {', '.join(columns)} FROM {table_of(query)} WHERE {_inside(query, at_us)} GROUP BY ALL"
            found.append((query, at_us, self.connection.sql(sql).to_arrow_table()))
        return found

    def _kept(self) -> int:
        """Into one table for each kind of row, in the same transaction; answers given again are replaced."""
        total = 0
        for columns, some in groupby(sorted(self._found, key=_shape), key=_shape):
            same = list(some)
            table = "answers_" + "_".join(columns)
            told = [_told(query, at_us, one) for query, at_us, one in same]
            self.connection.register("told", pa.concat_tables(told, promote_options="permissive"))
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM told LIMIT 0")
            names = ", ".join(f"'{query.name}'" for query in {query.name: query for query, _, _ in same}.values())
            first = min(at_us for _, at_us, _ in same)
            self.connection.execute(f"DELETE FROM {table} WHERE query IN ({names}) AND report >= {first}")
            self.connection.execute(f"INSERT INTO {table} FROM told")
            total += sum(one.num_rows for one in told)
        return total

    def answers(self) -> Answers:
        return {(query.name, at_us): _rows(query, table) for query, at_us, table in self._found}


class RolledUpTogether(RolledUp):
    name = TOGETHER
    setting = (
        "as above; one report: every query a filtered aggregate of one scan; many: window expressions over densified "
        "fragments, one per aggregate, predicate and range"
    )

    def _asked(self, wanted: Sequence[tuple[Query, int]]) -> list[tuple[Query, int, pa.Table]]:
        reports = {at_us for _, at_us in wanted}
        if len(reports) > 1:
            return self._windows(wanted)
        found = []
        for table, some in groupby(sorted(wanted, key=lambda one: table_of(one[0])), key=lambda one: table_of(one[0])):
            same = [query for query, _ in some]
            (at_us,) = reports
            columns, keys = list[str](), [one.name for one in same[0].groups]
            for query in same:
                inside = f" FILTER (WHERE {_inside(query, at_us)})"
                columns += [f"{_folded(query, n, inside)}" for n in range(len(query.calls))]
                columns.append(f"sum(n){inside}")
            named = [f"{sql} AS c{number}" for number, sql in enumerate(columns)]
            longest = min(at_us - (query.terms.window_us or 0) for query in same) // AXIS.interval_us
            sql = f"SELECT {', '.join([*keys, *named])} FROM {table} WHERE bucket >= {longest} GROUP BY ALL"
            found += self._apart(same, at_us, self.connection.sql(sql).to_arrow_table())
        return found

    def _apart(self, same: Sequence[Query], at_us: int, table: pa.Table) -> list[tuple[Query, int, pa.Table]]:
        found, number = [], 0
        for query in same:
            mine = list(range(number, number + len(query.calls)))
            number += len(query.calls) + 1
            keys = [one.name for one in query.groups]
            part = table.select([*keys, *(f"c{one}" for one in mine)])
            there = table.column(f"c{number - 1}").is_valid()
            found.append((query, at_us, part.filter(there)))
        return found

    def _windows(self, wanted: Sequence[tuple[Query, int]]) -> list[tuple[Query, int, pa.Table]]:
        found = []
        low, high = (extreme(at_us for _, at_us in wanted) // AXIS.interval_us for extreme in (min, max))
        for table, some in groupby(sorted(wanted, key=lambda one: table_of(one[0])), key=lambda one: table_of(one[0])):
            same = list(some)
            asked = list({query.name: query for query, _ in same}.values())
            keys = [one.name for one in asked[0].groups]
            self._densify(table, keys, low - 1440 // 5, high)
            columns: dict[str, str] = {}
            for query in asked:
                for expression in [*(_over(query, n) for n in range(len(query.calls))), _there(query)]:
                    columns.setdefault(expression, f"c{len(columns)}")
            named = [f"{sql} AS {name}" for sql, name in columns.items()]
            partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE slid AS SELECT (bucket + 1) * {AXIS.interval_us} AS report, "
                f"{', '.join([*keys, *named])} FROM dense WINDOW "
                + ", ".join(f"w{n} AS ({partition}ORDER BY bucket ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
                            for n in sorted({_fragments(query) for query in asked}))
            )  # fmt: skip
            for query in asked:
                mine = [columns[_over(query, n)] for n in range(len(query.calls))]
                after = min(at_us for one, at_us in same if one.name == query.name)
                until = max(at_us for one, at_us in same if one.name == query.name)
                rows = self.connection.sql(
                    f"SELECT {', '.join([*keys, *mine])}, report FROM slid WHERE report BETWEEN {after} AND {until} "
                    f"AND report % {query.terms.slide_us} = 0 AND {columns[_there(query)]} > 0"
                ).to_arrow_table()
                found.append((query, -1, rows))
        return found

    def _densify(self, table: str, keys: Sequence[str], low: int, high: int) -> None:
        masks = {query.where: _mask(query.where) for query in self.asked}
        sums = ["sum(n) FILTER (WHERE {m}) AS n_{k}", "sum(sv) FILTER (WHERE {m}) AS sv_{k}",
                "max(hi) FILTER (WHERE {m}) AS hi_{k}", "min(lo) FILTER (WHERE {m}) AS lo_{k}",
                "sum(sx) FILTER (WHERE {m}) AS sx_{k}", "sum(nx) FILTER (WHERE {m}) AS nx_{k}"]  # fmt: skip
        columns = [one.format(m=mask or "true", k=_suffix(where)) for where, mask in masks.items() for one in sums]
        listed = "".join(f", {one}" for one in keys)
        groups = f"(SELECT DISTINCT {', '.join(keys)} FROM {table})" if keys else "(SELECT 1 AS one)"
        using = ", ".join(["bucket", *keys])
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE dense AS WITH f AS (SELECT bucket{listed}, {', '.join(columns)} "
            f"FROM {table} WHERE bucket >= {low} GROUP BY ALL) "
            f"SELECT * FROM (SELECT bucket{listed} FROM range({low}, {high}) b(bucket), {groups}) "
            f"LEFT JOIN f USING ({using})"
        )

    def answers(self) -> Answers:
        found: Answers = {}
        for query, at_us, table in self._found:
            if at_us >= 0:
                found[query.name, at_us] = _rows(query, table)
                continue
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                keys = len(query.groups)
                found.setdefault((query.name, row[-1]), {})[row[:keys]] = row[keys:-1]
        return found


RIVALS = (Recomputed, RolledUp, RolledUpTogether)


def table_of(query: Query) -> str:
    return f"rolled_{GROUPS.index(tuple(one.name for one in query.groups))}"


def _plain(query: Query, number: int) -> str:
    call = query.calls[number]
    return "count(*)" if call.aggregate == "count_rows" else f"{call.aggregate}({call.arguments[0]})"


def _folded(query: Query, number: int, rest: str = "") -> str:
    column = _ROLLED[query.calls[number].aggregate]
    if column == "x":
        return f"sum(sx){rest} / sum(nx){rest}"
    return f"{'sum' if column in ('n', 'sv') else 'max' if column == 'hi' else 'min'}({column}){rest}"


def _over(query: Query, number: int) -> str:
    column, over, suffix = _ROLLED[query.calls[number].aggregate], f"OVER w{_fragments(query)}", _suffix(query.where)
    if column == "x":
        return f"sum(sx_{suffix}) {over} / sum(nx_{suffix}) {over}"
    fold = "sum" if column in ("n", "sv") else "max" if column == "hi" else "min"
    return f"{fold}({column}_{suffix}) {over}"


def _there(query: Query) -> str:
    return f"sum(n_{_suffix(query.where)}) OVER w{_fragments(query)}"


def _fragments(query: Query) -> int:
    assert query.terms.window_us is not None
    return query.terms.window_us // AXIS.interval_us


def _suffix(where: str) -> int:
    return PREDICATES.index(where) + 1 if where else 0


def _mask(where: str) -> str:
    return f"(holds & {1 << PREDICATES.index(where)}) > 0" if where else ""


def _inside(query: Query, at_us: int) -> str:
    assert query.terms.window_us is not None
    first, last = (at_us - query.terms.window_us) // AXIS.interval_us, at_us // AXIS.interval_us
    mask = _mask(query.where)
    return f"bucket >= {first} AND bucket < {last}" + (f" AND {mask}" if mask else "")


def _rows(query: Query, table: pa.Table) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    keys = len(query.groups)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return {row[:keys]: row[keys:] for row in rows}


def _shape(found: tuple[Query, int, pa.Table]) -> tuple[str, ...]:
    query, _, _ = found
    return (*(one.name for one in query.groups), *(_ROLLED[call.aggregate] for call in query.calls))


def _told(query: Query, at_us: int, table: pa.Table) -> pa.Table:
    names = [*(one.name for one in query.groups), *(f"v{number}" for number in range(len(query.calls)))]
    reports = table.column("report") if at_us < 0 else pa.array([at_us] * table.num_rows, pa.int64())
    columns = {name: table.column(number) for number, name in enumerate(names)}
    return pa.table({"query": pa.array([query.name] * table.num_rows), "report": reports, **columns})


def _stored(path: Path, found: Sequence[tuple[Query, int, pa.Table]]) -> int:
    if not found:
        return 0
    whole = pa.concat_tables([_told(*one) for one in found], promote_options="permissive")
    pq.write_table(whole, path, compression="zstd")
    return int(whole.num_rows)


def same(found: Answers, true: Answers) -> list[str]:
    """Where answers differ, beyond the rounding of floats added up in another order."""
    wrong = [f"{key}: not asked or not answered" for key in found.keys() ^ true.keys()]
    for key in found.keys() & true.keys():
        mine, others = found[key], true[key]
        if mine.keys() != others.keys():
            wrong.append(f"{key}: other groups {sorted(mine.keys() ^ others.keys())[:3]}")
            continue
        wrong += [
            f"{key} {group}: {mine[group]} and {others[group]}"
            for group in mine
            if not _alike(mine[group], others[group])
        ]
    return wrong


def _alike(mine: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(
        one == two or (one is not None and two is not None and abs(float(one) - float(two)) <= 1e-9 * abs(float(two)))
        for one, two in zip(mine, others, strict=True)
    )


def nothing_empty(found: Mapping[tuple[str, int], dict[tuple[Any, ...], tuple[Any, ...]]]) -> Answers:
    """Answers without those of empty windows, which a query without groups has and rivals may leave out."""
    return {key: rows for key, rows in found.items() if any(any(row) for row in rows.values())}
