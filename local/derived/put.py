"""A derived archive: a Delta table like any other, fed by this process with batches by slot and part.

The first column of its key is `part`. Rows of parts that come again leave in the commit that brings the new ones; what
stays of the files that must be rewritten for it is copied with its hash (`row_hashes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import Field, Schema

from tidewheel.commits.accounting import PROGRAM, bare_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.attempt_id import new_attempt
from tidewheel.commits.commit import commit_schema, create_table
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.operations.put import NOTHING_ERASED, Erased, Put, Slots, gone_by_cell
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, Written, check_sizes, counted, counted_by, read_back
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import plan_nothing
from tidewheel.indexing.core.plan_parts import PartsPlan, files_kept_of
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt, SlotReceipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.indexing.durations import MICROS_PER_UNIT
from tidewheel.local.derived.row_hashes import hashes_of
from tidewheel.local.new_files import write_rows
from tidewheel.local.rows import file_schema, in_schema, rows_of
from tidewheel.local.thinned_files import going_of, write_thinned
from tidewheel.queries.kernels.arrays import int64s
from tidewheel.storage.snapshot import Snapshot, with_definition

LIFE_MAX_US = 400 * MICROS_PER_UNIT["d"]
EXPIRATION_CLASSES = 8
RUNS_MAX = 16
PART = "part"


def definition_of(source: Definition, kind: str, key: Sequence[str], derived: str) -> Definition:
    """Define a derived archive: slots, clock, retention and salt of the source, a layout that only drops and joins."""
    span = source.axis.span(LIFE_MAX_US)
    layout = Layout(LayoutKind.ROUND_ROBIN, 1, EXPIRATION_CLASSES, span)
    return Definition(
        name=f"{source.name}.{kind}",
        key=(PART, *key),
        axis=source.axis,
        max_lifetime_us=LIFE_MAX_US,
        clock=source.clock,
        generations=(Generation(0, layout, Strategy.NO_REBUILD, dead_share_max=0.5, runs_max=RUNS_MAX),),
        retention=source.retention,
        salt=source.salt,
        derived=derived,
    )


def create_derived(job: ArchiveJob, columns: Sequence[Field], definition: Definition, horizon: int) -> Snapshot:
    """An empty derived archive whose batches are compared so many slots back."""
    now_us = job.clock()
    receipt = Receipt(
        operation=Deed.INIT,
        attempt=new_attempt(now_us),
        head=0,
        watermark=None,
        generation=0,
        committed_us=now_us,
        observation=Observation(horizon),
        program=PROGRAM,
    )
    return create_table(job.location, columns, definition, receipt)


def redefine(job: ArchiveJob, rewrite: Callable[[str], str], columns: Sequence[Field], horizon: int) -> Outcome:
    """Derive by something else from now on, with more columns if need be; nothing is done if that is so already.

    `rewrite` makes it of what the archive is derived by when the commit is tried.
    """
    return attempt(job, _Redefine(rewrite, tuple(columns), horizon))


def put(
    job: ArchiveJob,
    batches: PartRows,
    watermark: int | None,
    *,
    again: bool = False,
    past: Mapping[str, int] = MappingProxyType({}),
    check: Callable[[Snapshot], None] = lambda snapshot: None,
    erasing: Callable[[Try], Erased] = lambda one: NOTHING_ERASED,
) -> Outcome:
    """Bring batches of parts into a derived archive, and expire through the source's watermark, in one commit.

    `again` brings those as well that were made of the same as what is there; `past` tells before which slot nobody asks
    any more what parts were brought for; `check` raises where a version is not to be written over; `erasing` tells
    which rows of forgotten keys a version holds: they leave as well.
    """
    bring = partial(_brought, batches)
    return attempt(job, Put(batches.lineages, watermark, bring, again, past, check, erasing))


@dataclass(frozen=True)
class PartRows:
    """Rows by slot and part, with ins_slot and valid_until; what each batch was made of. A batch may have no rows."""

    rows: pa.Table | None
    lineages: Mapping[BatchKey, tuple[str, ...]] = field(default_factory=dict)

    def without(self, keys: Collection[BatchKey]) -> PartRows:
        """Rows of batches that are not told of are left out by `put`."""
        return replace(self, lineages={key: one for key, one in self.lineages.items() if key not in keys})


@dataclass(frozen=True)
class _Redefine(Procedure):
    rewrite: Callable[[str], str]
    columns: tuple[Field, ...]
    horizon: int

    def plan(self, one: Try) -> Plan:
        return plan_nothing(one.state, Deed.OBSERVE)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        told = one.state.definition.derived == self._derived(one) and one.state.ledger.horizon == self.horizon
        return not told or bool(self._new(one))

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        return Work(plan, folder, NOTHING_WRITTEN, new_columns=tuple(self._new(one)))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        receipt = bare_receipt(one.job, one.state, Deed.OBSERVE, one.attempt, note="derived by other queries")
        return replace(receipt, observation=Observation(self.horizon))

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        definition = replace(one.state.definition, derived=self._derived(one))
        count = len(one.snapshot.columns)
        fields = with_definition(one.snapshot.schema, definition).fields
        return commit_schema(one.snapshot, receipt, Schema([*fields[:count], *self._new(one), *fields[count:]]))

    def _derived(self, one: Try) -> str:
        return self.rewrite(one.state.definition.derived)

    def _new(self, one: Try) -> list[Field]:
        known = {column.name for column in one.snapshot.columns}
        return [column for column in self.columns if column.name not in known]


def _brought(batches: PartRows, one: Try, plan: PartsPlan, erased: Erased, folder: str, lap: Lap) -> tuple[Work, Slots]:
    """Write what the plan needs, read it back, and tell what each batch brought."""
    fresh = _fresh(batches, one, plan)
    slots = tuple(_slot_receipts(plan.keys, batches, fresh))
    if not fresh.num_rows and not plan.rewritten:
        return Work(plan, folder, NOTHING_WRITTEN), slots
    sources = files_kept_of(one.state, plan)
    rows = pa.concat_tables([_kept(one, plan, sources, erased), fresh])
    write_rows(one, plan, rows, folder, value_columns(rows.schema))
    if plan.thinned:
        thinned = [change.file for change in plan.thinned]
        check_sizes(one.job.location, thinned)
        write_thinned(
            one, replace(plan, rewritten=plan.thinned), folder, going_of(erased.going), value_columns(rows.schema)
        )
    lap("write")
    written = read_back(one.job.location, folder, one.state.definition)
    _check(one, plan, written, fresh, erased)
    lap("check")
    reach("files_written")
    read = sum(file.rows for file in (*sources, *(change.file for change in plan.thinned)))
    return Work(plan, folder, written, rows_read=read), slots


def _fresh(batches: PartRows, one: Try, plan: PartsPlan) -> pa.Table:
    """The rows of the batches that come, complete with the columns that the archive adds."""
    schema, axis = file_schema(one.snapshot), one.state.definition.axis
    rows = batches.rows
    if rows is None or not rows.num_rows or not plan.keys:
        return schema.empty_table()
    rows = completed(filtered(rows, are_of(rows, plan.keys)), schema, axis)
    if plan.watermark is not None:
        rows = filtered(rows, pc.greater(rows.column("exp_slot"), plan.watermark))
    place = schema.get_field_index("row_hash")
    return rows.set_column(place, schema.field(place), hashes_of(rows))


def value_columns(schema: pa.Schema) -> list[str]:
    """The columns of partials or answers that hold what was folded: hardly two values are alike."""
    return [name for name in schema.names if name == "rows" or name.startswith(("a_", "v_"))]


def filtered(rows: pa.Table, hit: pa.Array) -> pa.Table:
    """Nothing is copied if all of them are wanted."""
    return rows if pc.all(hit, min_count=0).as_py() else rows.filter(hit)


def are_of(rows: pa.Table, keys: Sequence[BatchKey]) -> pa.Array:
    """Mark the rows of these slots and parts. Arrow joins no tables with nested columns."""
    parts = {part: number for number, part in enumerate(sorted({part for _, part in keys}))}
    known = pc.index_in(rows.column(PART), pa.array(list(parts), pa.string()))
    width = max(1, len(parts))
    codes = pc.add(pc.multiply(rows.column("ins_slot"), width), known.cast(pa.int64()))
    wanted = pa.array([slot * width + parts[part] for slot, part in keys], pa.int64())
    return pc.fill_null(pc.and_(pc.is_valid(codes), pc.is_in(codes, wanted)), False)


def completed(rows: pa.Table, schema: pa.Schema, axis: TimeAxis) -> pa.Table:
    """Rows in an archive's schema, with the slot in which they expire; columns that they do not have are NULL."""
    return in_schema(rows.append_column("exp_slot", expiration_slots(rows.column("valid_until"), axis)), schema)


