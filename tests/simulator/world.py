"""What lies in the store of one simulated archive, and what the oracle says should."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from tests.simulator.faults import Fault
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.ledger import Ledger, fold
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.receipts import Operation, Receipt
from tidewheel.indexing.core.state import FileFact, TableState

BATCH_SIZES = (0, 1, 3, 6, 9)
KEYS = 5


@dataclass(frozen=True)
class ModelFile:
    fact: FileFact
    records: tuple[Record, ...]
    written_us: int


@dataclass(frozen=True)
class Entry:
    """One log entry."""

    receipt: Receipt
    removed: tuple[str, ...]
    changed_us: int
    serial: int = field(default_factory=count().__next__)  # of all entries of all worlds

    @property
    def removals(self) -> bytes:
        """The lines of the log's file that say what was taken out."""
        lines = (json.dumps({"remove": {"path": path}}, separators=(",", ":")) for path in self.removed)
        return "\n".join(lines).encode()


@dataclass(frozen=True)
class Fold:
    """One ledger file."""

    ledger: Ledger
    receipts: list[tuple[int, Receipt]]
    serial: int = field(default_factory=count(-1, -1).__next__)


@dataclass(frozen=True)
class Truth:
    """What the oracle says of one version."""

    batches: dict[int, tuple[Record, ...]]
    watermark: int | None
    content: frozenset[Record]


@dataclass(frozen=True)
class Note:
    """What the invariants need to know of a commit beyond its receipt."""

    started_version: int
    rows_read: dict[int, int]
    stored_us: int = 0  # when its quarantined records came


@dataclass(frozen=True)
class Quarantined:
    slot: int
    attempt: str
    body: object
    at_us: int


@dataclass
class World:
    """One archive. `states` and `committed` remember what was true at each version; `entries` is what the log has.

    `vacuumed_us` are the vacuums so far, each with the version it saw and its clock; `listed` is what the last one saw.
    `marks` are the empty files that vacuum and undo leave for each other.
    """

    seed: int
    definition: Definition
    fault: Fault | None = None
    now_us: int = 10_000
    editions: dict[int, int] = field(default_factory=dict)
    files: dict[str, ModelFile] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    checkpoints: dict[int, int] = field(default_factory=dict)
    folds: dict[int, Fold] = field(default_factory=dict)
    quarantine: list[Quarantined] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    names: int = 0
    version: int = -1
    states: dict[int, TableState] = field(default_factory=dict)
    truths: dict[int, Truth] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)
    committed: list[tuple[int, Receipt]] = field(default_factory=list)
    reported: list[tuple[int, str]] = field(default_factory=list)
    removed_us: dict[str, int] = field(default_factory=dict)
    vacuumed_us: list[tuple[int, int]] = field(default_factory=list)
    listed: frozenset[str] = frozenset()
    latest_us: int = now_us
    oracle: Oracle = field(default_factory=Oracle)
    _batches: dict[tuple[int, int], tuple[Record, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        receipt = Receipt(Operation.INIT, "init", 0, None, self.definition.current.number, self.now_us)
        self.append(receipt, [], (), self.definition)
        self.settle(self.version, Note(-1, {}))

    def pass_time(self, by_us: int) -> None:
        """The clock moves, perhaps back; what the store wrote while it was ahead keeps its moment."""
        self.now_us += by_us
        self.latest_us = max(self.latest_us, self.now_us)

    @property
    def state(self) -> TableState:
        return self.states[self.version]

    @property
    def grace_us(self) -> int:
        return self.definition.retention.grace_us

    def batch(self, slot: int) -> tuple[Record, ...]:
        """What the source has for a slot now: a function of the seed, the slot and its edition."""
        at = (slot, self.editions.get(slot, 0))
        if at not in self._batches:
            chance, span = random.Random(hash((self.seed, *at))), self.definition.span
            self._batches[at] = tuple(
                Record(slot, slot + chance.randint(0, span + 1), chance.randrange(KEYS), (*at, number))
                for number in range(chance.choice(BATCH_SIZES))
            )
        return self._batches[at]

    def next_name(self) -> str:
        self.names += 1
        return f"run-20260101T000000-{self.names:012x}"

    def append(
        self, receipt: Receipt, added: Sequence[FileFact], removed: tuple[str, ...], definition: Definition
    ) -> int:
        """One more log entry; who loses the race has been told before."""
        before = self.states.get(self.version)
        self.version += 1
        self.entries[self.version] = Entry(receipt, removed, self.now_us)
        gone = set(removed)
        facts = [fact for fact in before.files if fact.path not in gone] if before else []
        facts += added
        ledger = fold(before.ledger if before else Ledger(), self.version, receipt, definition.span)
        self.states[self.version] = TableState(
            self.version, receipt.head, receipt.watermark, definition, tuple(facts), ledger
        )
        self.committed.append((self.version, receipt))
        for path in removed:
            self.removed_us[path] = self.latest_us
        return self.version

    def settle(self, version: int, note: Note) -> None:
        """What the oracle says of the version that was just committed."""
        oracle = self.oracle
        self.notes[version] = note
        self.truths[version] = Truth(dict(oracle.batches), oracle.watermark, frozenset(oracle.content()))

    def has_log_of(self, version: int) -> bool:
        """Whether the log still tells the version: a checkpoint and every entry since."""
        start = max((at for at in self.checkpoints if at <= version), default=-1)
        return all(at in self.entries for at in range(start + 1, version + 1))
