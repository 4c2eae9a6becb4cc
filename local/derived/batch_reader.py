"""Every valid record of a slot's batch, stored or not, and whether that can still be had.

1. If nothing of the batch has expired since it came, the archive's newest version holds all that was stored.
2. Else the version that brought it does, as long as its files are there; what was forgotten since is taken out.
3. Else only what is still alive can be read: exact for what counts the living from now on, for nothing else.

Records that came and were not stored (short-lived, dead on arrival) are read from the side table, where one was kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.observe import batches_beyond
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.written import check_sizes
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt, Tombstone
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import TidewheelError
from tidewheel.local.keys import covered_rows
from tidewheel.local.rows import file_schema, in_schema, rows_of
from tidewheel.queries.standing.lineage import Cover, Coverage
from tidewheel.storage.ledger_store import entry_receipt, receipts_since, state_of
from tidewheel.storage.snapshot import Snapshot, open_snapshot
from tidewheel.storage.uncollected import uncollected

ALL = Coverage(Cover.ALL)

Told = Mapping[tuple[int, str], tuple[int, SlotReceipt]]  # by slot and attempt, the version and what its receipt says


@dataclass(frozen=True)
class SlotRows:
    """A batch's records, and how much of the batch they are."""

    rows: pa.Table
    coverage: Coverage


