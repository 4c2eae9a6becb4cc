"""The figures of the cost model by closed form, for round robin: they screen many candidates at once.

f(d) is the share that lives d slots, tail(t) the share that lives longer than t, and B the bytes of an interval. An
update of slot k finds in its row and column, older than its own batch and still alive:

    row      B · Σ_{a≥1} tail(a·G)              column   B · Σ_{b≥1} tail(b·E)
    both     B · Σ_{a,b≥1} f(a·G + b·E)

`rebuild` rewrites row + column − both, `expire_rebuild` the column. That is exact while every row has something that
expires; where few lifetimes occur, rows without are left alone and it is an upper bound. Joining for `runs_max` is
played through from one turn of a column to the next. Where nothing turns, it is approximated by how often a sub-index
passes the bound, as is joining for `dead_share_max`. Files that are cut between tasks (`sharing`) are left out.

The rules of thumb `rebuild_amplification` and `expire_rebuild_amplification` are for uniform lifetimes and take a
touched sub-index to be of average size. Under round robin it is smaller: what is touched at k has no cells of k+1 to
k+E−1, the ones with most in them. So they lie above the exact sums, by 1/2 for `expire_rebuild` where E divides p.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import ceil, inf

from tidewheel.indexing.core.joining import join_count
from tidewheel.indexing.core.layouts import Generation, LayoutKind, Strategy
from tidewheel.indexing.cost.model import Method, Prediction, require_span
from tidewheel.indexing.cost.workloads import Workload
from tidewheel.indexing.errors import InvalidInput


def rebuild_amplification(insertion_classes: int, expiration_classes: int, span: int) -> float:
    """Return the write amplification of `rebuild` under uniform lifetimes, by rule of thumb.

    >>> rebuild_amplification(4, 4, 36)
    8.875
    """
    touched_share = (insertion_classes + expiration_classes - 1) / (insertion_classes * expiration_classes)
    return 1 + touched_share * span / 2


def expire_rebuild_amplification(expiration_classes: int, span: int) -> float:
    """Return the write amplification of `expire_rebuild` under uniform lifetimes, by rule of thumb.

    >>> expire_rebuild_amplification(4, 36)
    5.5
    """
    return 1 + span / (2 * expiration_classes)


def estimate(workload: Workload, generation: Generation) -> Prediction:
    """Return the figures by closed form. Cost: the span, and for `rebuild` p²/(G·E) more; round robin only."""
    if generation.layout.kind is not LayoutKind.ROUND_ROBIN:
        kind = generation.layout.kind.value
        raise InvalidInput(f"there is no closed form for the {kind} layout", "use predict, which simulates")
    require_span(workload, generation)
    sums = _Sums.of(workload, generation)
    if generation.strategy is Strategy.REBUILD:
        return sums.rebuild()
    if generation.strategy is Strategy.EXPIRE_REBUILD or not sums.columns_mix:
        return sums.expire_rebuild()
    return sums.no_rebuild()


@dataclass(frozen=True)
class _Joining:
    """The cost of the bound on runs, and the runs that it leaves, per update."""

    rewritten_bytes: float
    joins: int
    mean_runs: float


@dataclass(frozen=True)
class _Sums:
    workload: Workload
    generation: Generation
    tails: tuple[float, ...]  # tail(t) at position t

    @staticmethod
    def of(workload: Workload, generation: Generation) -> _Sums:
        shares = workload.lifetimes[: workload.span + 1]
        tails = (*reversed(list(accumulate(reversed(shares[1:])))), 0.0)
        return _Sums(workload, generation, tails)

    @property
    def rows(self) -> int:
        """Return the insertion classes in use; with more of them than slots, some lie empty."""
        return min(self.generation.layout.insertion_classes, self.workload.span)

    @property
    def columns(self) -> int:
        return min(self.generation.layout.expiration_classes, self.workload.span)

    @property
    def columns_mix(self) -> bool:
        """Tell whether a column holds more than one live expiration slot, so that expiry leaves part of a file."""
        return self.generation.layout.expiration_classes < self.workload.span

    def rebuild(self) -> Prediction:
        rewritten = self._row_bytes() + self._column_bytes() - self._common_bytes()
        writes = self.rows + self.columns - 1
        return self._prediction(rewritten, rewritten, writes, runs=self.rows * self.columns)

    def expire_rebuild(self) -> Prediction:
        """One column turns per update; before that, its sub-indices may have joined several times."""
        joining = self._joining()
        rewritten = self._column_bytes() + joining.rewritten_bytes
        turned = self.rows - 1 if self.columns_mix else 0
        runs = joining.mean_runs if joining.joins else self._runs_between_turns()
        return self._prediction(rewritten, rewritten, self._received_columns() + turned, runs=runs)

    def no_rebuild(self) -> Prediction:
        """Nothing turns; a sub-index joins when it has collected too many runs or too many dead bytes."""
        pause = self._pause_updates()
        subindices = self.rows * self.columns
        unjoined_dead, unjoined_runs = self._dead_bytes_unjoined(), self._runs_unjoined()
        if pause == inf:
            writes = self._received_columns()
            return self._prediction(0.0, 0.0, writes, runs=unjoined_runs, dead=unjoined_dead)
        live = self.workload.live_bytes
        dead = min(unjoined_dead, self.workload.stored_bytes * pause / 2)
        runs = min(unjoined_runs, subindices * (1 + pause / self.rows / 2))
        read = (live + 2 * dead) / pause
        joins = subindices / pause
        return self._prediction(live / pause, read, self._received_columns() + joins, runs=runs, dead=dead)

    def _row_bytes(self) -> float:
        return self.workload.arriving_bytes * self._stepped_tails(self.generation.layout.insertion_classes)

    def _column_bytes(self) -> float:
        return self.workload.arriving_bytes * self._stepped_tails(self.generation.layout.expiration_classes)

    def _stepped_tails(self, step: int) -> float:
        return sum(self.tails[step::step])

    def _common_bytes(self) -> float:
        layout = self.generation.layout
        firsts = range(layout.insertion_classes, self.workload.span + 1, layout.insertion_classes)
        step = layout.expiration_classes
        shares = self.workload.lifetimes
        return self.workload.arriving_bytes * sum(sum(shares[first + step :: step]) for first in firsts)

    def _joining(self) -> _Joining:
        """Return the joins of a column's sub-indices from one turn to the next; all columns are on this way at once."""
        rewritten, joins, runs = 0.0, 0, 0.0
        after_turn = [self._column_bytes() / self.rows] if self.columns_mix else []
        for row in range(self.rows):
            oldest_first = list(after_turn)
            for age in range(1, self.columns):
                piece = self._piece_bytes(self.columns - age) if age % self.rows == row else 0.0
                count = join_count(oldest_first[::-1], self.generation.runs_max, receives=True) if piece else 0
                joined = [oldest_first.pop() for _ in range(count)]
                rewritten += sum(joined)
                joins += bool(joined)
                oldest_first += [sum(joined) + piece] if piece else []
                runs += len(oldest_first)
            runs += len(after_turn)
        return _Joining(rewritten, joins, runs)

    def _piece_bytes(self, slots_to_turn: int) -> float:
        """Return the bytes that a batch brings for the column that turns so many slots after it."""
        classes = self.generation.layout.expiration_classes
        return self.workload.arriving_bytes * sum(self.workload.lifetimes[slots_to_turn::classes])

    def _runs_between_turns(self) -> float:
        if not self.columns_mix:
            return self._runs_unjoined()
        appended = self._received_columns() * (self.columns - 1) / 2
        return appended + self.columns * min(self.rows, self.workload.span - self.columns + 1)

    def _pause_updates(self) -> float:
        """Return the updates between two joins of a sub-index; infinite if no bound is ever passed."""
        generation, workload = self.generation, self.workload
        by_runs = generation.runs_max * generation.layout.insertion_classes
        batches = ceil(workload.span / generation.layout.insertion_classes)
        pause: float = by_runs if batches > generation.runs_max else inf
        share, dead = generation.dead_share_max, self._dead_bytes_unjoined()
        if dead > share * (dead + workload.live_bytes):
            by_dead = share / (1 - share) * workload.live_bytes / workload.stored_bytes
            pause = min(pause, max(self.columns, by_dead))
        return pause

    def _received_columns(self) -> int:
        """Return the columns that a batch brings something for."""
        return len(self._last_lifetimes())

    def _last_lifetimes(self) -> dict[int, int]:
        """Return the longest lifetime that lands in each column, counted from the batch's own slot."""
        classes = self.generation.layout.expiration_classes
        return {d % classes: d for d, share in enumerate(self.workload.lifetimes) if d and share}

    def _dead_bytes_unjoined(self) -> float:
        """Every appended piece stays until its last record has expired."""
        last, classes = self._last_lifetimes(), self.generation.layout.expiration_classes
        waits = (share * (last[d % classes] - d) for d, share in enumerate(self.workload.lifetimes) if d and share)
        return self.workload.arriving_bytes * sum(waits)

    def _runs_unjoined(self) -> float:
        return float(sum(self._last_lifetimes().values()))

    def _touched(self) -> float:
        """Return the batch's columns and the rows with something to expire, less the one in common."""
        layout = self.generation.layout
        lifetimes = [d for d, share in enumerate(self.workload.lifetimes) if d and share]
        expiring = {d % layout.insertion_classes for d in lifetimes}
        common = 0 in self._last_lifetimes() and 0 in expiring
        columns = self.columns if self.generation.strategy is Strategy.REBUILD else self._received_columns()
        return columns + len(expiring) - (1 if common else 0)

    def _prediction(
        self, rewritten: float, read: float, writes: float, *, runs: float, dead: float = 0.0
    ) -> Prediction:
        workload, target = self.workload, self.generation.target_file_bytes
        stored = workload.live_bytes + dead
        return Prediction(
            generation=self.generation,
            method=Method.CLOSED_FORM,
            touched_subindices=self._touched(),
            appended_bytes=workload.stored_bytes,
            rewritten_bytes=rewritten,
            read_bytes=read,
            written_files=writes + (workload.stored_bytes + rewritten) // target,
            stored_files=runs * ceil(stored / runs / target),
            stored_runs=runs,
            live_bytes=workload.live_bytes,
            dead_bytes=dead,
        )
