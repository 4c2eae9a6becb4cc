"""Archives fed without Spark: the protocol, the ledger and the files are the product's, the judging is not.

What a batch brings is placed by the plan of an update and written by this process. Records that are dead when they come
are counted and not stored; of an observed archive, they are kept beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import Field

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.commit import create_table
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.side_tables.in_use import discard_aside, store_aside
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, read_back
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.fates import FATES, FORGOTTEN, UNSTORED, unstored_fate
from tidewheel.indexing.core.plan import Plan, plan_update
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.local.files import Shape, SortedFiles
from tidewheel.local.keys import covered_rows
from tidewheel.local.new_files import write_rows
from tidewheel.local.rows import file_schema, rows_of


def create(job: ArchiveJob, columns: list[Field], definition: Definition) -> None:
    """An empty archive."""
    create_table(job.location, columns, definition, Receipt(Deed.INIT, "init", 0, None, 0, job.clock()))


def feed(job: ArchiveJob, slots: Collection[int], rows: pa.Table) -> Outcome:
    """The batches of some slots in one commit; rows hold all columns of a data file, in any order."""
    return attempt(job, _Feed(frozenset(slots), rows))


@dataclass
class _Feed(Procedure):
    slots: frozenset[int]
    rows: pa.Table

    def plan(self, one: Try) -> Plan:
        return plan_update(one.state, self.slots)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        schema = file_schema(one.snapshot)
        given = self.rows.select(schema.names).cast(schema)
        definition = one.state.definition
        hit = covered_rows(one.job.hand, one.snapshot, given, plan.tombstones)
        gone, given = _by_slot(given.filter(hit)), given.filter(pc.invert(hit))
        assert plan.watermark is not None
        lives = pc.greater(given.column("exp_slot"), plan.watermark)
        fresh, dead = given.filter(lives), given.filter(pc.invert(lives))
        sources = [change.file for change in plan.rewritten]
        kept = schema.empty_table()
        if sources:
            stays = (pc.field("exp_slot") > plan.watermark) & ~pc.field("ins_slot").isin(list(self.slots))
            kept = rows_of(one.job.location, sources, schema).to_table(filter=stays)
        rows = pa.concat_tables([kept, fresh])
        if rows.num_rows:
            write_rows(one, plan, rows, folder)
        _write_beside(one, plan, dead, folder)
        wrote = rows.num_rows or dead.num_rows
        written = read_back(one.job.location, folder, definition) if wrote else NOTHING_WRITTEN
        fates = Counter(map(_fate_of, *(dead.column(name).to_pylist() for name in ("ins_slot", "exp_slot"))))
        fates.update({(slot, FORGOTTEN): count for slot, count in gone.items()})
        discard_aside(one.job, one.attempt)
        store_aside(one.job, written, one.attempt)
        return Work(plan, folder, replace(written, fates=fates))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)


def _fate_of(slot: int, expiration: int) -> tuple[int, int]:
    return slot, unstored_fate(slot, expiration)


def _write_beside(one: Try, plan: Plan, dead: pa.Table, folder: str) -> None:
    """Those dead on arrival that somebody counts, where an attempt writes what is not stored."""
    kept = dead.filter(
        pa.array([plan.keeps_unstored(slot) for slot in dead.column("ins_slot").to_pylist()], pa.bool_())
    )
    if not kept.num_rows:
        return
    hashes = kept.schema.get_field_index("row_hash")
    kept = kept.set_column(hashes, kept.schema.field(hashes), pa.nulls(kept.num_rows, pa.int64()))
    shape = Shape(kept.schema, one.state.definition.key[0], kept.num_rows, plan.generation.target_file_bytes)
    with SortedFiles(one.job.location, folder, shape) as files:
        for batch in kept.combine_chunks().to_batches():
            files.add((FATES, UNSTORED, 0), batch)


def _by_slot(rows: pa.Table) -> dict[int, int]:
    if not rows.num_rows:
        return {}
    counted = pc.value_counts(rows.column("ins_slot").combine_chunks())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))
