"""Polars: a roll-up in memory, lazy queries collected together, rolling expressions over densified fragments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.standing import roll_up_sql as sql
from benchmarks.standing.rival import Found, Rival, Unavailable, stored
from benchmarks.standing.rolled_up import DAY_BUCKETS, by
from benchmarks.standing.stream import AXIS, GROUPS, PREDICATES, due
from tidewheel.queries.standing.query import Query

_FOLDS = {"n": "sum", "sv": "sum", "hi": "max", "lo": "min", "sx": "sum", "nx": "sum"}
_NEEDED = {"count_rows": ("n",), "sum": ("sv",), "max": ("hi",), "min": ("lo",), "avg": ("sx", "nx")}


class PolarsRolling(Rival):
    name = "Polars, roll-up and rolling expressions"
    setting = (
        "a roll-up in memory, each slot's also as Parquet; one report: lazy queries collected together; many: "
        "rolling_sum, rolling_max and rolling_min over densified fragments, each expression once; answers as Parquet"
    )

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        super().__init__(folder, asked)
        try:
            import polars
        except ImportError as error:
            raise Unavailable(f"{error}; to race it: uv pip install --group rivals") from error
        self.pl: Any = polars
        self.rolled: list[Any] = [None] * len(GROUPS)

    def load(self, rows: pa.Table, slots: range) -> None:
        pl, frame = self.pl, self.pl.from_arrow(rows)
        conditions = (pl.col("protocol") == 1, pl.col("v") >= 900, pl.col("region") < 5)
        holds = sum(one.cast(pl.Int64) * (1 << bit) for bit, one in enumerate(conditions))
        bucket = pl.col("moment").dt.epoch("us") // AXIS.interval_us
        folds = [pl.len().cast(pl.Int64).alias("n"), pl.col("v").sum().alias("sv"), pl.col("v").max().alias("hi"),
                 pl.col("v").min().alias("lo"), pl.col("x").sum().alias("sx"),
                 pl.col("x").count().cast(pl.Int64).alias("nx")]  # fmt: skip
        frame = frame.with_columns(bucket.alias("bucket"), holds.alias("holds"))
        for number, groups in enumerate(GROUPS):
            new = frame.group_by("bucket", *groups, "holds").agg(folds)
            new.write_parquet(self.folder / f"rolled-{number}-{slots.start}.parquet")
            known = self.rolled[number]
            self.rolled[number] = new if known is None else pl.concat([known, new], rechunk=False)

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self.load(rows, range(slot, slot + 1))
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        buckets = self.pl.col("bucket").is_between(slots.start, slots.stop - 1)
        self.rolled = [one.filter(~buckets) for one in self.rolled]
        self.load(rows, slots)
        return self._answer(slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        wanted = list(due(self.asked, since_us, AXIS.end_us(slot)))
        one = len({at_us for _, at_us in wanted}) == 1
        self.found = self._at_once(wanted) if one else self._slid(wanted)
        return stored(self.folder / f"answers-{slot}.parquet", self.found)

    def _at_once(self, wanted: Sequence[tuple[Query, int]]) -> Found:
        pl, lazy = self.pl, []
        for query, at_us in wanted:
            last = at_us // AXIS.interval_us
            inside = pl.col("bucket").is_between(last - sql.fragments_of(query), last - 1)
            rows = self.rolled[GROUPS.index(sql.groups_of(query))].lazy().filter(inside, *self._holds(query))
            folds = [self._folded(call.aggregate).alias(f"v{number}") for number, call in enumerate(query.calls)]
            groups = sql.groups_of(query)
            lazy.append(rows.group_by(*groups).agg(folds) if groups else rows.select(folds))
        frames = pl.collect_all(lazy)
        return [(query, at_us, frame.to_arrow()) for (query, at_us), frame in zip(wanted, frames, strict=True)]

    def _holds(self, query: Query) -> list[Any]:
        bit = 1 << PREDICATES.index(query.where) if query.where else 0
        return [(self.pl.col("holds") & bit) > 0] if bit else []

    def _folded(self, aggregate: str) -> Any:
        columns = [getattr(self.pl.col(name), _FOLDS[name])() for name in _NEEDED[aggregate]]
        return columns[0] / columns[1] if len(columns) == 2 else columns[0]

    def _slid(self, wanted: Sequence[tuple[Query, int]]) -> Found:
        pl, found = self.pl, list[tuple[Query, int, pa.Table]]()
        for (groups, _), some in by(wanted, lambda one: (sql.groups_of(one[0]), one[0].where)):
            asked = {query.name: query for query, _ in some}
            first, last = (extreme(at for _, at in some) // AXIS.interval_us for extreme in (min, max))
            dense = self._dense(groups, next(iter(asked.values())), first - DAY_BUCKETS, last)
            columns = {(name, sql.fragments_of(query)) for query in asked.values() for name in _needed(query)}
            rolling = [self._rolling(name, count, groups).alias(f"{name}_{count}") for name, count in columns]
            report = ((pl.col("bucket") + 1) * AXIS.interval_us).alias("report")
            slid = dense.lazy().select(*groups, report, *rolling).filter(pl.col("report") >= first * AXIS.interval_us)
            found += self._taken(slid.collect(), list(asked.values()), some)
        return found

    def _taken(self, slid: Any, asked: Sequence[Query], wanted: Sequence[tuple[Query, int]]) -> Found:
        pl, lazy = self.pl, []
        for query in asked:
            count, first = sql.fragments_of(query), min(at for one, at in wanted if one.name == query.name)
            outputs = []
            for number, call in enumerate(query.calls):
                columns = [pl.col(f"{name}_{count}") for name in _NEEDED[call.aggregate]]
                value = columns[0] / columns[1] if len(columns) == 2 else columns[0]
                outputs.append(value.alias(f"v{number}"))
            rows = slid.lazy().filter(
                pl.col("report") >= first, pl.col("report") % query.terms.slide_us == 0, pl.col(f"n_{count}") > 0
            )
            lazy.append(rows.select(*sql.groups_of(query), *outputs, "report"))
        frames = pl.collect_all(lazy)
        return [(query, -1, frame.to_arrow()) for query, frame in zip(asked, frames, strict=True)]

    def _dense(self, groups: Sequence[str], query: Query, low: int, high: int) -> Any:
        pl = self.pl
        rows = self.rolled[GROUPS.index(tuple(groups))].lazy().filter(pl.col("bucket") >= low)
        folds = [getattr(pl.col(name), fold)() for name, fold in _FOLDS.items()]
        folded = rows.filter(*self._holds(query)).group_by("bucket", *groups).agg(folds)
        grid = pl.LazyFrame({"bucket": range(low, high)}, schema={"bucket": pl.Int64})
        if groups:
            grid = rows.select(*groups).unique().join(grid, how="cross")
        dense = grid.join(folded, on=["bucket", *groups], how="left").sort(*groups, "bucket")
        return dense.collect()

    def _rolling(self, name: str, count: int, groups: Sequence[str]) -> Any:
        column = self.pl.col(name)
        rolled = getattr(column, f"rolling_{_FOLDS[name]}")(count, min_samples=1)
        return rolled.over(*groups) if groups else rolled


def _needed(query: Query) -> set[str]:
    """The columns of a roll-up that a query's outputs are made of, and the count that tells whether there are any."""
    return {"n", *(name for call in query.calls for name in _NEEDED[call.aggregate])}
