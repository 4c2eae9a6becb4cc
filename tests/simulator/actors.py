"""Who does something in a simulated archive: what `commits/` does, stopped wherever others may come between.

An actor runs in a greenlet. The ports pause it before whatever others could see; the history decides who goes on, who
is held up, and who dies there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from greenlet import getcurrent, greenlet

from tests.simulator.faults import Fault
from tests.simulator.hand import MemoryHand
from tests.simulator.location import MemoryLocation
from tests.simulator.memory import MemoryTable
from tests.simulator.side_tables import IN_MEMORY
from tests.simulator.world import PARTS, Claim, Note, World
from tests.support.models.model_table import random_generation
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.operations.observe import observe
from tidewheel.commits.operations.put import Put
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.operations.update import Update
from tidewheel.commits.procedure import Try
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.definition import Policy
from tidewheel.indexing.core.fates import QUARANTINED, UNSTORED
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.errors import TidewheelError
from tidewheel.storage.holding import HeldVersion, take_hold
from tidewheel.storage.snapshot import Snapshot

SHRINK_MAX = 0.5


class Died(BaseException):
    """The process is gone: nothing that it would still do happens."""


@dataclass(frozen=True)
class Order:
    """What somebody wants done. `number`: the slot to expire through, the key to forget, the layout's seed, how many
    versions to go back or slots to observe, or how long to hold."""

    kind: str
    slots: tuple[int, ...] = ()
    number: int = 0
    confirmed: bool = True
    parts: tuple[str, ...] = ()
    version: int | None = None  # to hold


class Actor:
    """One order on its way. `step` lets it go on to its next pause; `at` says what it is about to do there."""

    def __init__(self, world: World, order: Order) -> None:
        self.world, self.order = world, order
        self.at, self.answer_lost, self.has_deleted = "start", False, False
        self.outcome: Outcome | None = None
        self.error: TidewheelError | None = None
        self.is_dead = False
        self.conflicts = 0
        self.read: Mapping[BatchKey, tuple[Record, ...]] = {}
        self.aside: dict[int, list[int]] = {QUARANTINED: [], UNSTORED: []}  # slots of records, by place
        self.held: HeldVersion | None = None
        self.claim: Claim | None = None
        self.written: set[str] = set()
        self.stored_us: dict[str, int] = {}  # when it laid records aside, by side table
        self.started_us = world.now_us
        self.started_version: int | None = None
        self.opened_version = self.target = world.version - order.number
        self.job = ArchiveJob(
            MemoryLocation(world, self),
            clock=self._clock,
            given_hand=MemoryHand(self),
            given_table=MemoryTable(self),
            given_side_tables=IN_MEMORY,
        )
        self._run = greenlet(self._carry_out)

    @property
    def is_vacuum(self) -> bool:
        return self.order.kind == "vacuum"

    @property
    def is_busy(self) -> bool:
        return not self._run.dead

    def step(self) -> None:
        self._run.switch()

    def pause(self, at: str) -> None:
        """Others may come between; asked by the ports."""
        if getcurrent() is not self._run:
            return  # somebody who only looks
        if not self.is_dead:
            self.at = at
            self._run.parent.switch()
        if self.is_dead:
            raise Died

    def die(self) -> None:
        """The process is gone, perhaps in the middle of writing."""
        self.is_dead = True
        if self._run:
            self._run.switch()
        else:
            self._run.throw(Died)

    def opened(self, snapshot: Snapshot) -> Snapshot:
        self.opened_version = snapshot.version
        if self.started_version is None:
            self.started_version = snapshot.version
        return snapshot

    def begins_to_write(self, read: Mapping[BatchKey, tuple[Record, ...]]) -> None:
        self.read, self.aside = read, {place: [] for place in self.aside}

    def looks_at_all_files(self) -> None:
        """A vacuum decides by this listing, and by the version that it saw before."""
        self.world.listed = frozenset(self.world.files)
        self.world.vacuumed_us.append((self.opened_version, self.started_us))

    def is_too_long(self, record: Record) -> bool:
        return record.expiration_slot > record.slot + self.world.state.definition.span

    def tell_the_oracle(self, receipt: Receipt) -> None:
        oracle, key = self.world.oracle, self.order.number
        self.world.counting.update({one.key: receipt.attempt for one in receipt.slots})
        if receipt.operation is Deed.UPDATE and self.order.kind == "put":
            self._tell_parts(receipt)
        elif receipt.operation is Deed.UPDATE:
            oracle.update({s: [r for r in rows if not self.is_too_long(r)] for (s, _), rows in self.read.items()})
        elif receipt.operation is Deed.EXPIRE:
            oracle.expire(self.order.number)
        elif receipt.operation is Deed.FORGET:
            oracle.forget(lambda record: record.key == key)
        elif receipt.operation is Deed.UNDO:
            truth = self.world.truths[self.target]
            oracle.batches, oracle.watermark = dict(truth.batches), truth.watermark
            self.world.counting = dict(truth.counting)

    def _tell_parts(self, receipt: Receipt) -> None:
        """A slot's batch is what its parts have brought last."""
        parts, oracle = self.world.parts, self.world.oracle
        parts.update({one.key: self.read[one.key] for one in receipt.slots})
        for slot in {one.slot for one in receipt.slots}:
            oracle.batches[slot] = tuple(record for part in PARTS for record in parts.get((slot, part), ()))
        oracle.expire(self.order.number)

    def note(self) -> Note:
        rows_read = {key: len(records) for key, records in self.read.items()}
        started = self.world.version - 1 if self.started_version is None else self.started_version
        return Note(started, rows_read, dict(self.stored_us))

    def _clock(self) -> int:
        late = self.world.fault is Fault.COMMITS_VACUUMED_FILES and not self.is_vacuum
        return self.started_us if late else self.world.now_us

    def _carry_out(self) -> None:
        try:
            self.outcome = DEEDS[self.order.kind](self)
        except TidewheelError as error:
            self.error = error
        except Died:
            return
        if self.outcome is not None and self.outcome.receipt is not None and self.outcome.version is not None:
            self.world.reported.append((self.outcome.version, self.outcome.receipt.attempt))


