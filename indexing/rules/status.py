"""Status: the first facts about an archive, in one frozen value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.slots import TimeAxis, gaps_of, iso
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState
from tidewheel.indexing.core.topics import known_offsets
from tidewheel.indexing.rules.care import Audited, Vacuumed
from tidewheel.indexing.rules.deadline import Deadline, deadline_of
from tidewheel.indexing.rules.due import Missing, slots_in
from tidewheel.indexing.rules.freshness import Freshness
from tidewheel.indexing.rules.health import Health
from tidewheel.indexing.rules.vacuum import Hold


@dataclass(frozen=True)
class SubIndexStatus:
    """One square of the grid. Its live bytes are its bytes less the dead rows' share: no row has bytes of its own."""

    generation: int
    g: int
    e: int
    rows: int
    rows_dead: int
    bytes: int
    files: int
    runs: int

    @property
    def dead_share(self) -> float:
        return self.rows_dead / self.rows if self.rows else 0.0

    @property
    def bytes_live(self) -> int:
        return round(self.bytes * (1 - self.dead_share))

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "dead_share": self.dead_share, "bytes_live": self.bytes_live}


@dataclass(frozen=True)
class Awaiting:
    """Files below the archive that its newest version does not name: removed ones, and those of dead attempts."""

    files: int
    bytes: int


@dataclass(frozen=True)
class Status:
    name: str
    path: str
    version: int
    head: int
    clock: Clock
    axis: TimeAxis
    now_us: int
    watermark: int | None
    missing: tuple[tuple[int, int], ...]
    generations: tuple[Generation, ...]
    grid: tuple[SubIndexStatus, ...]
    deadline: Deadline
    awaiting: Awaiting | None = None
    holds: tuple[Hold, ...] = ()
    vacuumed: Vacuumed | None = None
    audited: Audited | None = None
    # Records in quarantine, by the rule that they broke; None where the quarantine cannot be read.
    set_aside: Mapping[str, int] | None = field(default_factory=dict)
    lost: tuple[tuple[int, int], ...] = ()  # slots of a topic whose messages were not all there, and how many were not
    created_us: int = 0
    applied: int | None = None  # the newest slot that a batch brought
    vacuum_period_us: int = 0
    has_schedule: bool = False  # whether it was looked at with an archive file, which tells what is due
    missing_due: Missing = field(default_factory=Missing)
    freshness: Freshness = field(default_factory=lambda: Freshness(0, None))
    health: Health = field(default_factory=Health)

    @property
    def applied_through_us(self) -> int | None:
        """Return the end of the newest slot that a batch brought; expiry goes on without batches."""
        return None if self.applied is None else self.axis.end_us(self.applied)

    @property
    def expired_through_us(self) -> int | None:
        """Return the end of the watermark: the first moment through which expiry is not carried out yet."""
        return None if self.watermark is None else self.axis.end_us(self.watermark)

    @property
    def archive_now_us(self) -> int | None:
        """Return the moment that reads call "now": the wall's, or on a data clock the end of the applied slots."""
        return self.applied_through_us if self.clock is Clock.DATA else self.now_us

    @property
    def lag_us(self) -> int | None:
        """Return how old the newest batch is; none for an archive of historic data."""
        return self._behind_us(self.applied_through_us)

    @property
    def expiry_lag_us(self) -> int | None:
        """Return how far the watermark is behind now."""
        return self._behind_us(self.expired_through_us)

    @property
    def expiry_bound_us(self) -> int:
        """Return how far the watermark may be behind: a timer carries expiry out once it is a vacuum period late."""
        return 2 * self.vacuum_period_us + self.axis.interval_us

    @property
    def slots_missing(self) -> int:
        """Return how many slots should be there and are not: by the schedule, if one is known."""
        return slots_in(self.missing_due.slots if self.has_schedule else self.missing)

    def _behind_us(self, through_us: int | None) -> int | None:
        return None if through_us is None or self.clock is Clock.DATA else self.now_us - through_us

    @property
    def rows_live(self) -> int:
        return sum(square.rows - square.rows_dead for square in self.grid)

    @property
    def rows_dead(self) -> int:
        return sum(square.rows_dead for square in self.grid)

    @property
    def bytes_live(self) -> int:
        return sum(square.bytes_live for square in self.grid)

    @property
    def bytes_stored(self) -> int:
        return sum(square.bytes for square in self.grid)

    @property
    def files(self) -> int:
        return sum(square.files for square in self.grid)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "path": self.path,
            "version": self.version,
            "head": self.head,
            "clock": self.clock.value,
            "now": _iso(self.archive_now_us),
            "watermark": self.watermark,
            "applied_through": _iso(self.applied_through_us),
            "expired_through": _iso(self.expired_through_us),
            "lag_us": self.lag_us,
            "freshness": self.freshness.to_json(),
            "health": self.health.to_json(),
            "slots_missing": self.slots_missing,
            "missing": [
                {"first": first, "last": last, "from": self.axis.name(first), "to": self.axis.name(last + 1)}
                for first, last in self.missing
            ],
            "rows_live": self.rows_live,
            "rows_dead": self.rows_dead,
            "bytes_live": self.bytes_live,
            "bytes_stored": self.bytes_stored,
            "files": self.files,
            "generations": [generation.to_json() for generation in self.generations],
            "grid": [square.to_json() for square in self.grid],
            "awaiting": None if self.awaiting is None else dict(self.awaiting.__dict__),
            "holds": [one.to_json() for one in self.holds],
            "vacuumed": None if self.vacuumed is None else self.vacuumed.to_json(),
            "audited": None if self.audited is None else self.audited.to_json(),
            "set_aside": None if self.set_aside is None else dict(self.set_aside),
            "lost": [{"slot": self.axis.name(slot), "messages": messages} for slot, messages in self.lost],
            "deadline": self.deadline.to_json(),
        }


