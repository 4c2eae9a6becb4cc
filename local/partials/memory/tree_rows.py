"""The partial rows of one tree in memory, a piece for each file: as a grid, as a table, or joined to what a few windows
need. So a refresh with few windows goes through arrays that are there, and sorts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.local.partials.memory.file_rows import CELLS_MIN, CELLS_PER_ROW_MAX, EXPIRES, Groups, Piece, Ways
from tidewheel.local.partials.memory.tree_grid import TreeGrid
from tidewheel.queries.kernels.arrays import Whole
from tidewheel.queries.kernels.condensing import Chosen


@dataclass(frozen=True)
class TreeRows:
    """The rows of a tree that are alive: those that expire after the watermark."""

    schema: pa.Schema
    pieces: Sequence[Piece]
    watermark: int | None = None
    groups: dict[tuple[str, ...], Groups] = field(default_factory=dict)
    grid: TreeGrid = field(default_factory=TreeGrid)

    def __len__(self) -> int:
        return sum(piece.rows.num_rows for piece in self.pieces)

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
    ) -> pa.Table | None:
        """Rows joined where no edge lies between them: of a predicate, of what expires later. None: it cannot be done,
        or too much may come out.

        `edges` are fragments, ascending; what lies before the first or behind the last is left out. The rows come by
        ascending fragment.
        """
        known = self.groups.setdefault(tuple(groups), Groups())
        numbers = [piece.numbers(groups, known) for piece in self.pieces]
        segments, count = len(edges) - 1, len(self)
        cells = len(known) * segments
        if not count or cells > max(CELLS_MIN, CELLS_PER_ROW_MAX * count):
            return None
        present, totals = np.zeros(cells, bool), {name: way(cells) for name, way in ways.items()}
        for piece, mine in zip(self.pieces, numbers, strict=True):
            chosen = self._chosen(piece, mine, len(known), edges, bit, alive_after)
            present[chosen.cells] = True
            if not _is_added(piece, chosen, ways, totals):
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


def _is_added(piece: Piece, chosen: Chosen, ways: Ways, totals: Mapping[str, Any]) -> bool:
    """Add the chosen rows of a piece to the totals; False if that cannot be done exactly."""
    for name, way in ways.items() if len(chosen.rows) else ():
        values = piece.values(name, way)
        if values is None:
            return False
        totals[name].add(values, chosen)
    return all(total.is_exact for total in totals.values())
