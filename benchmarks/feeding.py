"""Archives fed without Spark: the protocol, the ledger and the files are the product's, the judging is not.

What a batch brings is placed by the plan of an update and written by this process. Records that are dead when they come
are counted and not stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import Field

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.commit import create_table
from tidewheel.commits.operation import Lap, Operation, Try
from tidewheel.commits.receipt import receipt_of
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, read_back
from tidewheel.indexing.definition import Definition
from tidewheel.indexing.fates import DEAD_ON_ARRIVAL, FORGOTTEN
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.receipts import Operation as Kind
from tidewheel.indexing.receipts import Receipt
from tidewheel.local.keys import are_forgotten
from tidewheel.local.new_files import write_rows
from tidewheel.local.rows import file_schema, rows_of


def create(job: ArchiveJob, columns: list[Field], definition: Definition) -> None:
    """An empty archive."""
    create_table(job.location, columns, definition, Receipt(Kind.INIT, "init", 0, None, 0, job.clock()))


def feed(job: ArchiveJob, slots: Collection[int], rows: pa.Table) -> Outcome:
    """The batches of some slots in one commit; rows hold all columns of a data file, in any order."""
    return attempt(job, _Feed(frozenset(slots), rows))


@dataclass
class _Feed(Operation):
    slots: frozenset[int]
    rows: pa.Table

    def plan(self, one: Try) -> Plan:
        return plan_update(one.state, self.slots)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        schema = file_schema(one.snapshot)
        given = self.rows.select(schema.names).cast(schema)
        definition = one.state.definition
        hit = are_forgotten(given, plan.tombstones, definition.key, definition.salt)
        gone, given = _by_slot(given.filter(hit)), given.filter(pc.invert(hit))
        assert plan.watermark is not None
        fresh = given.filter(pc.greater(given.column("exp_slot"), plan.watermark))
        sources = [change.file for change in plan.rewritten]
        kept = schema.empty_table()
        if sources:
            stays = (pc.field("exp_slot") > plan.watermark) & ~pc.field("ins_slot").isin(list(self.slots))
            kept = rows_of(one.job.location, sources, schema).to_table(filter=stays)
        rows = pa.concat_tables([kept, fresh])
        if rows.num_rows:
            write_rows(one, plan, rows, folder)
        written = read_back(one.job.location, folder, one.state.definition) if rows.num_rows else NOTHING_WRITTEN
        dead = _by_slot(given)
        for slot, count in _by_slot(fresh).items():
            dead[slot] -= count
        fates = {(slot, DEAD_ON_ARRIVAL): dead.get(slot, 0) for slot in self.slots}
        fates |= {(slot, FORGOTTEN): count for slot, count in gone.items()}
        return Work(plan, folder, replace(written, fates=fates))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)


def _by_slot(rows: pa.Table) -> dict[int, int]:
    if not rows.num_rows:
        return {}
    counted = pc.value_counts(rows.column("ins_slot").combine_chunks())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))