def status_of(state: TableState, *, path: str, now_us: int, created_us: int = 0) -> Status:
    """Return the status. Cost: one pass over the files and one over the ledger's cells."""
    definition = state.definition
    holding = {file.generation for file in state.files} | {definition.current.number}
    generations = tuple(one for one in definition.generations if one.number in holding)
    return Status(
        name=definition.name,
        path=path,
        version=state.version,
        head=state.head,
        clock=definition.clock,
        axis=definition.axis,
        now_us=now_us,
        created_us=created_us,
        watermark=state.watermark,
        missing=() if state.watermark is None else gaps_of(state.ledger.applied, state.watermark),
        generations=generations,
        grid=_grid(state),
        lost=_lost(state),
        applied=max((last for _, last in state.ledger.applied), default=None),
        vacuum_period_us=definition.retention.vacuum_period_us,
        deadline=deadline_of(definition, generations, now_us, observed=_is_asked(state)),
    )


def _lost(state: TableState) -> tuple[tuple[int, int], ...]:
    """Return the messages lost, as long as the ledger remembers their slots."""
    offsets = known_offsets(state.ledger.batches)
    return tuple((slot, one.lost) for slot, one in sorted(offsets.items()) if one.lost)


def _is_asked(state: TableState) -> bool:
    """Tell whether unstored records are kept for standing queries. A derived archive stores all of its records."""
    return state.ledger.horizon > 0 and not state.definition.derived


def _grid(state: TableState) -> tuple[SubIndexStatus, ...]:
    """Return the sub-indices that hold files; rows that the ledger does not count as alive are dead."""
    alive: dict[SubIndex, int] = defaultdict(int, state.rows_alive(state.watermark))
    return tuple(_square(subindex, files, alive[subindex]) for subindex, files in sorted(state.by_subindex().items()))


def _iso(at_us: int | None) -> str | None:
    return None if at_us is None else iso(at_us)


def _square(subindex: SubIndex, files: list[FileFact], rows_alive: int) -> SubIndexStatus:
    rows = sum(file.rows for file in files)
    return SubIndexStatus(
        *subindex,
        rows=rows,
        rows_dead=rows - rows_alive,
        bytes=sum(file.bytes for file in files),
        files=len(files),
        runs=len({file.run for file in files}),
    )
