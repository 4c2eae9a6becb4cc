"""The physical deadline: the moment by which the bytes of records that expire now are gone, part by part.

A record is out of every read the moment it expires. Its bytes follow in steps:

    expiry      its slot ends, and the update (or expire) of that slot runs within one interval after
    strategy    the file that holds it leaves the table: at once, except under no_rebuild with a dead share allowed
    grace       readers of earlier versions may still need the file
    hold        a reader may prolong that, by so much at most
    vacuum      the next vacuum comes by within one period

The log quotes the least and the greatest key of every file, so a value may outlive the file there: an entry goes
with the first vacuum after the log's retention that finds a checkpoint old enough to take its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.definition import Clock, Definition
from tidewheel.indexing.core.derivation import Derivation
from tidewheel.indexing.core.layouts import Generation, LayoutKind, Strategy
from tidewheel.indexing.core.slots import iso


@dataclass(frozen=True)
class Part:
    """One step towards the deadline: its longest duration, and the reason."""

    name: str
    duration_us: int
    reason: str


@dataclass(frozen=True)
class Deadline:
    """`data` and `log` follow each other's first steps; `gone_us` is the later of the two ends."""

    from_us: int
    data: tuple[Part, ...]
    log: tuple[Part, ...]
    quarantine: tuple[Part, ...]
    assumes: tuple[str, ...]
    unstored: tuple[Part, ...] = ()

    @property
    def data_gone_us(self) -> int:
        return self.from_us + sum(part.duration_us for part in self.data)

    @property
    def log_gone_us(self) -> int:
        return self.from_us + sum(part.duration_us for part in self.log)

    @property
    def gone_us(self) -> int:
        return max(self.data_gone_us, self.log_gone_us)

    @property
    def quarantine_us(self) -> int:
        """Return how long after its quarantine a record's bytes are gone, at the latest."""
        return sum(part.duration_us for part in self.quarantine)

    @property
    def unstored_us(self) -> int:
        """Return how long the bytes of a record that was kept to be counted may stay after it came."""
        return sum(part.duration_us for part in self.unstored)

    def to_json(self) -> dict[str, Any]:
        return {
            "from": iso(self.from_us),
            "gone": iso(self.gone_us),
            "data_gone": iso(self.data_gone_us),
            "log_gone": iso(self.log_gone_us),
            "quarantine_us": self.quarantine_us,
            "unstored_us": self.unstored_us,
            "data": [part.__dict__ for part in self.data],
            "log": [part.__dict__ for part in self.log],
            "quarantine": [part.__dict__ for part in self.quarantine],
            "unstored": [part.__dict__ for part in self.unstored],
            "assumes": list(self.assumes),
        }


def longest_life(definition: Definition) -> int:
    """Return how many slots a record may be alive; in a derived archive, as long as its queries keep anything."""
    lives = Derivation.from_text(definition.derived).slots_alive
    return definition.span if lives is None else min(lives, definition.span)


def unstored_kept_us(definition: Definition) -> int:
    """Return how long a record that was not stored is kept at most, if standing queries have not counted it yet."""
    return definition.max_lifetime_us + definition.retention.grace_us


def deadline_of(
    definition: Definition, generations: Iterable[Generation], now_us: int, *, observed: bool = False
) -> Deadline:
    """Return the deadline of what expires now; `generations` are those that hold files or take new ones.

    While an archive is `observed`, its unstored records are kept for its standing queries, and have a deadline as well.
    """
    retention = definition.retention
    leaving = (*_expiry(definition, now_us), _strategy(definition, generations))
    grace = Part("grace", retention.grace_us, "readers of earlier versions")
    prolonged = Part("hold", retention.hold_us, "readers that prolong the grace of the version they read")
    hold = (prolonged,) if retention.hold_us else ()
    vacuum = Part("vacuum", retention.vacuum_period_us, "until the next vacuum")
    # A checkpoint takes the place of older entries once nobody within grace, or holding, reads further back than it.
    wait_us = max(retention.vacuum_period_us + retention.grace_us + retention.hold_us, retention.log_us)
    log = Part("log retention", wait_us, "values quoted in the log (least and greatest keys)")
    kept = Part("quarantine retention", retention.quarantine_us, "kept for somebody to look at")
    waiting = Part("standing queries", unstored_kept_us(definition), "until they have counted it, and through grace")
    deleted = (Part("vacuum", retention.vacuum_period_us, "deletes the record"), grace, vacuum)
    return Deadline(
        from_us=now_us,
        data=(*leaving, grace, *hold, vacuum),
        log=(*leaving, log, vacuum),
        quarantine=(kept, *deleted),
        assumes=_assumptions(definition),
        unstored=(waiting, *deleted) if observed else (),
    )


def intervals_kept(generation: Generation) -> int:
    """Return how many intervals longer than its expiry a record's file may stay in the table, by the strategy.

    Only no_rebuild leaves a partly expired file. It stays at most until its last record expires, or until its sub-index
    passes dead_share_max. That last record came before the first one expired, so it has at most span − 1 more
    intervals.
    """
    layout = generation.layout
    if generation.strategy is not Strategy.NO_REBUILD or generation.dead_share_max == 0:
        return 0
    if layout.kind is not LayoutKind.RANDOMIZED and layout.expiration_classes >= layout.span:
        return 0  # all records of a file expire in the same slot
    return layout.span - 1


def _expiry(definition: Definition, now_us: int) -> tuple[Part, ...]:
    if definition.clock is Clock.DATA:
        return ()
    axis = definition.axis
    # A record valid until now exactly belongs to the slot that ends now.
    slot_ends_us = axis.end_us(axis.expiration_slot_of(now_us))
    return (
        Part("slot", slot_ends_us - now_us, "until the slot ends in which it expires"),
        Part("update", axis.interval_us, "until the update or expire of that slot has run"),
    )


def _strategy(definition: Definition, generations: Iterable[Generation]) -> Part:
    kept, generation = max(((intervals_kept(one), one) for one in generations), key=lambda pair: pair[0])
    kept = min(kept, longest_life(definition) - 1)
    if not kept:
        return Part("strategy", 0, f"{generation.strategy.value} takes it out in the same update")
    return Part(
        "strategy",
        kept * definition.axis.interval_us,
        f"no_rebuild keeps a partly expired file until its last record expires, at most {kept} more intervals, "
        f"unless its sub-index passes dead_share_max {generation.dead_share_max} before",
    )


def _assumptions(definition: Definition) -> tuple[str, ...]:
    what = "an update or an expire runs within each interval"
    if definition.clock is Clock.DATA:
        what = "counted from the update or expire that passes their slot, and one more runs in each interval after"
    return (
        what,
        "a vacuum runs and ends within each vacuum period",
        "no undo takes the expiry back: what it brings back expires again, and its time starts again",
        "clocks of writers and store agree; backups and bucket versioning are outside the promise",
    )