def expiration_slots(untils: pa.ChunkedArray, axis: TimeAxis) -> pa.Array:
    """The slot in which each moment expires: `TimeAxis.expiration_slot_of` of many."""
    return pa.array(-((axis.epoch_us - int64s(untils.cast(pa.int64()))) // axis.interval_us) - 1)


def _slot_receipts(keys: Sequence[BatchKey], batches: PartRows, fresh: pa.Table) -> list[SlotReceipt]:
    """Receipts of the batches: as many rows as were given, those stored by cell."""
    stored: dict[BatchKey, dict[int, Cell]] = {}
    for (part, slot, expiration), cell in counted_by(fresh, (PART, "ins_slot", "exp_slot")).items():
        stored.setdefault((slot, part), {})[expiration] = cell
    is_all_stored = batches.rows is None or len(batches.rows) == len(fresh)
    given = None if is_all_stored else _counts(batches.rows)
    receipts = []
    for key in keys:
        cells = stored.get(key, {})
        rows = sum(cell.rows for cell in cells.values())
        rows_in = rows if given is None else given.get(key, 0)
        receipts.append(
            SlotReceipt(key[0], rows_in, rows, 0, rows_in - rows, 0, 0, cells, batches.lineages[key], key[1])
        )
    return receipts


def _counts(rows: pa.Table) -> dict[BatchKey, int]:
    found = rows.group_by(["ins_slot", PART]).aggregate([([], "count_all")])
    columns = (found.column(name).to_pylist() for name in ("ins_slot", PART, "count_all"))
    return {(slot, part): count for slot, part, count in zip(*columns, strict=True)}


def _kept(one: Try, plan: PartsPlan, sources: Sequence[FileFact], erased: Erased) -> pa.Table:
    """The rows of these files that stay: alive, not replaced, and with a key that was not forgotten."""
    schema = file_schema(one.snapshot)
    if not sources:
        return schema.empty_table()
    check_sizes(one.job.location, sources)
    condition = pc.scalar(True) if plan.watermark is None else pc.field("exp_slot") > plan.watermark
    whole = [file for file in sources if file.path not in erased.going]
    tables = [rows_of(one.job.location, whole, schema).to_table(filter=condition)] if whole else []
    for file in (file for file in sources if file.path in erased.going):
        rows = rows_of(one.job.location, [file], schema).to_table()
        tables.append(rows.filter(pa.array(~erased.going[file.path])).filter(condition))
    rows = pa.concat_tables(tables)
    return rows.filter(pc.invert(are_of(rows, plan.keys)))


def _check(one: Try, plan: PartsPlan, written: Written, fresh: pa.Table, erased: Erased) -> None:
    """Check that no row was lost: the cells written, less the fresh ones, are the ledger's less the old and those of
    forgotten keys."""
    gone = dict(plan.replaced)
    for place, cell in gone_by_cell(erased.beside(plan)).items():
        gone[place] = gone[place].plus(cell) if place in gone else cell
    layout, number = plan.generation.layout, plan.generation.number
    moved: dict[SubIndex, dict[tuple[int, int], Cell]] = {at: dict(cells) for at, cells in written.cells.items()}
    for (slot, expiration), cell in counted(fresh).items() if fresh.num_rows else ():
        at = (number, layout.row_of(slot), layout.column_of(expiration))
        left = moved[at][slot, expiration].minus(cell)
        if left.rows:
            moved[at][slot, expiration] = left
        else:
            del moved[at][slot, expiration]
    check_conserved(one.job.command("audit"), one.state, plan, replace(written, cells=moved), gone)
