"""What lies in the store of one simulated archive, and what the oracle says should."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.simulator.faults import Fault
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.folding import fold
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt
from tidewheel.indexing.core.state import FileFact, TableState

BATCH_SIZES = (0, 1, 3, 6, 9)
KEYS = 5
PARTS = ("a", "b")  # of a derived archive


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
    """What the oracle says of one version; `counting` is the attempt of every batch that counts."""

    batches: dict[int, tuple[Record, ...]]
    watermark: int | None
    content: frozenset[Record]
    counting: dict[BatchKey, str]


@dataclass(frozen=True)
class Note:
    """What the invariants need to know of a commit beyond its receipt."""

    started_version: int
    rows_read: dict[BatchKey, int]
    stored_us: dict[str, int] = field(default_factory=dict)  # when its records came beside the table, by side table


@dataclass(frozen=True)
class Removal:
    """When a data file left the archive."""

    version: int
    at_us: int


@dataclass(frozen=True)
class Aside:
    """A record in a side table."""

    slot: int
    attempt: str
    at_us: int


@dataclass(frozen=True)
class Mark:
    """A small file beside the table."""

    at_us: int
    content: bytes = b""


@dataclass(frozen=True)
class Claim:
    """A reader's hold on a version."""

    version: int
    until_us: int
    vacuums: int  # that there were before


@dataclass
class World:
    """One archive. `states` and `committed` remember what was true at each version; `entries` is what the log has.

    `vacuumed_us` are the vacuums so far, each with the version it saw and its clock; `listed` is what the last one saw.
    `marks` are the small files beside the table: of vacuum and undo for each other, holds, tickets of waiting writers.
    `claims` are all holds that were ever written, `held` those that readers rely on.
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
    beside: dict[str, list[Aside]] = field(default_factory=lambda: defaultdict(list))  # by side table
    marks: dict[str, Mark] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    held: list[Claim] = field(default_factory=list)
    overtakings: list[str] = field(default_factory=list)
    names: int = 0
    version: int = -1
    states: dict[int, TableState] = field(default_factory=dict)
    truths: dict[int, Truth] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)
    committed: list[tuple[int, Receipt]] = field(default_factory=list)
    reported: list[tuple[int, str]] = field(default_factory=list)
    removed: dict[str, Removal] = field(default_factory=dict)
    changed_us: dict[int, int] = field(default_factory=dict)
    vacuumed_us: list[tuple[int, int]] = field(default_factory=list)
    listed: frozenset[str] = frozenset()
    latest_us: int = now_us
    oracle: Oracle = field(default_factory=Oracle)
    parts: dict[BatchKey, tuple[Record, ...]] = field(default_factory=dict)  # of a derived archive
    counting: dict[BatchKey, str] = field(default_factory=dict)
    told: dict[tuple[BatchKey, str], frozenset[Record]] = field(default_factory=dict)  # of a batch, under its name
    _batches: dict[tuple[int, int, str], tuple[Record, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        observed = Observation(horizon_of(self.definition)) if self.definition.derived else None
        number = self.definition.current.number
        receipt = Receipt(Deed.INIT, "init", 0, None, number, self.now_us, observation=observed)
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

    def batch(self, slot: int, part: str = "") -> tuple[Record, ...]:
        """What the source has for a slot now: a function of the seed, the slot, its edition and the part."""
        at = (slot, self.editions.get(slot, 0), part)
        if at not in self._batches:
            # Not by the part's name: a text hashes to something else in every process.
            seed = (self.seed, slot, at[1], PARTS.index(part) if part else -1)
            chance, span = random.Random(hash(seed)), self.definition.span
            self._batches[at] = tuple(
                Record(slot, slot + chance.randint(0, span + 1), chance.randrange(KEYS), (*at, number))
                for number in range(chance.choice(BATCH_SIZES))
            )
        return self._batches[at]

    def lineage(self, slot: int) -> tuple[str, ...]:
        """What a batch of a derived archive is made of now."""
        return (f"edition {self.editions.get(slot, 0)}",)

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
            self.removed[path] = Removal(self.version, self.latest_us)
        self.changed_us[self.version] = self.now_us
        return self.version

    def settle(self, version: int, note: Note) -> None:
        """What the oracle says of the version that was just committed."""
        oracle = self.oracle
        self.notes[version] = note
        content = frozenset(oracle.content())
        self.truths[version] = Truth(dict(oracle.batches), oracle.watermark, content, dict(self.counting))

    def has_log_of(self, version: int) -> bool:
        """Whether the log still tells the version: a checkpoint and every entry since."""
        start = max((at for at in self.checkpoints if at <= version), default=-1)
        return all(at in self.entries for at in range(start + 1, version + 1))

    def ends_us(self, claim: Claim, *, at_the_latest: bool = False) -> int:
        """When vacuum need not honour a hold any more: its time, or the most there is for its version.

        At the latest: if a clock went back, for the version before it that was replaced last.
        """
        following = range(1 if at_the_latest else claim.version + 1, claim.version + 2)
        replaced_us = [self.changed_us[version] for version in following if version in self.changed_us]
        if claim.version == self.version:
            return claim.until_us
        return min(claim.until_us, max(replaced_us) + self.grace_us + self.definition.retention.hold_us)

    def holds(self, claim: Claim) -> bool:
        """Whether a reader may rely on its hold: no vacuum since has seen it ended."""
        ends_us = self.ends_us(claim)
        return all(at_us < ends_us for _, at_us in self.vacuumed_us[claim.vacuums :])


def horizon_of(definition: Definition) -> int:
    """How many slots back the batches of a derived archive are compared."""
    return int(definition.derived or 0)


def edition_of(record: Record) -> int:
    return _body(record)[1]


def part_of(record: Record) -> str:
    """The part of a record in a derived archive."""
    return _body(record)[2]


def _body(record: Record) -> tuple[int, int, str, int]:
    body: Any = record.body
    return body
