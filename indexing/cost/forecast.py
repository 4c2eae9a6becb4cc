"""The forecast of the next updates: what each will expire, rewrite and leave.

Stored records carry their own expiry, so their future is known: `expired_*` and `live_*` are exact. A figure that
depends on data that has not come is in a field named `*_assumed_*`, under an assumption that the forecast states in
words. `rewritten_bytes` and `dead_bytes` are estimates: they also need the runs that lie in each sub-index, which are
inferred from the cells, as follows.

    rebuild         one run per sub-index
    expire_rebuild  one run for all rows of the column's last turn, one for each batch since
    no_rebuild      one run for each batch
                    and never more than `runs_max`: beyond it, the young ones have been joined (`joining`)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tidewheel.indexing.core.joining import join_count
from tidewheel.indexing.core.layouts import Generation, Layout, Strategy
from tidewheel.indexing.cost.simulation import ClassPair, ModelRun, Simulation
from tidewheel.indexing.errors import InvalidInput

CellAt = tuple[int, int]  # insertion slot, expiration slot
Size = tuple[int, int]  # rows, bytes
SizesByCell = Mapping[CellAt, Size]
Stored = Mapping[Generation, SizesByCell]


@dataclass(frozen=True)
class ForecastUpdate:
    """One update to come. Without `assumed` in its name a figure of rows or live bytes is exact."""

    slot: int
    expired_rows: int
    expired_bytes: int
    live_rows: int
    live_bytes: int
    arrived_assumed_rows: int
    arrived_assumed_bytes: int
    expired_assumed_rows: int
    expired_assumed_bytes: int
    live_assumed_rows: int
    live_assumed_bytes: int
    rewritten_bytes: int
    dead_bytes: int


@dataclass(frozen=True)
class Forecast:
    """The updates after a watermark, and what was assumed of arrivals."""

    watermark: int
    assumption: str
    updates: tuple[ForecastUpdate, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def forecast(stored: Stored, watermark: int, updates: int, repeated_slots: int = 0) -> Forecast:
    """Return the next updates after the watermark, each of one slot.

    `stored` holds the cells of each generation that still has any; the one with the highest number receives
    what arrives. With `repeated_slots` = n, batches like the mean of the last n slots are assumed; with 0,
    none. SizesByCell that the watermark has passed are ignored. Cost: updates × (cells + what an update meets).

    >>> from tidewheel.indexing.core.layouts import LayoutKind
    >>> generation = Generation(1, Layout(LayoutKind.ROUND_ROBIN, 1, 2, span=4), Strategy.EXPIRE_REBUILD)
    >>> cells = {(7, 8): (10, 900), (7, 9): (5, 500)}
    >>> first, second = forecast({generation: cells}, watermark=7, updates=2).updates
    >>> first.expired_rows, first.live_rows, first.rewritten_bytes, second.expired_bytes
    (10, 5, 0, 500)
    """
    if not stored:
        raise InvalidInput("a forecast needs a generation", "give the current one, without cells if it is empty")
    if updates < 1 or repeated_slots < 0:
        raise InvalidInput(
            f"{updates} updates after the mean of {repeated_slots} slots cannot be forecast",
            "give at least 1 update, and 0 slots or more to repeat",
        )
    alive = {
        generation: {cell: size for cell, size in cells.items() if cell[1] > watermark}
        for generation, cells in stored.items()
    }
    arrivals = _mean_arrivals(alive, watermark, repeated_slots)
    course = _Course(alive, watermark, arrivals)
    return Forecast(
        watermark=watermark,
        assumption=_assumption(repeated_slots),
        updates=tuple(course.advance(slot) for slot in range(watermark + 1, watermark + updates + 1)),
    )


@dataclass(frozen=True)
class _Arrivals:
    """An assumed batch: rows and bytes by lifetime in slots."""

    rows: Mapping[int, float]
    bytes: Mapping[int, float]


def _assumption(repeated_slots: int) -> str:
    if repeated_slots == 0:
        return "nothing more arrives"
    slots = "slot" if repeated_slots == 1 else f"{repeated_slots} slots"
    return f"every batch is like the mean of the last {slots}, as far as their records still live"


def _mean_arrivals(stored: Stored, watermark: int, slots: int) -> _Arrivals | None:
    """Return the mean batch of the last n slots.

    A slot before W−d+1 shows no more records of lifetime d: the mean is over the slots that still can.
    """
    if slots == 0:
        return None
    cells = [(cell, size) for own in stored.values() for cell, size in own.items()]
    first = max(watermark - slots + 1, min((cell[0] for cell, _ in cells), default=watermark))
    rows: dict[int, float] = defaultdict(float)
    sizes: dict[int, float] = defaultdict(float)
    for (insertion_slot, expiration_slot), (cell_rows, cell_bytes) in cells:
        if first <= insertion_slot <= watermark:
            lifetime = expiration_slot - insertion_slot
            visible = min(watermark - first + 1, lifetime)
            rows[lifetime] += cell_rows / visible
            sizes[lifetime] += cell_bytes / visible
    return _Arrivals(rows, sizes)


class _Course:
    """The archive on its way through the updates to come."""

    def __init__(self, stored: Stored, watermark: int, arrivals: _Arrivals | None) -> None:
        self.arrivals = arrivals
        self.current = max(stored, key=lambda generation: generation.number)
        self.simulations = {
            generation: _simulation_of(generation, cells, watermark) for generation, cells in stored.items()
        }
        self.rows, self.bytes = _by_expiration(stored)
        self.live_rows, self.live_bytes = sum(self.rows.values()), sum(self.bytes.values())
        self.assumed_rows: dict[int, float] = defaultdict(float)
        self.assumed_bytes: dict[int, float] = defaultdict(float)

    def advance(self, slot: int) -> ForecastUpdate:
        expired_rows, expired_bytes = self.rows.pop(slot, 0), self.bytes.pop(slot, 0)
        self.live_rows -= expired_rows
        self.live_bytes -= expired_bytes
        expired_assumed_rows = self.assumed_rows.pop(slot, 0.0)
        expired_assumed_bytes = self.assumed_bytes.pop(slot, 0.0)
        batch = self._arrive(slot)
        figures = [
            simulation.update(slot, batch if generation == self.current else None)
            for generation, simulation in self.simulations.items()
        ]
        return ForecastUpdate(
            slot=slot,
            expired_rows=expired_rows,
            expired_bytes=expired_bytes,
            live_rows=self.live_rows,
            live_bytes=self.live_bytes,
            arrived_assumed_rows=round(sum(self.arrivals.rows.values())) if self.arrivals else 0,
            arrived_assumed_bytes=round(sum(self.arrivals.bytes.values())) if self.arrivals else 0,
            expired_assumed_rows=round(expired_assumed_rows),
            expired_assumed_bytes=round(expired_assumed_bytes),
            live_assumed_rows=round(sum(self.assumed_rows.values())),
            live_assumed_bytes=round(sum(self.assumed_bytes.values())),
            rewritten_bytes=round(sum(one.rewritten_bytes for one in figures)),
            dead_bytes=round(sum(one.stored.dead_bytes for one in self.simulations.values())),
        )

    def _arrive(self, slot: int) -> dict[int, float] | None:
        """Return the assumed batch of a slot, by expiration slot."""
        if self.arrivals is None:
            return None
        for lifetime, rows in self.arrivals.rows.items():
            self.assumed_rows[slot + lifetime] += rows
        batch = {slot + lifetime: size for lifetime, size in self.arrivals.bytes.items()}
        for expiration_slot, size in batch.items():
            self.assumed_bytes[expiration_slot] += size
        return batch


def _by_expiration(stored: Stored) -> tuple[dict[int, int], dict[int, int]]:
    rows: dict[int, int] = defaultdict(int)
    sizes: dict[int, int] = defaultdict(int)
    for cells in stored.values():
        for (_, expiration_slot), (cell_rows, cell_bytes) in cells.items():
            rows[expiration_slot] += cell_rows
            sizes[expiration_slot] += cell_bytes
    return rows, sizes


def _simulation_of(generation: Generation, cells: SizesByCell, watermark: int) -> Simulation:
    """Return a simulation that begins with the runs that the cells most likely lie in."""
    turned = _last_turns(generation.layout, watermark)
    batches: dict[ClassPair, dict[int, dict[int, float]]] = {}
    for (insertion_slot, expiration_slot), (_, size) in cells.items():
        subindex = generation.layout.row_of(insertion_slot), generation.layout.column_of(expiration_slot)
        run = _run_of(generation.strategy, insertion_slot, turned.get(subindex[1], insertion_slot))
        own = batches.setdefault(subindex, {}).setdefault(run, {})
        own[expiration_slot] = own.get(expiration_slot, 0.0) + size
    simulation = Simulation(generation)
    for subindex, runs in batches.items():
        for run_cells in _joined(generation.runs_max, runs):
            simulation.store(subindex, run_cells)
    return simulation


def _last_turns(layout: Layout, watermark: int) -> dict[int, int]:
    """Return the latest slot through the watermark at which each column turned, within two spans."""
    turns: dict[int, int] = {}
    for slot in range(watermark - 2 * max(layout.span, layout.expiration_classes), watermark + 1):
        turns[layout.column_of(slot)] = slot
    return turns


def _run_of(strategy: Strategy, insertion_slot: int, turned: int) -> int:
    """Return the run that a batch's records lie in, named by the last slot whose batch is in it."""
    if strategy is Strategy.NO_REBUILD:
        return insertion_slot
    if strategy is Strategy.EXPIRE_REBUILD:
        return max(insertion_slot, turned)
    return 0


def _joined(runs_max: int, runs: Mapping[int, dict[int, float]]) -> list[dict[int, float]]:
    """Return the runs, oldest first, joined as if they had come one by one, all of their live sizes."""
    found: list[dict[int, float]] = []
    for name in sorted(runs):
        youngest_first = [sum(cells.values()) for cells in reversed(found)]
        kept = len(found) - join_count(youngest_first, runs_max, receives=True)
        found = [*found[:kept], ModelRun.joined([*found[kept:], runs[name]]).cells]
    return found