@dataclass(frozen=True)
class StaleUpdate(Update):
    """A planted bug: to this update every version is the one that it began on."""

    def plan(self, one: Try) -> Plan:
        return super().plan(replace(one, started_version=one.snapshot.version))


def _update(actor: Actor) -> Outcome:
    kind = StaleUpdate if actor.world.fault is Fault.STALE_BATCH_OVERWRITES else Update
    bring = MemoryHand(actor).bring
    return attempt(actor.job, kind(actor.order.slots, _confirmed(actor.order), Policy(shrink_max=SHRINK_MAX), bring))


def _put(actor: Actor) -> Outcome:
    """What a refresh does: batches of parts, made of what the source has now, and its watermark."""
    order, world = actor.order, actor.world
    batches = {(slot, part): world.batch(slot, part) for slot in order.slots for part in order.parts}
    lineages = {(slot, part): world.lineage(slot) for slot, part in batches}
    bring = partial(MemoryHand(actor).put, batches, lineages)
    return attempt(actor.job, Put(lineages, order.number, bring))


def _observe(actor: Actor) -> Outcome:
    return observe(actor.job, actor.order.number)


def _hold(actor: Actor) -> None:
    snapshot = actor.job.snapshot(actor.order.version)
    actor.held = take_hold(snapshot, actor.order.number, actor.world.now_us)
    if actor.held is not None:
        # As it was written: a vacuum that has passed since may have found it over.
        hold, written = actor.held.hold, reversed(actor.world.claims)
        actor.claim = next(one for one in written if (one.version, one.until_us) == (hold.version, hold.until_us))
        actor.world.held.append(actor.claim)


def _expire(actor: Actor) -> Outcome:
    return expire(actor.job, actor.order.number, confirmed=_confirmed(actor.order))


def _forget(actor: Actor) -> Outcome:
    return forget(actor.job, keys=[(actor.order.number,)])


def _migrate(actor: Actor) -> Outcome:
    generation = random_generation(Random(actor.order.number), 0, actor.world.definition.span)
    return migrate(actor.job, generation, relocate=actor.order.kind == "rebuild")


def _undo(actor: Actor) -> Outcome:
    return undo(actor.job, actor.target)


def _vacuum(actor: Actor) -> None:
    vacuum(actor.job)


def _confirmed(order: Order) -> Confirmations:
    return Confirmations(allow_future=True, allow_jump=order.confirmed, allow_shrink=order.confirmed)


DEEDS: dict[str, Callable[[Actor], Outcome | None]] = {
    "update": _update,
    "put": _put,
    "observe": _observe,
    "hold": _hold,
    "expire": _expire,
    "forget": _forget,
    "run both": _migrate,
    "rebuild": _migrate,
    "undo": _undo,
    "vacuum": _vacuum,
}
