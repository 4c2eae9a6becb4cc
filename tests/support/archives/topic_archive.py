"""An archive fed by a Kafka topic, with the oracle beside it: slots of a minute, a clock that is moved by hand.

The oracle reads a partition as somebody would by hand: from where it stopped, up to the first message stamped at or
after the slot's end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq

from tests.support.services.broker import Broker, Message
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.offsets import SlotOffsets
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.slots import iso, micros
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import all_receipts, ledger_of
from tidewheel.storage.location import Location

SPAN = 6
MINUTE_US = 60_000_000
LATENESS_US = 10_000_000
_FILE = """
[archive]
name = "flows"
path = "{folder}/table"
key = ["key"]
inserted_at = "sent"
expires_at = "until"
clock = "data"
[time]
interval = "1m"
max_lifetime = "{span}m"
epoch = "2026-01-01T00:00:00Z"
[layout]
expiration_classes = 2
[source]
topic = "{topic}"
schema = "key string, until timestamp, body bigint"
lateness = "10s"
{more}
[source.message]
timestamp = "sent"
partition = "part"
offset = "place"
[source.options]
"bootstrap.servers" = "{address}"
{options}
"""


@dataclass
class TopicArchive:
    folder: Path
    broker: Broker
    topic: str
    partitions: int = 2
    more: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    now_us: int = 0
    sent: dict[int, list[Message]] = field(default_factory=dict)  # by partition, all there ever was
    taken: dict[int, int] = field(default_factory=dict)  # by partition, how many of them slots have read
    oracle: Oracle = field(default_factory=Oracle)
    records: int = 0

    @property
    def file(self) -> ArchiveFile:
        text = _FILE.format(
            folder=self.folder, topic=self.topic, address=self.broker.address, more=self.more, span=SPAN,
            options="\n".join(f'"{name}" = "{value}"' for name, value in self.options.items()),
        )  # fmt: skip
        return parse_archive_file(text, "flows.toml")

    @property
    def job(self) -> ArchiveJob:
        return ArchiveJob(Location.of(self.file.path), self.file, clock=lambda: self.now_us)

    def create(self, **config: str) -> TopicArchive:
        self.broker.create(self.topic, self.partitions, **config)
        create(self.job)
        return self

    def at(self, minute: float) -> int:
        return self.file.axis.epoch_us + round(minute * MINUTE_US)

    def message(self, minute: float, partition: int = 0, life: int = 3) -> Message:
        """A record of its own that lives until some slots on."""
        self.records += 1
        until = iso(self.at(int(minute) + life + 0.5))
        value = {"key": f"k{self.records % 7}", "until": until, "body": self.records}
        return Message(self.at(minute), value, partition, key=f"k{self.records}")

    def send(self, *messages: Message) -> None:
        self.broker.send(self.topic, messages)
        for one in messages:
            self.sent.setdefault(one.partition, []).append(one)

    def update(
        self, *slots: int, allow_shrink: bool = False, progress: Callable[[str], None] = lambda step: None
    ) -> Outcome:
        """Bring slots when their lateness has passed; new ones in their order."""
        self.now_us = max(self.now_us, self.at(max(slots) + 1) + LATENESS_US)
        job = replace(self.job, progress=progress)
        outcome = update(job, slots, confirmed=Confirmations(allow_shrink=allow_shrink))
        for slot in sorted(set(slots) - self.oracle.batches.keys()):
            self.oracle.update({slot: self._taken(slot)})
        return outcome

    def _taken(self, slot: int) -> list[Record]:
        records = []
        for number, sent in self.sent.items():
            first = end = self.taken.get(number, 0)
            while end < len(sent) and sent[end].at_us < self.at(slot + 1):
                end += 1
            self.taken[number] = end
            records += [_record(one, slot, self.file) for one in sent[first:end]]
        return records

    def offsets(self, slot: int) -> SlotOffsets:
        offsets = ledger_of(self.job.snapshot()).batches[slot, ""].offsets
        assert offsets is not None
        return offsets

    def first_read(self) -> dict[int, SlotOffsets]:
        """By slot, what it read the first time."""
        read: dict[int, SlotOffsets] = {}
        for _, receipt in all_receipts(self.job.snapshot()):
            for one in receipt.slots:
                if one.offsets is not None:
                    read.setdefault(one.slot, one.offsets)
        return read

    def late_rows(self) -> int:
        """How many records came late; those of slots that were read again count once."""
        counted: set[int] = set()
        rows = 0
        for _, receipt in all_receipts(self.job.snapshot()):
            slots = {one.slot for one in receipt.slots}
            rows += 0 if slots <= counted else receipt.late_rows
            counted |= slots
        return rows

    def content(self) -> list[tuple[int, int, str, int]]:
        """What is alive at the watermark, straight from the files."""
        snapshot = self.job.snapshot()
        assert snapshot.watermark is not None
        rows: list[tuple[int, int, str, int]] = []
        for fact in snapshot.files:
            table = pq.ParquetFile(snapshot.location.child(fact.path)).read(["ins_slot", "exp_slot", "key", "body"])
            rows += [tuple(row.values()) for row in table.to_pylist()]
        return sorted(row for row in rows if row[1] > snapshot.watermark)

    def expected(self) -> list[tuple[int, int, str, int]]:
        return sorted((r.slot, r.expiration_slot, str(r.key), r.body) for r in self.oracle.content())  # type: ignore[misc]

    def check(self) -> None:
        assert self.content() == self.expected()


def _record(message: Message, slot: int, file: ArchiveFile) -> Record:
    value = message.value
    assert isinstance(value, dict)

    until = file.axis.expiration_slot_of(micros(datetime.fromisoformat(value["until"])))
    return Record(slot, until, value["key"], value["body"])


def bodies(rows: Sequence[tuple[int, int, str, int]], slot: int) -> list[int]:
    """Of what is alive, the records that a slot brought."""
    return [row[3] for row in rows if row[0] == slot]
