"""The simulation of updates on the runs of one generation, counted in bytes without any data.

A sub-index is a list of *runs* (sorted wholes, each one file or several). A run remembers its live bytes per
expiration slot and how many dead bytes it still carries. One update of slot k, as the planner decides it:

1. In column class(k), what expires at k turns from live to dead; a run without live bytes is dropped unread.
2. `rebuild` re-clusters row class(k), `rebuild` and `expire_rebuild` the column where a run carries
   dead bytes or there are several runs; every strategy re-clusters a sub-index with too many dead bytes,
   and the young runs of one with too many (`joining`).
3. What is re-clustered becomes one run, joined with its piece of the batch; any other piece is a new run.
4. What was written is shared out among tasks (`sharing`), which tells how many files it makes.

The cost model drives this until it is steady; the forecast starts it from what is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from tidewheel.indexing.core.joining import join_count
from tidewheel.indexing.core.layouts import Generation, Strategy
from tidewheel.indexing.core.sharing import shared, tasks_for
from tidewheel.indexing.cost import medium

ClassPair = tuple[int, int]  # row g, column e
LiveBytes = Mapping[int, float]  # expiration slot → live bytes


@dataclass(frozen=True)
class UpdateFigures:
    """The figures of one update."""

    touched_subindices: int
    rewritten_subindices: int
    appended_bytes: float
    rewritten_bytes: float
    read_bytes: float
    written_files: int
    dropped_runs: int


@dataclass(slots=True)
class StoredFigures:
    """The contents of the table after an update."""

    runs: int = 0
    files: int = 0
    live_bytes: float = 0.0
    dead_bytes: float = 0.0

    def add(self, other: StoredFigures, sign: int = 1) -> None:
        self.runs += sign * other.runs
        self.files += sign * other.files
        self.live_bytes += sign * other.live_bytes
        self.dead_bytes += sign * other.dead_bytes


@dataclass(slots=True)
class ModelRun:
    """One sorted whole: live bytes per expiration slot, and dead bytes that it still carries."""

    cells: dict[int, float]
    live_bytes: float
    dead_bytes: float = 0.0
    files: int = 1

    @property
    def stored_bytes(self) -> float:
        return self.live_bytes + self.dead_bytes

    @staticmethod
    def of(cells: LiveBytes) -> ModelRun:
        return ModelRun(dict(cells), sum(cells.values()))

    @staticmethod
    def joined(parts: Iterable[LiveBytes]) -> ModelRun:
        """Return one run of several: re-clustering makes it of them."""
        cells: dict[int, float] = defaultdict(float)
        for part in parts:
            for expiration_slot, live_bytes in part.items():
                cells[expiration_slot] += live_bytes
        return ModelRun.of(cells)

    def expire(self, slot: int) -> bool:
        """Turn the bytes that expire at the slot from live to dead; tell whether there were any."""
        expired_bytes = self.cells.pop(slot, None)
        if expired_bytes is None:
            return False
        self.live_bytes -= expired_bytes
        self.dead_bytes += expired_bytes
        return True


@dataclass
class _Tally:
    """The figures of an update while it is being worked out."""

    touched: set[ClassPair] = field(default_factory=set)
    rewritten_bytes: float = 0.0
    read_bytes: float = 0.0
    written: dict[ClassPair, ModelRun] = field(default_factory=dict)
    rewritten: set[ClassPair] = field(default_factory=set)
    dropped_runs: int = 0


class Simulation:
    """The sub-indices of one generation. An update costs the batch's cells and the runs it touches."""

    def __init__(self, generation: Generation, cores: int = medium.CORES) -> None:
        self.generation, self.cores = generation, cores
        self.stored = StoredFigures()
        self._runs: dict[ClassPair, list[ModelRun]] = {}
        self._columns: dict[int, int] = {}

    def store(self, subindex: ClassPair, cells: LiveBytes) -> None:
        """Put a run where it already lies, as no update's work."""
        before = self._figures([subindex])
        run = ModelRun.of(cells)
        run.files = self._files(run.stored_bytes)
        self._runs.setdefault(subindex, []).append(run)
        self._account(before, [subindex])

    def run_counts(self) -> dict[ClassPair, int]:
        """Return the runs per sub-index that has any."""
        return {subindex: len(runs) for subindex, runs in self._runs.items()}

    def update(self, slot: int, batch: LiveBytes | None) -> UpdateFigures:
        """Apply the next slot: its batch by expiration slot (none: expiry alone), and the expiry at that slot."""
        row = self.generation.layout.row_of(slot) if batch is not None else None
        pieces = self._pieces(row, slot, batch or {})
        column = self._column_of(slot)
        concerned = [subindex for subindex in self._runs if subindex[0] == row or subindex[1] == column]
        concerned += [subindex for subindex in pieces if subindex not in self._runs]
        before = self._figures(concerned)
        tally = _Tally()
        for subindex in concerned:
            if subindex[1] == column:
                self._expire(subindex, slot, tally)
            self._settle(subindex, subindex[0] == row, subindex[1] == column, pieces.get(subindex), tally)
        self._share_out(tally)
        self._account(before, concerned)
        return UpdateFigures(
            touched_subindices=len(tally.touched),
            rewritten_subindices=len(tally.rewritten),
            appended_bytes=sum(sum(piece.values()) for piece in pieces.values()),
            rewritten_bytes=tally.rewritten_bytes,
            read_bytes=tally.read_bytes,
            written_files=sum(run.files for run in tally.written.values()),
            dropped_runs=tally.dropped_runs,
        )

    def _pieces(self, row: int | None, slot: int, batch: LiveBytes) -> dict[ClassPair, dict[int, float]]:
        """Return the batch by sub-index; records that are dead before their own update are never stored."""
        pieces: dict[ClassPair, dict[int, float]] = {}
        if row is None:
            return pieces
        for expiration_slot, live_bytes in batch.items():
            if expiration_slot > slot and live_bytes > 0:
                subindex = (row, self._column_of(expiration_slot))
                pieces.setdefault(subindex, {})[expiration_slot] = live_bytes
        return pieces

    def _expire(self, subindex: ClassPair, slot: int, tally: _Tally) -> None:
        runs = self._runs.get(subindex, [])
        if sum(run.expire(slot) for run in runs):  # a sum, because every run must expire and not only the first
            tally.touched.add(subindex)
        survivors = [run for run in runs if run.cells]
        tally.dropped_runs += len(runs) - len(survivors)
        self._runs[subindex] = survivors

    def _settle(self, subindex: ClassPair, receives: bool, turns: bool, piece: LiveBytes | None, tally: _Tally) -> None:
        """Re-cluster the sub-index or append to it, and drop it from the books when it is empty."""
        runs = self._runs.get(subindex, [])
        kept = len(runs) - self._reclustered(runs, receives, turns)
        if kept < len(runs):
            going = runs[kept:]
            tally.touched.add(subindex)
            tally.rewritten.add(subindex)
            tally.rewritten_bytes += sum(run.live_bytes for run in going)
            tally.read_bytes += sum(run.stored_bytes for run in going)
            tally.written[subindex] = ModelRun.joined([*(run.cells for run in going), piece or {}])
            runs = [*runs[:kept], tally.written[subindex]]
        elif piece:
            tally.written[subindex] = ModelRun.of(piece)
            runs = [*runs, tally.written[subindex]]
        if piece:
            tally.touched.add(subindex)
        if runs:
            self._runs[subindex] = runs
        else:
            self._runs.pop(subindex, None)

    def _share_out(self, tally: _Tally) -> None:
        """Return the files of the runs written: only rewritten runs are cut, as no key of others is known."""
        sizes = {subindex: run.stored_bytes for subindex, run in tally.written.items()}
        target = self.generation.target_file_bytes
        shares = shared(sizes, tally.rewritten, tasks_for(sum(sizes.values()), self.cores, target), target)
        for subindex, run in tally.written.items():
            ends = [0.0, *(piece.until for piece in shares[subindex])]
            run.files = sum(self._files((end - start) * run.stored_bytes) for start, end in pairwise(ends))

    def _reclustered(self, runs: list[ModelRun], receives: bool, turns: bool) -> int:
        """Return how many of the runs, counted from the youngest, become one."""
        if self._becomes_one(runs, receives, turns):
            return len(runs)
        return join_count([run.stored_bytes for run in reversed(runs)], self.generation.runs_max, receives)

    def _becomes_one(self, runs: list[ModelRun], receives: bool, turns: bool) -> bool:
        """Tell whether the strategy re-clusters the whole sub-index, or too much of it is dead."""
        generation = self.generation
        partly_dead = any(run.dead_bytes for run in runs)
        if generation.strategy is Strategy.REBUILD and receives:
            return True
        if generation.strategy is not Strategy.NO_REBUILD and turns and (partly_dead or len(runs) > 1):
            return True
        dead_bytes = sum(run.dead_bytes for run in runs)
        stored_bytes = sum(run.stored_bytes for run in runs)
        return partly_dead and dead_bytes > generation.dead_share_max * stored_bytes

    def _column_of(self, slot: int) -> int:
        if slot not in self._columns:
            self._columns[slot] = self.generation.layout.column_of(slot)
        return self._columns[slot]

    def _files(self, stored_bytes: float) -> int:
        return ceil(stored_bytes / self.generation.target_file_bytes)

    def _figures(self, subindices: Iterable[ClassPair]) -> StoredFigures:
        runs = [run for subindex in subindices for run in self._runs.get(subindex, ())]
        return StoredFigures(
            runs=len(runs),
            files=sum(run.files for run in runs),
            live_bytes=sum(run.live_bytes for run in runs),
            dead_bytes=sum(run.dead_bytes for run in runs),
        )

    def _account(self, before: StoredFigures, subindices: Iterable[ClassPair]) -> None:
        self.stored.add(before, -1)
        self.stored.add(self._figures(subindices))
