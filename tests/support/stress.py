"""Processes that work on one archive at the same time: `python -m tests.support.stress ROLE FOLDER SEED SECONDS [URL]`.

With a URL the archive lies there, on an object store, and only the writers' notes in the folder.

Every slot belongs to one writer, and a later edition of its batch has one record more: so a receipt's `rows_in` names
the edition, and what any version must hold follows from the receipts up to it. A reader compares every read with that,
for the version it is pinned to. Each process prints what it did as one line of JSON when its time is over.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.archives.s3_archive import S3Archive
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.clock import now_us
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import ArchiveFile, Retention
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import MICROS_PER_SECOND
from tidewheel.indexing.errors import Conflict, InvalidInput, TidewheelError
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.snapshot import Snapshot

SPAN, ROWS = 6, 30
GRACE_S = 25
WRITERS = ("even", "odd", "backfill")
Content = Counter[tuple[int, int, str, int]]


@dataclass
class SharedArchive(SmallArchive):
    """The archive as one of many processes sees it: by the real clock, with a grace of seconds."""

    span: int = SPAN

    @property
    def file(self) -> ArchiveFile:
        retention = Retention(GRACE_S * MICROS_PER_SECOND, MICROS_PER_SECOND, 60 * MICROS_PER_SECOND, 10**9)
        return replace(super().file, retention=retention)

    @property
    def unbound(self) -> ArchiveJob:
        """Without the archive file, which says another layout once somebody has migrated."""
        return replace(self.job, file=None, clock=now_us)

    def snapshot(self) -> Snapshot:
        return self.unbound.snapshot()


@dataclass
class SharedS3Archive(SharedArchive, S3Archive):
    """The same on an object store."""


def shared(folder: Path, url: str = "") -> SharedArchive:
    generation = generation_of("round_robin", 1, 3, span=SPAN)
    if url:
        return SharedS3Archive(folder, generation, now_us=now_us(), url=url)
    return SharedArchive(folder, generation, now_us=now_us())


def batch_of(slot: int, edition: int) -> list[Record]:
    chance = random.Random(f"{slot}/{edition}")
    return [
        Record(slot, slot + chance.randint(0, SPAN - 1), f"k{chance.randrange(9)}", chance.randrange(10**9))
        for _ in range(ROWS + edition)
    ]


def expected(receipts: list[tuple[int, Receipt]]) -> Content:
    """What the receipts say is there, record by record."""
    oracle = Oracle()
    for _, receipt in receipts:
        for slot in receipt.slots:
            oracle.update({slot.slot: batch_of(slot.slot, slot.rows_in - ROWS)})
        if receipt.watermark is not None:
            oracle.expire(receipt.watermark)
    return Counter((r.slot, r.expiration_slot, str(r.key), int(str(r.body))) for r in oracle.content())


class Worker:
    def __init__(self, role: str, folder: Path, seed: int, url: str) -> None:
        self.role, self.folder = role, folder
        self.chance = random.Random(f"{role}/{seed}")
        self.archive = shared(folder, url)
        self.did: Counter[str] = Counter()
        self.editions = {int(slot): edition for slot, edition in self._kept().items()}

    def step(self) -> None:
        {"reader": self.read, "stale_reader": self.read_too_late, "migrate": self.migrate, "vacuum": self.vacuum}.get(
            self.role, self.bring
        )()

    def bring(self) -> None:
        """The next slot of one's own, or one of the last again with another edition."""
        mine = sorted(self.editions)
        first, stride = {"even": (0, 2), "odd": (1, 2), "backfill": (-1, -1)}[self.role]
        slot = first + stride * len(mine)
        if mine and self.chance.random() < 0.3:
            slot = self.chance.choice(mine[-4:])
        # Kept before the source is written: an edition that was tried is never used for other records.
        self.editions[slot] = self.editions.get(slot, -1) + 1
        self._keep()
        self.archive.write(slot, batch_of(slot, self.editions[slot]))
        self._until_done(lambda: update(self._job(), [slot], confirmed=EVERYTHING))

    def migrate(self) -> None:
        shape = self.chance.choice([(1, 3, "expire_rebuild"), (2, 2, "rebuild"), (1, 6, "no_rebuild")])
        generation = generation_of("round_robin", *shape, span=SPAN)
        try:
            migrate(self.archive.unbound, generation, relocate=self.chance.random() < 0.5)
            self.did["migrations"] += 1
        except (InvalidInput, Conflict) as error:
            self.did[f"refused: {error.message[:60]}"] += 1
        time.sleep(self.chance.uniform(1, 4))

    def vacuum(self) -> None:
        self.did["deleted"] += sum(vacuum(self.archive.unbound).files.values())
        self.did["vacuums"] += 1
        time.sleep(self.chance.uniform(0.5, 2))

    def read(self) -> None:
        """The same version twice, within grace."""
        with Reader.open(self.archive.job.location, now_us=now_us) as newest:
            version = newest.version
        with Reader.open(self.archive.job.location, now_us=now_us, version=version) as reader:
            opened = time.monotonic()
            due = expected(list(all_receipts(reader.snapshot)))
            self._compare(reader, due)
            time.sleep(self.chance.uniform(0, GRACE_S / 2))
            if time.monotonic() - opened < GRACE_S * 0.9:
                self._compare(reader, due)

    def read_too_late(self) -> None:
        """A version that grace is over for: the same rows, or an error that says why; never other rows."""
        with Reader.open(self.archive.job.location, now_us=now_us) as newest:
            version = newest.version
        with Reader.open(self.archive.job.location, now_us=now_us, version=version) as reader:
            due = expected(list(all_receipts(reader.snapshot)))
            time.sleep(GRACE_S + self.chance.uniform(2, 8))
            try:
                self._compare(reader, due)
            except TidewheelError as error:
                if "grace" not in str(error):
                    raise
                self.did["told that it is too late"] += 1

    def _compare(self, reader: Reader, due: Content) -> None:
        rows = reader.sql("select ins_slot, valid_until, key, body from live").rows()
        axis = self.archive.axis
        found = Counter(
            (slot, axis.expiration_slot_of(round(until.timestamp() * 10**6)), key, body)
            for slot, until, key, body in rows
        )
        assert found == due, (
            f"version {reader.version}: {list((found - due).items())[:3]} {list((due - found).items())[:3]}"
        )
        self.did["reads"] += 1
        self.did["rows read"] += len(rows)

    def _until_done(self, operation: Callable[[], object]) -> None:
        """Another layout, another writer, a pause that outlived grace: tried again, as a scheduler does."""
        while True:
            try:
                operation()
                self.did["updates"] += 1
                return
            except (InvalidInput, Conflict) as error:
                self.did[f"tried again: {type(error).__name__}"] += 1

    def _job(self) -> ArchiveJob:
        """With an archive file that follows the migrations."""
        current = self.archive.snapshot().definition.current
        file = replace(self.archive.file, generation=replace(current, number=0))
        return replace(self.archive.unbound, file=file)

    def _kept(self) -> dict[str, int]:
        path = self.folder / f"{self.role}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def _keep(self) -> None:
        part = self.folder / f"{self.role}.json.part"
        part.write_text(json.dumps(self.editions))
        part.replace(self.folder / f"{self.role}.json")


def main(role: str, folder: Path, seed: int, seconds: float, url: str = "") -> None:
    worker, ends = Worker(role, folder, seed, url), time.monotonic() + seconds
    while time.monotonic() < ends:
        worker.step()
    print(json.dumps({"role": role, **worker.did}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:])
