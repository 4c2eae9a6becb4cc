"""This process as the hand of operations that move rows of the archive's own files: no Java is started.

A stored row keeps its hash: it is copied like any other column, never computed. So what was written is held against
the ledger just as Spark's files are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.procedure import Hits, Lap, Swept, Try
from tidewheel.commits.side_tables.in_use import filled_tables
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.work import Work
from tidewheel.commits.written import counted, read_back
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import ForgetPlan, MigratePlan, Selection
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.local.files import Shape, SortedFiles
from tidewheel.local.keys import Wanted, digest_of, knows, spells, typed_keys
from tidewheel.local.rows import Rows, file_schema, matching_cells, rows_of, sorted_rows
from tidewheel.local.set_aside import keys_in_json
from tidewheel.local.side_by_side import side_by_side
from tidewheel.local.thinned_files import of_keys, write_thinned
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot

READERS = 4


class BeyondThisHand(Exception):
    """Work that only Spark can do; nothing was written."""


class LocalHand:
    """`commits.procedure.Hand` in this process."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """Rewrite what stays of the files, sorted, into the sub-indices where it belongs."""
        sources = [change.file for change in plan.rewritten]
        try:
            self._write(one, plan, sources, folder)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _failed(one.job, error) from error
        lap("write")
        written = read_back(one.job.location, folder, one.state.definition)
        lap("read_back")
        return Work(plan, folder, written, rows_read=sum(file.rows for file in sources))

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        """Find the selected records, by file. Cost: the footers, and the row groups that may hold a key."""
        keys = self._keys(snapshot, selection)
        schema = file_schema(snapshot)

        def hits(file: FileFact) -> Hits:
            found = matching_cells(snapshot.location, file, schema, keys)
            return Hits(counted(found)) if found.num_rows else Hits()

        try:
            return dict(zip((file.path for file in files), side_by_side(hits, files, READERS), strict=True))
        except (pa.ArrowException, OSError) as error:
            raise _failed_search(snapshot, error) from error

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        """The digests by which tombstones know these keys."""
        typed = self._keys(snapshot, Selection(keys=tuple(keys)))
        names, salt = typed.column_names, snapshot.definition.salt
        return frozenset(digest_of(names, list(row.values()), salt) for row in typed.to_pylist())

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        """The digests by which tombstones know these records by these columns. Cost: a digest for each row."""
        known = rows.select(columns)
        if not spells(known.schema):
            raise BeyondThisHand("floating point is written as Spark's Java writes it")
        salt = snapshot.definition.salt
        return [digest_of(columns, list(row.values()), salt) for row in known.to_pylist()]

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        """Remove the selected records from the side tables, whose keys are columns or lie in JSON."""
        filled = filled_tables(job)
        if not filled:
            return Swept()
        wanted = Wanted(self._keys(job.snapshot(), selection))

        def places(side: SideTable, rows: pa.Table) -> list[int]:
            keys = keys_in_json(rows.column(side.record).to_pylist(), wanted.keys.schema) if side.record else rows
            if keys is None:
                raise BeyondThisHand("keys of records that were set aside are written as only Spark reads them")
            return wanted.places(keys)

        return Swept(sum(side.sweep(job.location, partial(places, side), dry_run=dry_run) for side in filled))

    def _keys(self, snapshot: Snapshot, selection: Selection) -> pa.Table:
        schema = pa.schema([file_schema(snapshot).field(name) for name in snapshot.definition.key])
        if not selection.keys or not knows(schema):
            raise BeyondThisHand("a predicate, or keys of this type, are Spark's")
        return typed_keys(selection.keys, schema, snapshot.definition.name)

    def _write(self, one: Try, plan: Plan, sources: Sequence[FileFact], folder: str) -> None:
        if isinstance(plan, ForgetPlan):
            write_thinned(one, plan, folder, of_keys(Wanted(self._keys(one.snapshot, plan.selection))))
            return
        definition, schema = one.state.definition, file_schema(one.snapshot)
        shape = Shape.of(one.state, plan.generation, schema)
        condition = pc.scalar(True) if plan.watermark is None else pc.field("exp_slot") > plan.watermark
        with SortedFiles(one.job.location, folder, shape) as files:
            for generation, members in _by_target(one, plan, sources):
                rows = Rows(rows_of(one.job.location, members, schema), condition)
                with sorted_rows(rows, generation, definition.key) as batches:
                    for subindex, batch in batches:
                        files.add(subindex, batch)


def _by_target(one: Try, plan: Plan, sources: Sequence[FileFact]) -> Sequence[tuple[Generation, list[FileFact]]]:
    """Files by the generation that their rows will belong to; what stays in its sub-index needs not be sorted among
    the rows of others."""
    if isinstance(plan, MigratePlan):
        return [(plan.generation, list(sources))]
    together: dict[SubIndex, list[FileFact]] = {}
    for file in sorted(sources, key=lambda file: file.subindex):
        together.setdefault(file.subindex, []).append(file)
    return [(one.state.definition.generation(number), files) for (number, _, _), files in together.items()]


def _failed(job: ArchiveJob, error: Exception) -> TidewheelError:
    said = " ".join(str(error).split())[:300]
    return machine_fault(str(error), f"while writing to {job.location.uri}", said) or InvalidInput(
        f"the files of {job.location.uri} could not be rewritten in this process: {said}. Nothing was changed",
        f"see whether they are whole: {job.command('audit')}; or let Spark do it: TIDEWHEEL_HAND=spark",
    )


def _failed_search(snapshot: Snapshot, error: Exception) -> TidewheelError:
    said, uri = " ".join(str(error).split())[:300], snapshot.location.uri
    return machine_fault(str(error), f"while searching {uri}", said) or InvalidInput(
        f"the files of {uri} could not be searched: {said}. Nothing was changed",
        f"see whether they are whole: {snapshot.location.command('audit')}",
    )
