"""Side tables on disk: Delta tables beside an archive, whose rows say which slot and attempt brought them.

An attempt writes its rows before its commit, under its own name; receipts say which of them count
(`indexing/core/side_tables.py`). A table of this kind is a value: its name, which of an attempt's files it takes, how
these become rows, how many of them a receipt counts, and how long they are kept. Everything that happens to it is here,
in `vacuum_side_tables`, in the audit and in the sweep of a forget.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError

from tidewheel.commits.side_tables.access import Access
from tidewheel.indexing.core.batches import batches_at
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.side_tables import SideBatch
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.rules.findings import backfill_options
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location
from tidewheel.storage.panics import panics_told
from tidewheel.storage.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.written import Written


def _nothing_settled(snapshot: Snapshot) -> Callable[[int, str], bool]:
    return lambda slot, attempt: False


@dataclass(frozen=True)
class SideTable:
    """One kind of records beside an archive."""

    name: str  # of its folder, and what people call it
    places: tuple[int, ...]  # the rows of the layout FATES in which an attempt writes what belongs here
    slot: str  # the column that says in which slot a row came
    attempt: str  # and by which attempt
    came: str  # and when
    record: str  # the column that holds people's values as JSON; "" where they have columns of their own
    filled: str  # the column that a forget leaves empty in a row, so that rows still add up; "" where rows go
    rows: Callable[[ArchiveJob, Written, str], pa.Table | pa.RecordBatchReader]  # what an attempt adds; may refuse
    counted: Callable[[SlotReceipt], int]  # how many of a slot's records lie here
    certain_us: Callable[[Definition], int]  # how long they lie here for certain
    kept_us: Callable[[Definition], int]  # and at the longest
    settled: Callable[[Snapshot], Callable[[int, str], bool]] = _nothing_settled  # what nobody waits for any more

    def location(self, archive: Location) -> Location:
        return archive.side_location(self.name)

    def open(self, archive: Location) -> DeltaTable | None:
        """Return the table, if anything ever came into it."""
        access = self._access(archive)
        return access.read(lambda: self._open(access))

    def _open(self, access: Access) -> DeltaTable | None:
        place = access.place
        try:
            with panics_told():
                return DeltaTable(place.delta_uri, storage_options=place.storage_options)
        except TableNotFoundError as error:
            if not any(info.path.endswith(".parquet") for info in place.files_below("")):
                access.refuse_absent_archive()
                return None
            raise access.damaged(error) from error

    def _access(self, archive: Location) -> Access:
        return Access(self.name, archive, self.location(archive), lambda: self._slots_told(archive))

    def _slots_told(self, archive: Location) -> str:
        """The slots whose batches that count have rows here, as a backfill takes them. Cost: all receipts."""
        try:
            snapshot = open_snapshot(archive)
            receipts = dict(all_receipts(snapshot))
        except TidewheelError:  # the archive is damaged, too
            return "--from START --to END"
        batches = batches_at(receipts, snapshot.version)
        slots = [
            one.slot
            for receipt in receipts.values()
            for one in receipt.slots
            if self.counted(one) and batches.get(one.slot) == receipt.attempt
        ]
        found = (min(slots, default=snapshot.watermark or 0), max(slots, default=snapshot.watermark or 0))
        return shlex.join(backfill_options(snapshot.definition.axis, found))

    def store(self, job: ArchiveJob, written: Written, attempt: str) -> bool:
        """Move an attempt's rows for this table into it; tell whether there were any."""
        paths = [path for place in self.places for path in written.aside.get(place, ())]
        if not paths:
            return False
        self._create_folder(job.location)
        self._access(job.location).change(
            lambda: self._append(job.location, self.rows(job, written, attempt)),
            before_again=lambda: self.discard(job, attempt),
        )
        for path in paths:
            job.location.delete(path)
        return True

    def discard(self, job: ArchiveJob, attempt: str) -> None:
        """Remove the rows that earlier tries of an attempt stored: they count once, by its name. Cost: the table."""

        def delete() -> None:
            table = self.open(job.location)
            if table is not None:
                table.delete(f"{self.attempt} = '{attempt}'")

        self._access(job.location).change(delete)

    def read(self, archive: Location, batches: Collection[tuple[int, str]] | None = None) -> pa.Table | None:
        """Return the rows that count: those of the batches given, or all. Cost: the files that may hold these slots."""
        if batches is None:
            return self._rows(archive)[1]
        slots = pa.array(sorted({slot for slot, _ in batches}), pa.int64())
        rows = self._rows(archive, filters=pc.field(self.slot).isin(slots))[1]
        return None if rows is None else rows.filter(pa.array([key in batches for key in self.keys(rows)], pa.bool_()))

    def _rows(self, archive: Location, **chosen: Any) -> tuple[DeltaTable | None, pa.Table | None]:
        """Return the table at one version, with its rows."""

        def read() -> tuple[DeltaTable | None, pa.Table | None]:
            table = self.open(archive)
            return table, None if table is None else pa.table(table.to_pyarrow_table(**chosen))

        return self._access(archive).read(read)

    def keys(self, rows: pa.Table) -> list[tuple[int, str]]:
        """Return the slot and attempt of each row."""
        columns = (rows.column(name).to_pylist() for name in (self.slot, self.attempt))
        return list(zip(*columns, strict=True))

    def batches(self, table: DeltaTable) -> list[SideBatch]:
        """Return every batch that has rows here, whether it counts or not. Cost: three columns."""
        columns = pa.table(table.to_pyarrow_table(columns=[self.slot, self.attempt, self.came]))
        groups = columns.group_by([self.slot, self.attempt]).aggregate([(self.came, "max"), (self.slot, "count")])
        newest_us = pc.cast(groups.column(f"{self.came}_max"), pa.int64())
        values = (groups.column(self.slot), groups.column(self.attempt), newest_us, groups.column(f"{self.slot}_count"))
        return [SideBatch(*row) for row in zip(*(column.to_pylist() for column in values), strict=True)]

    def sweep(self, archive: Location, matching: Callable[[pa.Table], Iterable[int]], *, dry_run: bool) -> int:
        """Remove the records at the positions that `matching` gives; return how many.

        Cost: the table, rewritten if any.
        """
        return self._access(archive).change(lambda: self._sweep(archive, matching, dry_run))

    def _sweep(self, archive: Location, matching: Callable[[pa.Table], Iterable[int]], dry_run: bool) -> int:
        table, rows = self._rows(archive)
        if table is None or rows is None or not rows.num_rows:
            return 0
        # What was forgotten before is no record any more.
        filled = pc.indices_nonzero(pc.is_valid(rows.column(self.filled or self.slot)))
        hits = {filled[at].as_py() for at in matching(rows.take(filled))}
        if hits and not dry_run:
            write_deltalake(table, self._without(rows, hits), mode="overwrite")
        return len(hits)

    def _without(self, rows: pa.Table, hits: Collection[int]) -> pa.Table:
        hit = pa.array([at in hits for at in range(rows.num_rows)], pa.bool_())
        kept = rows.filter(pc.invert(hit))
        if not self.filled:
            return kept
        emptied = rows.filter(hit).select([self.slot, self.attempt, self.came])
        return pa.concat_tables([kept, emptied], promote_options="default")

    def _append(self, archive: Location, rows: pa.Table | pa.RecordBatchReader) -> None:
        # Merged: the table may be older than a column of its rows.
        place = self.location(archive)
        options = place.storage_options
        write_deltalake(place.delta_uri, rows, mode="append", schema_mode="merge", storage_options=options)

    def _create_folder(self, archive: Location) -> None:
        """Create the folder above the table: delta-rs creates only the table's own."""
        if archive.is_local:
            archive.filesystem.create_dir(self.location(archive).root)
