"""The ports of the protocol in memory: what `commits/` sees of a world, through the eyes of one actor.

A `Location` whose files are the world's, a `Snapshot` that makes the next log entry, and the `Table` that opens it.
Before whatever others can see, or what sees others, the actor pauses: it may go on later, or never.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from deltalake import Field, Schema
from deltalake.exceptions import CommitFailedError

from tests.simulator.faults import Fault
from tests.simulator.world import Fold, World
from tidewheel.commits.commit import partition_fields, stored_fields
from tidewheel.commits.table import Queue
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Operation, Receipt
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.entry import Entry, NewFile
from tidewheel.storage.floor import FLOORS, UNDOS
from tidewheel.storage.location import ListedFile, Location
from tidewheel.storage.log_files import FOLDER as LOG
from tidewheel.storage.receipt_files import MadeOf, Numbered
from tidewheel.storage.snapshot import DEFINITION_KEY, Snapshot, definition_field

if TYPE_CHECKING:
    from tests.simulator.actors import Actor

URI = "memory://archive"
STATISTICS = "{}"
FENCELESS = (Fault.VACUUM_WITHOUT_FENCE, Fault.COMMITS_VACUUMED_FILES)


class MemoryLocation(Location):
    """Data files, the log and the marks beside them."""

    def __init__(self, world: World, actor: Actor) -> None:
        super().__init__(URI)
        self.__dict__.update(world=world, actor=actor)

    world: World
    actor: Actor

    def files_below(self, relative: str) -> list[ListedFile]:
        if relative.startswith("_tidewheel") and relative not in (FLOORS, UNDOS):
            return self._marks(relative)
        self.actor.pause("list")
        if relative == LOG:
            return list(self._log())
        if relative in (FLOORS, UNDOS):
            return [] if self.world.fault is Fault.VACUUM_IGNORES_UNDO else self._marks(relative)
        if not relative:
            self.actor.looks_at_all_files()
        elif self.world.fault is Fault.COMMITS_VACUUMED_FILES:
            return [ListedFile(f"{URI}/{path}", 1, 0) for path in self.actor.written]
        files = self.world.files.items()
        return [
            ListedFile(f"{URI}/{path}", file.fact.bytes, file.written_us * 1000)
            for path, file in files
            if not relative or path.startswith(f"{relative}/")
        ]

    def read_bytes(self, path: str) -> bytes:
        entry = self.world.entries.get(int(path[-25:-5]))
        if entry is None:
            raise FileNotFoundError(path)
        return entry.removals

    def write_bytes(self, path: str, content: bytes) -> None:
        self.actor.pause("write")
        self.world.marks[self.relative(path)] = self.world.now_us

    def delete(self, relative: str) -> None:
        self.actor.pause("delete")
        self.world.marks.pop(relative, None)

    def delete_all(self, relatives: Iterable[str]) -> None:
        self.actor.pause("delete")
        for path in relatives:
            if path.startswith(LOG):
                self._delete_from_log(path)
            elif not self._spared(path):
                self.world.files.pop(path, None)
                self.actor.has_deleted = True

    def delete_folder(self, relative: str) -> None:
        self.actor.pause("discard")
        for path in [path for path in self.world.files if path.startswith(f"{relative}/")]:
            del self.world.files[path]

    def side_location(self, relative: str) -> Location:
        return SideLocation(f"{URI}/_tidewheel/{relative}")

    def _marks(self, folder: str) -> list[ListedFile]:
        marks = self.world.marks.items()
        return [ListedFile(f"{URI}/{path}", 0, at * 1000) for path, at in marks if path.startswith(f"{folder}/")]

    def _log(self) -> Iterator[ListedFile]:
        for version, entry in self.world.entries.items():
            yield ListedFile(_entry_path(version), 1, entry.changed_us * 1000)
        for version, at_us in self.world.checkpoints.items():
            yield ListedFile(f"{URI}/{LOG}/{version:020d}.checkpoint.parquet", 1, at_us * 1000)

    def _delete_from_log(self, path: str) -> None:
        world, version = self.world, int(path.removeprefix(f"{LOG}/")[:20])
        if path.endswith(".json"):
            world.entries.pop(version, None)
            if world.fault is Fault.LOG_CLEANED_TOO_FAR:
                world.entries.pop(world.version - 1, None)
        else:
            world.checkpoints.pop(version, None)

    def _spared(self, path: str) -> bool:
        was_committed = path in self.world.removed_us
        return (self.world.fault is Fault.VACUUM_SPARES_EXPIRED_FILES and was_committed) or (
            self.world.fault is Fault.VACUUM_SPARES_DEAD_ATTEMPTS and not was_committed
        )


class SideLocation(Location):
    """A side table's folder: nothing in it that a vacuum could do away with."""

    def files_below(self, relative: str) -> list[ListedFile]:
        return [ListedFile(f"{self.uri}/{LOG}/{0:020d}.checkpoint.parquet", 1, 0)] if relative == LOG else []

    def delete_all(self, relatives: Iterable[str]) -> None:
        assert not list(relatives)


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

    def folded(self, version: int) -> Numbered:
        return self.world.folds[version].receipts

    def made_of(self, version: int) -> MadeOf:
        world = self.world
        since = max((at for at in world.folds if at <= version), default=-1)
        entries = (world.entries.get(at) for at in range(since + 1, version + 1))
        folds = (world.folds[since].serial,) if since >= 0 else ()
        return (*folds, *(entry.serial if entry is not None else None for entry in entries))

    def write(self, ledger: Ledger, receipts: Numbered) -> None:
        self.actor.pause("fold")
        self.world.folds[ledger.version] = Fold(ledger, receipts)


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
        world, receipt = self.actor.world, _planted(entry.receipt, world_fault := self.actor.world.fault)
        if receipt.operation is Operation.FENCE and world_fault in FENCELESS:
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


class Unqueued:
    """`Queue` where nobody waits: the history says who goes next."""

    def queue_if_others_wait(self) -> None: ...

    def take(self) -> None: ...

    def release(self) -> None: ...


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
        return Unqueued()

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


def _planted(receipt: Receipt, fault: Fault | None) -> Receipt:
    """The receipt as it gets into the log, where what keeps the log is at fault."""
    if fault is Fault.WATERMARK_GOES_BACK and receipt.slots:
        return replace(receipt, watermark=receipt.slots[-1].slot)
    if fault is Fault.RELOCATION_NOT_RECORDED:
        return replace(receipt, relocated=False)
    if fault is Fault.LEDGER_FORGETS_A_CELL and receipt.slots and receipt.slots[0].cells:
        cells = dict(list(receipt.slots[0].cells.items())[1:])
        return replace(receipt, slots=(replace(receipt.slots[0], cells=cells), *receipt.slots[1:]))
    return receipt


@lru_cache(maxsize=1024)
def _entry_path(version: int) -> str:
    return f"{URI}/{LOG}/{version:020d}.json"


def _definition_in(schema: Schema) -> Definition:
    field = next(field for field in schema.fields if field.name == "layout")
    stored: Any = field.metadata[DEFINITION_KEY]
    return Definition.from_json(json.loads(stored) if isinstance(stored, str) else stored)


@lru_cache(maxsize=64)
def _schema_of(definition: Definition) -> Any:
    """What is asked of a schema, without asking delta-rs each time."""
    fields = [Field("key", "long"), *stored_fields(), definition_field(definition), *partition_fields()]
    return SimpleNamespace(fields=fields)
