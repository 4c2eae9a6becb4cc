"""An archive on paper: what the log and the ledger say is what the product writes, the data files are only named.

Every slot brings records of a few lives; each life of it is cut by key into pieces of a gigabyte. All of them are
alive, so nothing but the number of files and slots decides what opening and planning cost.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalake import Field
from deltalake.schema import PrimitiveType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.commit import commit, create_table
from tidewheel.commits.operations.fence import fence
from tidewheel.commits.statistics import moment_text
from tidewheel.indexing.core.cells import HASH_MODULUS, Cell
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.slots import MICROS_PER_SECOND, TimeAxis, moment
from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.entry import NewFile
from tidewheel.storage.ledger_store import fold_into_ledger
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

FILE_BYTES, FILE_ROWS = 10**9, 10**6
LIVES = 5
KEYS = 10**9
AXIS = TimeAxis(60 * MICROS_PER_SECOND)
COLUMNS_MAX = 4096  # what an archive file may ask for
COMMIT_FILES_MAX = 250_000
_DAY_US = 24 * 3600 * MICROS_PER_SECOND
_COLUMNS = {"key": "long", "at": "timestamp", "until": "timestamp", "body": "string"}


@dataclass(frozen=True)
class Paper:
    """So many slots, each of so many files."""

    name: str
    slots: int
    files_a_slot: int

    @property
    def files(self) -> int:
        return self.slots * self.files_a_slot

    @property
    def pieces(self) -> int:
        return self.files_a_slot // LIVES

    def definition(self) -> Definition:
        """Expiry by dropping files, of twice as long a life as there are slots: nothing has expired yet."""
        span = 2 * self.slots
        layout = Layout(LayoutKind.ROUND_ROBIN, 1, min(span, COLUMNS_MAX), span)
        generation = Generation(0, layout, Strategy.NO_REBUILD, runs_max=100_000)
        retention = Retention(
            grace_us=_DAY_US, vacuum_period_us=_DAY_US // 4, log_us=7 * _DAY_US, quarantine_us=_DAY_US
        )
        span_us = span * AXIS.interval_us
        return Definition("paper", ("key",), AXIS, span_us, Clock.DATA, (generation,), retention, "salt")

    def expirations(self, slot: int) -> list[int]:
        """The expiration slots of a slot's records: the first that ever comes is the one after the last slot."""
        return [slot + self.slots + life * self.slots // LIVES for life in range(LIVES)]


def make(paper: Paper, folder: Path) -> Location:
    """The archive, with a checkpoint and a ledger file. Cost: some seconds for each 10^5 files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    location = Location.of(folder)
    columns = [Field(name, PrimitiveType(kind), nullable=True) for name, kind in _COLUMNS.items()]
    snapshot = create_table(location, columns, paper.definition(), Receipt(Deed.INIT, _attempt(0), 0, None, 0, 0))
    each = max(1, COMMIT_FILES_MAX // paper.files_a_slot)
    for first in range(0, paper.slots, each):
        slots = range(first, min(first + each, paper.slots))
        attempt = _attempt(1 + first // each)
        files = [file for slot in slots for file in _files(paper, slot, attempt)]
        commit(snapshot, _receipt(paper, slots, attempt, snapshot.head + 1), files, [])
        snapshot = open_snapshot(location)
    fold_into_ledger(snapshot, every=1)
    # The newest ledger file of an archive that was not filled at once has the receipts of a few commits only.
    job = ArchiveJob(location)
    fence(job)
    snapshot = open_snapshot(location)
    fold_into_ledger(snapshot, every=1)
    job.table.write_checkpoint(snapshot)
    return location


def _attempt(number: int) -> str:
    return f"run-20261118T000000-{number:012x}"


def _receipt(paper: Paper, slots: Sequence[int], attempt: str, head: int) -> Receipt:
    files = len(slots) * paper.files_a_slot
    told = tuple(_slot_receipt(paper, slot) for slot in slots)
    return Receipt(
        Deed.UPDATE, attempt, head, slots[-1], 0, 0, slots=told, files_added=files, bytes_added=files * FILE_BYTES
    )


def _slot_receipt(paper: Paper, slot: int) -> SlotReceipt:
    rows = paper.pieces * FILE_ROWS
    cells = {at: Cell(rows, (at * 0x9E3779B97F4A7C15 + slot) % HASH_MODULUS) for at in paper.expirations(slot)}
    return SlotReceipt(slot, rows * LIVES, rows * LIVES, 0, 0, 0, 0, cells, (f"/landing/{slot}.parquet",))


def _files(paper: Paper, slot: int, attempt: str) -> Iterator[NewFile]:
    layout = paper.definition().current.layout
    for expiration in paper.expirations(slot):
        column = layout.column_of(expiration)
        until = moment_text(moment(AXIS.start_us(expiration)))
        for piece in range(paper.pieces):
            low, high = piece * KEYS // paper.pieces, (piece + 1) * KEYS // paper.pieces - 1
            path = f"{attempt}-{slot}/layout=0/g=0/e={column}/part-{piece:05d}-{expiration:08d}.c000.zstd.parquet"
            fact = FileFact(path, 0, 0, column, slot, slot, expiration, expiration, FILE_ROWS, FILE_BYTES)
            least = {"key": low, "ins_slot": slot, "exp_slot": expiration, "valid_until": until}
            nulls = dict.fromkeys(least, 0)
            stats = {
                "numRecords": FILE_ROWS,
                "minValues": least,
                "maxValues": {**least, "key": high},
                "nullCount": nulls,
            }
            yield NewFile(fact, json.dumps(stats), 0)
