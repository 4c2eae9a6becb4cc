"""Small real archives: Parquet files as source, a Delta table, and the oracle beside them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.operations.expire import expire
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import (
    ArchiveFile,
    Clock,
    Policy,
    Retention,
    Schedule,
    Source,
    SourceKind,
)
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.slots import TimeAxis, moment
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

MINUTE_US = 60 * 1_000_000
HOUR_US = 60 * MINUTE_US
SCHEMA = "key string, body bigint, ins timestamp, until timestamp"
EVERYTHING = Confirmations(allow_future=True, allow_jump=True, allow_shrink=True)


def generation_of(
    kind: str = "round_robin",
    g: int = 2,
    e: int = 2,
    strategy: str = "expire_rebuild",
    *,
    span: int = 4,
    **bounds: float,
) -> Generation:
    layout = Layout(LayoutKind(kind), g, e, span)
    return Generation(0, layout, Strategy(strategy), **bounds)  # type: ignore[arg-type]


@dataclass
class SmallArchive:
    """An archive in a folder: write a slot's batch, update, compare with the oracle."""

    folder: Path
    generation: Generation
    span: int = 4
    policy: Policy = field(default_factory=Policy)
    clock: Clock = Clock.DATA
    grace_us: int = HOUR_US
    now_us: int = 1_800_000_000_000_000
    axis: TimeAxis = field(default_factory=lambda: TimeAxis(MINUTE_US))
    oracle: Oracle = field(default_factory=Oracle)

    @property
    def file(self) -> ArchiveFile:
        return ArchiveFile(
            name="small",
            path=str(self.folder / "table"),
            key=("key",),
            expires_at="until",
            inserted_at="ins",
            clock=self.clock,
            axis=self.axis,
            max_lifetime_us=self.span * self.axis.interval_us,
            generation=self.generation,
            source=Source(
                SourceKind.FILES,
                format="parquet",
                path=str(self.folder / "source" / "{slot}.parquet"),
                schema=SCHEMA,
                missing="empty",
            ),
            policy=self.policy,
            retention=Retention(self.grace_us, HOUR_US, 7 * 24 * HOUR_US, 24 * HOUR_US),
            schedule=Schedule(),
        )

    @property
    def job(self) -> ArchiveJob:
        return archive_job(Location.of(self.folder / "table"), self.file, clock=lambda: self.now_us)

    def create(self) -> Self:
        create(self.job)
        return self

    def write(self, slot: int, records: Iterable[Record]) -> None:
        """The batch of a slot as a Parquet file; what was there before is replaced."""
        path = self.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(self.table_of(records), path)

    def table_of(self, records: Iterable[Record]) -> pa.Table:
        rows = list(records)
        times = pa.timestamp("us", "UTC")
        return pa.table(
            {
                "key": pa.array([str(r.key) for r in rows], pa.string()),
                "body": pa.array([r.body for r in rows], pa.int64()),
                "ins": pa.array([moment(self.times_us(r)[0]) for r in rows], times),
                "until": pa.array([moment(self.times_us(r)[1]) for r in rows], times),
            }
        )

    def times_us(self, record: Record) -> tuple[int, int]:
        """Insertion and expiry of a record: at a place in their slots that its body decides."""
        offset_us = 2 + hash(record.body) % (self.axis.interval_us - 2)
        start_us = self.axis.start_us(record.slot)
        inserted_us = start_us + (1 if record.expiration_slot == record.slot else offset_us)
        return inserted_us, self.axis.start_us(record.expiration_slot) + offset_us

    def update(self, batches: Mapping[int, Iterable[Record]]) -> Outcome:
        """Write the batches and bring them in, in one commit, here and in the oracle."""
        batches = {slot: list(records) for slot, records in batches.items()}
        for slot, records in batches.items():
            self.write(slot, records)
        outcome = update(self.job, batches, confirmed=EVERYTHING)
        self.oracle.update(batches)
        return outcome

    def expire(self, through: int) -> Outcome:
        outcome = expire(self.job, through, confirmed=EVERYTHING)
        self.oracle.expire(through)
        return outcome

    def migrated_to(self, generation: Generation) -> None:
        """The archive file follows a migration."""
        self.generation = replace(generation, number=0)

    def snapshot(self) -> Snapshot:
        return self.job.snapshot()

    def content(self) -> list[tuple[int, int, str, int]]:
        """What a reader sees at the end of the watermark, straight from the files, in order."""
        snapshot = self.snapshot()
        if snapshot.watermark is None:
            return []
        end_us = self.axis.end_us(snapshot.watermark)
        rows = []
        for fact in snapshot.files:
            table = pq.ParquetFile(snapshot.location.child(fact.path)).read(
                ["ins_slot", "exp_slot", "key", "body", "valid_until"]
            )
            rows += [
                (row["ins_slot"], row["exp_slot"], row["key"], row["body"])
                for row in table.to_pylist()
                if row["valid_until"] > moment(end_us)
            ]
        return sorted(rows)

    def expected(self) -> list[tuple[int, int, str, int]]:
        return sorted((r.slot, r.expiration_slot, str(r.key), r.body) for r in self.oracle.content())  # type: ignore[misc]

    def check(self) -> None:
        """Content equals the oracle, the ledger equals the content, every file is where its slots belong."""
        assert self.content() == self.expected()
        state = state_of(self.snapshot())
        counted: dict[tuple[int, int], int] = {}
        for slot, expiration, _, _ in self.expected():
            counted[(slot, expiration)] = counted.get((slot, expiration), 0) + 1
        assert {at: cell.rows for at, cell in state.ledger.cells().items()} == counted
        for fact in state.files:
            layout = state.definition.generation(fact.generation).layout
            assert fact.g in {layout.row_of(s) for s in range(fact.ins_min, fact.ins_max + 1)}


def random_batch(chance: random.Random, slot: int, span: int, rows: int = 12, *, keys: int = 6) -> list[Record]:
    """Records of one slot with lifetimes from none to the whole span."""
    return [
        Record(slot, slot + chance.randint(0, span), f"k{chance.randrange(keys)}", chance.randrange(1_000_000))
        for _ in range(rows)
    ]