@dataclass
class SlotReader:
    """Reads batches of one archive at one version."""

    job: ArchiveJob
    snapshot: Snapshot
    state: TableState
    _versions: dict[int, Snapshot] = field(default_factory=dict)
    _entries: dict[int, Told] = field(default_factory=dict)  # by version
    _beside: dict[tuple[int, str], pa.Table | None] = field(default_factory=dict)  # by batch, what was not stored

    def observed(self, horizon: int) -> SlotReader:
        """The same of an archive that is told to keep its batch map so far back."""
        ledger = self.state.ledger
        batches = {**batches_beyond(self.snapshot, ledger, horizon), **ledger.batches}
        return replace(self, state=replace(self.state, ledger=replace(ledger, batches=batches)))

    def read(self, slot: int) -> SlotRows:
        """The records of the slot's latest batch."""
        batch = self.state.ledger.batches.get((slot, ""))
        nothing = file_schema(self.snapshot).empty_table()
        if batch is None:
            return SlotRows(nothing, Coverage(Cover.NONE, why="the slot was undone"))
        version, receipt = self._receipt(slot, batch.attempt)
        if version is None or receipt is None:
            return self._what_lives(slot, "the batch's receipt is not known")
        try:
            return SlotRows(pa.concat_tables([self._stored(version, receipt), *self._unstored(receipt, batch)]), ALL)
        except _GoneError as gone:
            return self._what_lives(slot, str(gone))

    def read_all(
        self, slots: Sequence[int], columns: Sequence[str] | None = None
    ) -> tuple[pa.Table, dict[int, Coverage]]:
        """Some columns of the records of several slots' latest batches. Those that lie whole in the newest version are
        read at once."""
        with uncollected():
            others = [slot for slot in slots if not self.is_whole(slot)]
        self._read_beside(others)
        found = {slot: self.read(slot) for slot in others}
        whole = [slot for slot in slots if slot not in found]
        names = columns or file_schema(self.snapshot).names
        rows = pa.concat_tables(
            [self._rows(self.snapshot, whole, names), *(one.rows.select(names) for one in found.values())]
        )
        return rows, {slot: found[slot].coverage if slot in found else ALL for slot in slots}

    def is_whole(self, slot: int) -> bool:
        """Tell whether the newest version holds every record of the slot's batch."""
        batch = self.state.ledger.batches.get((slot, ""))
        _, receipt = (None, None) if batch is None else self._receipt(slot, batch.attempt)
        unstored = 0 if receipt is None else receipt.short_lived + receipt.dead_on_arrival
        return receipt is not None and not unstored and self._nothing_expired(receipt)

    def _stored(self, version: int, receipt: SlotReceipt) -> pa.Table:
        """All that was stored of a batch, in whatever version it is."""
        if self._nothing_expired(receipt):
            return self._rows(self.snapshot, [receipt.slot])
        return self._as_it_came(receipt.slot, version)

    def _unstored(self, receipt: SlotReceipt, batch: Batch) -> list[pa.Table]:
        """The records of a batch that were not stored, from beside the archive, without forgotten ones."""
        unstored = receipt.short_lived + receipt.dead_on_arrival
        if not unstored:
            return []
        key = (receipt.slot, batch.attempt)
        if key not in self._beside:
            self._read_beside([receipt.slot])
        rows = self._beside.pop(key, None) if receipt.beside else None
        if rows is None or rows.num_rows != unstored:
            raise _GoneError("records that came and were not stored are not kept")
        schema = file_schema(self.snapshot)
        rows = in_schema(rows.filter(pc.is_valid(rows.column("exp_slot"))), schema)
        if batch.erasure:  # a sweep follows its forget, and may be under way
            rows = self._without_forgotten_since(rows, receipt.slot)
        return [rows]

    def _read_beside(self, slots: Sequence[int]) -> None:
        """Read what was not stored of some batches at once. Cost: the side table is opened, and its files for them."""
        batches = self.state.ledger.batches
        keys = {(slot, batches[slot, ""].attempt) for slot in slots if (slot, "") in batches} - self._beside.keys()
        rows = UNSTORED_TABLE.read(self.job.location, keys) if keys else None
        places: dict[tuple[int, str], list[int]] = {key: [] for key in keys}
        for place, key in enumerate(UNSTORED_TABLE.keys(rows) if rows is not None else ()):
            places[key].append(place)
        self._beside |= {
            key: None if rows is None else rows.take(pa.array(mine, pa.int64())) for key, mine in places.items()
        }

    def _what_lives(self, slot: int, why: str) -> SlotRows:
        """The records of the slot that are still alive, and why they are not all."""
        watermark = self.state.watermark
        rows = self._rows(self.snapshot, [slot])
        if watermark is None:
            return SlotRows(rows, Coverage(Cover.LIVE, since=slot, why=why))
        alive = rows.filter(pc.greater(rows.column("exp_slot"), watermark))
        return SlotRows(alive, Coverage(Cover.LIVE, since=watermark, why=why))

    def _nothing_expired(self, receipt: SlotReceipt) -> bool:
        watermark = self.state.watermark
        return watermark is None or min(receipt.cells, default=watermark + 1) > watermark

    def _as_it_came(self, slot: int, version: int) -> pa.Table:
        """The rows at the version that brought them, without what was forgotten since."""
        try:
            # Columns that came since are NULL.
            rows = in_schema(self._rows(self._version(version), [slot]), file_schema(self.snapshot))
        except (TidewheelError, OSError, pa.ArrowException) as error:
            raise _GoneError("the version that brought it cannot be read any more") from error
        return self._without_forgotten_since(rows, slot)

    def _without_forgotten_since(self, rows: pa.Table, slot: int) -> pa.Table:
        later = [one for one in self.state.ledger.tombstones if one.slot_max >= slot]
        return self._without_forgotten(rows, later) if later and rows.num_rows else rows

    def _without_forgotten(self, rows: pa.Table, tombstones: Sequence[Tombstone]) -> pa.Table:
        """Rows that no tombstone covers: by their key, or as a whole."""
        try:
            return rows.filter(pc.invert(covered_rows(self.job.hand, self.snapshot, rows, tombstones)))
        except TidewheelError as error:
            raise _GoneError(f"what was forgotten since cannot be told apart: {error.message}") from error

    def _rows(self, snapshot: Snapshot, slots: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of some slots; `slots` ascend."""
        files = [
            file for file in snapshot.files
            if (at := bisect_left(slots, file.ins_min)) < len(slots) and slots[at] <= file.ins_max
        ]  # fmt: skip
        schema = file_schema(snapshot)
        check_sizes(self.job.location, files)
        names = columns or schema.names
        if not files:
            return schema.empty_table().select(names)
        wanted = pc.field("ins_slot").isin(list(slots))
        return rows_of(self.job.location, files, schema).to_table(columns=names, filter=wanted)

    def _version(self, version: int) -> Snapshot:
        if version not in self._versions:
            self._versions[version] = open_snapshot(self.job.location, version)
        return self._versions[version]

    def _receipt(self, slot: int, attempt: str) -> tuple[int | None, SlotReceipt | None]:
        """The version that brought a batch, and what its receipt says of it."""
        record = self.state.ledger.records.get(slot)
        if record is not None and record.attempt == attempt:
            told = self._entry(record.version).get((slot, attempt))
            if told is not None:
                return told
        return self._receipts.get((slot, attempt), (None, None))

    def _entry(self, version: int) -> Told:
        """Receipts in the log's entry of a version; none if it is gone, folded into the ledger."""
        if version not in self._entries:
            self._entries[version] = {}
            with suppress(TidewheelError):
                receipt = entry_receipt(self.snapshot, version)
                if receipt is not None and receipt.operation is Deed.UPDATE:
                    told = {(one.slot, receipt.attempt): (version, one) for one in receipt.slots}
                    self._entries[version] = told
        return self._entries[version]

    def forgets_since(self, slot: int, known: int) -> list[Receipt]:
        """The forgets that cover records of the slot's batch, after the one that is known by its head."""
        batch = self.state.ledger.batches[slot, ""]
        brought, _ = self._receipt(slot, batch.attempt)
        return [
            receipt
            for version, receipt in self._forgets
            if receipt.head > known and version > (brought or 0) and receipt.may_have_forgotten(slot)
        ]

    @cached_property
    def _forgets(self) -> list[tuple[int, Receipt]]:
        """Cost: all receipts."""
        return [one for one in receipts_since(self.snapshot, -1) if one[1].operation is Deed.FORGET]

    @cached_property
    def _receipts(self) -> dict[tuple[int, str], tuple[int, SlotReceipt]]:
        """The version and receipt of each (slot, attempt). Cost: receipts of recent versions."""
        known = self.state.ledger.records.values()
        oldest = min((record.version for record in known), default=-1)
        found: dict[tuple[int, str], tuple[int, SlotReceipt]] = {}
        wanted = {(slot, batch.attempt) for (slot, part), batch in self.state.ledger.batches.items() if not part}
        for start in (max(-1, oldest - 1), -1):
            found |= _told(receipts_since(self.snapshot, start), wanted)
            if wanted <= found.keys():
                break
        return found


class _GoneError(Exception):
    """Rows that cannot be read any more."""


def _told(
    receipts: Iterable[tuple[int, Receipt]], wanted: set[tuple[int, str]]
) -> dict[tuple[int, str], tuple[int, SlotReceipt]]:
    found = {}
    for version, receipt in receipts:
        if receipt.operation is Deed.UPDATE:
            found.update(
                {(one.slot, receipt.attempt): (version, one) for one in receipt.slots
                 if (one.slot, receipt.attempt) in wanted}
            )  # fmt: skip
    return found


def reader_of(job: ArchiveJob) -> SlotReader:
    """A reader of the archive's newest version."""
    snapshot = job.snapshot()
    return SlotReader(job, snapshot, state_of(snapshot))


def present_us(job: ArchiveJob, reader: SlotReader) -> int:
    """The archive's present: the wall's, or for historic data the end of what was applied."""
    definition, watermark = reader.snapshot.definition, reader.state.watermark
    if definition.clock is Clock.WALL or watermark is None:
        return job.clock()
    return definition.axis.end_us(watermark)
