"""The ports of the protocol in memory: what `commits/` sees of a world's table, through the eyes of one actor.

A `Snapshot` that makes the next log entry, the `Table` that opens it, and the queue of writers before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from deltalake import Field, Schema
from deltalake.exceptions import CommitFailedError

from tests.simulator.faults import Fault, planted
from tests.simulator.world import Fold
from tests.support.archives.columns import column
from tidewheel.commits.commit import partition_fields, stored_fields
from tidewheel.commits.table import Queue
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.entry import Entry, NewFile
from tidewheel.storage.lease import FOLDER as QUEUE
from tidewheel.storage.lease import WAIT_MAX_S, Lease
from tidewheel.storage.receipt_files import MadeOf, Numbered
from tidewheel.storage.snapshot import DEFINITION_KEY, Snapshot, definition_field

if TYPE_CHECKING:
    from tests.simulator.actors import Actor

STATISTICS = "{}"
POLLS_MAX = 6
STALE_US = 40
FENCELESS = (Fault.VACUUM_WITHOUT_FENCE, Fault.COMMITS_VACUUMED_FILES)


class MemoryReceipts:
    """`ReceiptStore` of a world."""

    def __init__(self, actor: Actor) -> None:
        self.world, self.actor = actor.world, actor

    def entry(self, version: int) -> Receipt | None:
        if version not in self.world.entries:
            raise Damaged(f"log entry {version} is gone")
        return self.world.entries[version].receipt

    def folded_versions(self) -> list[int]:
        return sorted(self.world.folds)

    def ledger(self, version: int) -> Ledger:
        return self.world.folds[version].ledger

    def folded(self, version: int) -> Numbered | None:
        return self.world.folds[version].receipts if version in self.world.folds else None

    def made_of(self, version: int) -> MadeOf:
        world = self.world
        since = max((at for at in world.folds if at <= version), default=-1)
        entries = (world.entries.get(at) for at in range(since + 1, version + 1))
        folds = (world.folds[since].serial,) if since >= 0 else ()
        return (*folds, *(entry.serial if entry is not None else None for entry in entries))

    def write(self, ledger: Ledger, receipts: Numbered) -> None:
        self.actor.pause("fold")
        self.world.folds[ledger.version] = Fold(ledger, receipts)

    def drop(self, versions: Sequence[int]) -> None:
        self.actor.pause("fold")
        for version in versions:
            self.world.folds.pop(version, None)


class MemorySnapshot(Snapshot):
    """A version of a world."""

    def __init__(self, actor: Actor, version: int) -> None:
        state = actor.world.states[version]
        # What the base finds out by reading is known: it lies where its cached properties would keep it.
        self.__dict__.update(
            actor=actor,
            pinned=version,
            location=actor.job.location,
            definition=state.definition,
            head=state.head,
            watermark=state.watermark,
            files=state.files,
            receipts=MemoryReceipts(actor),
        )
        if actor.world.fault is Fault.VACUUM_IGNORES_GRACE and actor.is_vacuum:
            retention = replace(state.definition.retention, grace_us=0)
            self.__dict__["definition"] = replace(state.definition, retention=retention)

    actor: Actor
    pinned: int

    @property
    def version(self) -> int:
        return self.pinned

    @property
    def schema(self) -> Any:
        return _schema_of(self.definition)

    def newest(self) -> Snapshot:
        if self.actor.world.fault is Fault.COMMITS_TWICE:
            return self
        return self.actor.job.table.open()

    def create_entry(self, entry: Entry) -> None:
        self.actor.pause("commit")
        world, receipt = self.actor.world, planted(entry.receipt, world_fault := self.actor.world.fault)
        if receipt.operation is Deed.FENCE and world_fault in FENCELESS:
            return
        if world.version != self.version:
            if world_fault is not Fault.OVERWRITES_A_LOG_ENTRY:
                self.actor.conflicts += 1
                raise CommitFailedError("somebody else was first")
            world.version = self.version
        removed = self.files if entry.replaces_all else entry.removed
        definition = self.definition if entry.schema is None else _definition_in(entry.schema)
        facts = [one.fact for one in entry.added]
        version = world.append(receipt, facts, tuple(fact.path for fact in removed), definition)
        self.actor.tell_the_oracle(receipt)
        world.settle(version, self.actor.note())
        if self.actor.answer_lost:
            # Sent once more, a request may even find the entry that the first one made.
            raise (CommitFailedError if version % 2 else OSError)("the answer is lost")


class MemoryLease(Lease):
    """The queue of writers as it is, but that nobody sleeps: the history decides who looks again."""

    poll_s = WAIT_MAX_S / POLLS_MAX
    stale_s = STALE_US / 1e6

    def __init__(self, actor: Actor, attempt: str, clock: Callable[[], int]) -> None:
        super().__init__(actor.job.location, attempt, clock)
        self.actor, self.attempt = actor, attempt
        self.polls = 0

    def queue_if_others_wait(self) -> None:
        if self.actor.world.fault is not Fault.NEWCOMER_OVERTAKES:
            super().queue_if_others_wait()
        self._goes_on()

    def take(self) -> None:
        self.polls = 0
        super().take()
        self._goes_on()

    def wait(self) -> None:
        self.polls += 1
        self.renew()

    def keep_renewed(self) -> None:
        """Whoever waits renews, each time it looks."""

    def _goes_on(self) -> None:
        """Whom it passes by, that was renewed lately, without having waited as long as one waits."""
        marks = self.actor.world.marks
        tickets = {path: mark.at_us for path, mark in marks.items() if path.startswith(f"{QUEUE}/")}
        mine = next((path for path in tickets if path.endswith(self.attempt)), None)
        newest_us = max(tickets.values(), default=0)
        before = [path for path, at_us in tickets.items() if newest_us - at_us < STALE_US and (not mine or path < mine)]
        if before and self.polls < POLLS_MAX:
            self.actor.world.overtakings.append(f"{self.attempt} went before {before}")


class MemoryTable:
    """`Table` of a world."""

    def __init__(self, actor: Actor) -> None:
        self.world, self.actor = actor.world, actor

    def open(self, version: int | None = None) -> Snapshot:
        self.actor.pause("open")
        at = self.world.version if version is None else version
        if not self.world.has_log_of(at):
            raise Damaged(f"version {at} cannot be opened")
        return self.actor.opened(MemorySnapshot(self.actor, at))

    def name_attempt(self, now_us: int) -> str:
        return self.world.next_name()

    def queue(self, attempt: str, clock: Callable[[], int]) -> Queue:
        return MemoryLease(self.actor, attempt, clock)

    def check_files(self, files: Sequence[FileFact]) -> None:
        gone = [fact.path for fact in files if fact.path not in self.world.files]
        if gone:
            raise Damaged(f"{gone} are missing")

    def as_written(self, snapshot: Snapshot, files: Sequence[FileFact]) -> list[NewFile]:
        self.actor.pause("read")
        self.check_files(files)
        return [NewFile(fact, STATISTICS, 0) for fact in files]

    def statistics_to_state(self, snapshot: Snapshot, new: Sequence[Field], files: Sequence[NewFile]) -> str | None:
        return None

    def write_checkpoint(self, snapshot: Snapshot) -> None:
        self.actor.pause("checkpoint")
        self.world.checkpoints.setdefault(snapshot.version, self.world.now_us)

    def check_checkpoint(self, checkpoint: StoredFile) -> None: ...


def _definition_in(schema: Schema) -> Definition:
    field = next(field for field in schema.fields if field.name == "layout")
    stored: Any = field.metadata[DEFINITION_KEY]
    return Definition.from_json(json.loads(stored) if isinstance(stored, str) else stored)


@lru_cache(maxsize=64)
def _schema_of(definition: Definition) -> Any:
    """What is asked of a schema, without asking delta-rs each time."""
    fields = [column("key", "long"), *stored_fields(), definition_field(definition), *partition_fields()]
    return SimpleNamespace(fields=fields)
