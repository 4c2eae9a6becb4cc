"""A tree's partial rows in a grid that follows them: what a commit brings is added, and nothing is read twice.

Rows that expire leave at the older end. Where other rows went, what lies between the first and the last of them is
filled again. Where that is much of the grid, or there is no room for rows that came, it is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidewheel.local.partials.memory.file_rows import CELLS_MIN, CELLS_PER_ROW_MAX, Groups, Piece, Ways
from tidewheel.queries.kernels.arrays import Whole
from tidewheel.queries.kernels.grids import Grid, RollUp
from tidewheel.queries.kernels.partials import coded

CELLS_MAX = 4_000_000
SIGNATURE = "signature"
NEVER = 1 << 62
# Of a grid's fragments, how many are filled again before all of it is.
CLEARED_SHARE_MAX = 0.5


@dataclass
class TreeGrid:
    """The grid of one tree, kept from refresh to refresh."""

    grid: Grid | None = None
    groups: Groups = field(default_factory=Groups)
    _ways: Ways | None = None
    _refused: int = 0  # how often there would have been too many cells, since there was a grid
    _watermark: int | None = None
    _pieces: dict[int, Piece] = field(default_factory=dict)  # that are in the grid, by identity
    _dies_first: Whole = field(default_factory=lambda: np.zeros(0, np.int64))  # by fragment: the first of its rows
    _dies_last: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    _roll_ups: dict[tuple[object, ...], tuple[pa.Table, RollUp]] = field(default_factory=dict)

    def follow(self, pieces: Sequence[Piece], watermark: int | None, names: Sequence[str], ways: Ways) -> Grid | None:
        """The grid of the rows that expire after the watermark; None if there would be too many cells.

        It has the accumulators that can be joined.
        """
        by = (*names, SIGNATURE)
        if self.grid is None or self._ways != ways or not self._follows(pieces, watermark, by):
            self._ways, self.grid = ways, self._made(pieces, watermark, by, ways)
        return self.grid

    def rolled_up(self, names: Mapping[str, str], bit: int | None) -> tuple[pa.Table, RollUp]:
        """The groups of some columns under their names, of rows with a predicate; and which columns of the grid they
        are."""
        key = (tuple(names.items()), bit, len(self.groups))
        if key not in self._roll_ups:
            known = self.groups.taken(np.arange(len(self.groups)))
            columns = np.arange(len(self.groups))
            if bit is not None:
                columns = np.flatnonzero(known.column(SIGNATURE).to_numpy() & bit)
            mine = {name: known.column(column).take(pa.array(columns)) for name, column in names.items()}
            groups, codes = coded(mine, len(columns))
            self._roll_ups[key] = groups, RollUp.of(columns, codes)
        return self._roll_ups[key]

    def _follows(self, pieces: Sequence[Piece], watermark: int | None, by: Sequence[str]) -> bool:
        """Add the pieces that came; False if that does not do."""
        new = [piece for piece in pieces if id(piece) not in self._pieces]
        gone = [self._pieces.pop(one) for one in self._pieces.keys() - {id(piece) for piece in pieces}]
        known, self._watermark = self._watermark, watermark
        if (known is None) != (watermark is None) or (known or 0) > (watermark or 0):
            return False  # rows that had expired are not in it, and an undo brings them back
        is_added = self._clear(gone, watermark, by) and self._add(new, watermark, by)
        return is_added and self._expire(watermark)  # what came late may be older than all that lived

    def _clear(self, gone: Iterable[Piece], watermark: int | None, by: Sequence[str]) -> bool:
        """Take out what lives of pieces that are gone; False if that is much. Most have expired when they go."""
        lived = [piece.fragments[rows] for piece in gone if len(rows := _alive(piece, watermark))]
        if not lived:
            return True
        grid = self.grid
        assert grid is not None
        first, end = min(int(one[0]) for one in lived), max(int(one[-1]) for one in lived) + 1
        is_inside = grid.first <= first and end <= grid.end
        if not is_inside or end - first > CLEARED_SHARE_MAX * (grid.end - grid.alive_from):
            return False
        grid.clear(first, end)
        self._dies_first[first - grid.first : end - grid.first] = NEVER
        self._dies_last[first - grid.first : end - grid.first] = -NEVER
        return self._add(list(self._pieces.values()), watermark, by, (first, end))

    def _made(self, pieces: Sequence[Piece], watermark: int | None, by: Sequence[str], ways: Ways) -> Grid | None:
        # Where there was no grid, the groups are kept: only new pieces are numbered. Now and then the old ones go.
        self._refused = self._refused + 1 if self.grid is None else 0
        if self._refused % (len(pieces) + 1) == 0:
            self.groups = Groups()
        self._pieces, self._roll_ups = {}, {}
        self._watermark = watermark
        for piece in pieces:
            piece.numbers(by, self.groups)
        ways = {name: way for name, way in ways.items() if all(one.values(name, way) is not None for one in pieces)}
        first, height, count = _extent(pieces, watermark)
        width = len(self.groups)
        cells_max = max(CELLS_MIN, min(CELLS_MAX, CELLS_PER_ROW_MAX * count))
        if not height or height * width > cells_max:
            return None
        self.grid = Grid(ways, first, _roomy(height), _roomy(width))
        self._dies_first, self._dies_last = np.full(self.grid.height, NEVER), np.full(self.grid.height, -NEVER)
        return self.grid if self._add(pieces, watermark, by) else None

    def _add(
        self, pieces: Iterable[Piece], watermark: int | None, by: Sequence[str], span: tuple[int, int] | None = None
    ) -> bool:
        """Add the rows of pieces, or those in a span of fragments; False if that cannot be done."""
        grid = self.grid
        assert grid is not None
        for piece in pieces:
            numbers, rows = piece.numbers(by, self.groups), _alive(piece, watermark)
            if span is not None:
                begin, end = np.searchsorted(piece.fragments, span)
                rows = rows[(rows >= begin) & (rows < end)]
            self._pieces[id(piece)] = piece
            if not len(rows):
                continue
            fragments = piece.fragments[rows]
            values = {name: piece.values(name, way) for name, way in grid.ways.items()}
            fits = fragments[0] >= grid.first and fragments[-1] < grid.end
            if not fits or len(self.groups) > grid.width or any(one is None for one in values.values()):
                return False
            grid.add(values, rows, fragments, numbers[rows], piece.rows.num_rows)
            if watermark is not None:
                np.minimum.at(self._dies_first, fragments - grid.first, piece.expires[rows])
                np.maximum.at(self._dies_last, fragments - grid.first, piece.expires[rows])
        return grid.is_exact

    def _expire(self, watermark: int | None) -> bool:
        """Leave out the fragments that expired; False if there are such behind one that did not."""
        assert self.grid is not None
        if watermark is None:
            return True
        alive = np.flatnonzero(self._dies_last > watermark)
        begin = int(alive[0]) if len(alive) else self.grid.height
        self.grid.alive_from = self.grid.first + begin
        return bool((self._dies_first[begin:] > watermark).all())


def _extent(pieces: Iterable[Piece], watermark: int | None) -> tuple[int, int, int]:
    """The first fragment of the rows that are alive, over how many fragments they reach, and how many rows they are."""
    fragments = [piece.fragments[kept] for piece in pieces if len(kept := _alive(piece, watermark))]
    first = min((int(one[0]) for one in fragments), default=0)
    last = max((int(one[-1]) for one in fragments), default=-1)
    return first, last - first + 1, sum(len(one) for one in fragments)


def _alive(piece: Piece, watermark: int | None) -> Whole:
    return np.arange(piece.rows.num_rows) if watermark is None else np.flatnonzero(piece.expires > watermark)


def _roomy(size: int) -> int:
    return size + size // 4 + 8
