"""The partial rows of one tree in memory, a piece for each file: as a table, or joined to what a few windows need.

A piece is read once: its groups become numbers, its accumulators arrays of numbers. So a refresh with few windows goes
through arrays that are there, and sorts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.kernels.joining import Chosen, Joined
from tidewheel.queries.kernels.partials import coded

EXPIRES = "exp_slot"
# Beyond so many cells for each row, sorting is cheaper.
CELLS_PER_ROW_MAX = 4
CELLS_MIN = 100_000
Ways = Mapping[str, type[Joined]]  # by accumulator's column, how it is joined


class Groups:
    """Numbers for the different groups of some columns, in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._tables: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers_of(self, columns: Mapping[str, Any], rows: int) -> Whole:
        """The number of each row's group."""
        distinct, codes = coded(columns, rows)
        known, values = len(self._numbers), zip(*map(_comparable, distinct.columns), strict=True)
        numbers = np.array([self._numbers.setdefault(value, len(self._numbers)) for value in values], np.int64)
        (new,) = np.nonzero(numbers >= known)
        if len(new):
            self._tables.append(distinct.take(pa.array(new)))
        return numbers[codes]

    def taken(self, numbers: Whole) -> pa.Table:
        """The groups of these numbers."""
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0].take(pa.array(numbers))


def _comparable(column: pa.ChunkedArray) -> list[Any]:
    """Moments as numbers: not every one of them is a moment to Python."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return list(column.cast(pa.int64()).to_pylist())
    return list(column.to_pylist())


@dataclass(frozen=True)
class Piece:
    """The rows of one file, by ascending fragment."""

    rows: pa.Table
    _read: dict[tuple[str, type[Joined]], Any] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], tuple[Groups, Whole]] = field(default_factory=dict)

    @staticmethod
    def of(rows: pa.Table) -> Piece:
        fragments = int64s(rows.column("fragment"))
        if (fragments[1:] < fragments[:-1]).any():
            rows = rows.take(pa.array(np.argsort(fragments, kind="stable")))
        return Piece(rows.combine_chunks())

    @cached_property
    def fragments(self) -> Whole:
        return int64s(self.rows.column("fragment"))

    @cached_property
    def signatures(self) -> Whole:
        return int64s(self.rows.column("signature"))

    @cached_property
    def expirations(self) -> Whole:
        return int64s(self.rows.column("expiration"))

    @cached_property
    def expires(self) -> Whole:
        return int64s(self.rows.column(EXPIRES))

    def values(self, column: str, way: type[Joined]) -> Any:
        """A column of accumulators as they are joined; None if they cannot be."""
        if (column, way) not in self._read:
            self._read[column, way] = way.read(_array(self.rows.column(column)))
        return self._read[column, way]

    def numbers(self, names: Sequence[str], groups: Groups) -> Whole:
        """The number of each row's group."""
        known = self._numbers.get(tuple(names))
        if known is None or known[0] is not groups:
            columns = {name: self.rows.column(name) for name in names}
            known = self._numbers[tuple(names)] = groups, groups.numbers_of(columns, self.rows.num_rows)
        return known[1]


@dataclass(frozen=True)
class TreeRows:
    """The rows of a tree that are alive: those that expire after the watermark."""

    schema: pa.Schema
    pieces: Sequence[Piece]
    watermark: int | None = None
    groups: dict[tuple[str, ...], Groups] = field(default_factory=dict)

    @staticmethod
    def of(rows: pa.Table) -> TreeRows:
        return TreeRows(rows.schema, [Piece.of(rows)] if rows.num_rows else [])

    @cached_property
    def table(self) -> pa.Table:
        """All of them, in any order."""
        kept = [name for name in self.schema.names if name != EXPIRES]
        rows = [self.schema.empty_table(), *(piece.rows for piece in self.pieces)]
        if self.watermark is not None:
            rows = [one.filter(pc.field(EXPIRES) > self.watermark) for one in rows]
        return pa.concat_tables([one.select(kept) for one in rows])

    def joined(
        self,
        groups: Sequence[str],
        ways: Ways,
        edges: Whole,
        bit: int | None = None,
        alive_after: int | None = None,
        share_max: float = CELLS_PER_ROW_MAX,
    ) -> pa.Table | None:
        """Rows joined where no edge lies between them: of a predicate, of what expires later. None: it cannot be done,
        or what comes out may be more than a share of the rows.

        `edges` are fragments, ascending; what lies before the first or behind the last is left out. The rows come by
        ascending fragment.
        """
        known = self.groups.setdefault(tuple(groups), Groups())
        numbers = [piece.numbers(groups, known) for piece in self.pieces]
        segments, count = len(edges) - 1, sum(piece.rows.num_rows for piece in self.pieces)
        cells = len(known) * segments
        if not count or cells > max(CELLS_MIN if share_max > 1 else 0, share_max * count):
            return None
        present, totals = np.zeros(cells, bool), {name: way(cells) for name, way in ways.items()}
        for piece, mine in zip(self.pieces, numbers, strict=True):
            chosen = self._chosen(piece, mine, len(known), edges, bit, alive_after)
            present[chosen.cells] = True
            for name, way in ways.items() if len(chosen.rows) else ():
                values = piece.values(name, way)
                if values is None:
                    return None
                totals[name].add(values, chosen)
        if not all(total.is_exact for total in totals.values()):
            return None
        (places,) = np.nonzero(present)
        segment, number = np.divmod(places, len(known))
        columns = dict(zip(groups, known.taken(number).columns, strict=True)) if groups else {}
        columns["fragment"] = pa.array(edges[segment])
        columns |= {name: total.column(places, self.schema.field(name).type) for name, total in totals.items()}
        return pa.table(columns)

    def _chosen(
        self, piece: Piece, numbers: Whole, groups: int, edges: Whole, bit: int | None, alive_after: int | None
    ) -> Chosen:
        bounds = np.searchsorted(piece.fragments, edges)
        rows = np.arange(bounds[0], bounds[-1])
        cells = numbers[rows] + groups * np.repeat(np.arange(len(edges) - 1), np.diff(bounds))
        kept = np.ones(len(rows), bool)
        if bit is not None:
            kept &= (piece.signatures[rows] & bit) != 0
        if alive_after is not None:
            kept &= piece.expirations[rows] > alive_after
        if self.watermark is not None:
            kept &= piece.expires[rows] > self.watermark
        if not kept.all():
            rows, cells = rows[kept], cells[kept]
        return Chosen(rows, cells, piece.rows.num_rows)


def _array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
