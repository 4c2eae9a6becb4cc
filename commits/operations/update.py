"""Update as the protocol sees it: a batch of slots in, expired records out, one commit.

1. Plan: decided by the pure core from the state alone; refused if the attempt's own slots changed since it began.
2. Work: the batch's bringer reads its source, judges it, and writes it together with the rest of the files to rewrite.
3. Records kept beside the archive go into the side tables, under the attempt's name.
4. Commit once. If somebody else was first, plan again on the fresh version; if the work is still the same, the files
   already written are committed as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from deltalake import Field, Schema

from tidewheel.commits.accounting import receipt_of, slot_receipts
from tidewheel.commits.commit import commit
from tidewheel.commits.fail_points import reach
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.side_tables.in_use import discard_aside, store_aside
from tidewheel.commits.side_tables.quarantine import quarantine_examples
from tidewheel.commits.work import Work
from tidewheel.indexing.core.definition import Policy
from tidewheel.indexing.core.guards import Confirmations, guard_set_aside, guard_shrink, guard_watermark
from tidewheel.indexing.core.ledger import slots_changed_since
from tidewheel.indexing.core.offsets import is_unbroken
from tidewheel.indexing.core.plan import Plan, plan_update
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.topics import known_offsets, with_shortfall
from tidewheel.indexing.errors import Superseded
from tidewheel.storage.ledger_store import receipts_after
from tidewheel.storage.snapshot import ADDED_MARK, Snapshot

# Writes what a plan needs into a folder, its batch included; Spark's is in `jobs/update.py`.
Bring = Callable[[Try, Plan, str, Lap], Work]


@dataclass(frozen=True)
class Update(Procedure):
    batch: tuple[int, ...]
    confirmed: Confirmations
    policy: Policy
    bring: Bring

    def plan(self, one: Try) -> Plan:
        self._refuse_superseded(one)
        plan = plan_update(one.state, self.batch)
        guard_watermark(one.state, plan.watermark, one.job.clock(), self.confirmed)
        return plan

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        work = self.bring(one, plan, folder, lap)
        reach("files_written")
        self._refuse_set_aside(one, work)
        if one.snapshot.version != one.started_version:
            discard_aside(one.job, one.attempt)
        if store_aside(one.job, work.written, one.attempt):
            reach("side_tables_written")
            lap("side_tables")
        return work

    def still_fits(self, one: Try, work: Work) -> bool:
        """Tell whether the slots of a topic still begin and end where their neighbours do."""
        return not work.offsets or is_unbroken(work.offsets, known_offsets(one.state.ledger.batches))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        plan = work.plan if work.new_columns else plan
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        if work.offsets:
            slots = with_shortfall(one.job.require_file(), receipt.slots, one.state.ledger.batches)
            receipt = replace(receipt, slots=slots)
        if work.new_columns:
            receipt = replace(receipt, note=f"new columns: {', '.join(one.name for one in work.new_columns)}")
        guard_shrink(one.state, receipt.slots, self.policy.shrink_max, allow_shrink=self.confirmed.allow_shrink)
        return receipt

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        plan = work.plan if work.new_columns else plan
        removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
        schema = wider_schema(one.snapshot, work.new_columns) if work.new_columns else None
        return commit(one.snapshot, receipt, work.written.files, removed, schema)

    def _refuse_set_aside(self, one: Try, work: Work) -> None:
        """Refuse a batch with too many broken records, before any of them comes into the quarantine."""
        if not work.written.rules or self.confirmed.allow_set_aside:
            return
        guard_set_aside(
            one.state.definition.axis.name,
            slot_receipts(work.plan, work),
            self.policy.set_aside_max,
            lambda slot: quarantine_examples(one.job, work.written, slot),
        )

    def _refuse_superseded(self, one: Try) -> None:
        if one.snapshot.version == one.started_version:
            return
        later = (receipt for _, receipt in receipts_after(one.snapshot, one.started_version))
        ours = sorted(slots_changed_since(later, one.attempt) & set(self.batch))
        if ours:
            names = ", ".join(one.state.definition.axis.name(slot) for slot in ours)
            raise Superseded(
                f"slot {names} of archive {one.state.definition.name} got another batch while this attempt ran; that "
                "one is newer and stays. This attempt changed nothing",
                "nothing, if that batch is the right one; otherwise run this command again",
                slots=ours,
            )


def wider_schema(snapshot: Snapshot, new: Sequence[Field]) -> Schema:
    """Return the table's columns with new ones behind those of people, marked: batches from before may lack them."""
    fields, after = list(snapshot.schema.fields), len(snapshot.columns)
    added = [Field(field.name, field.type, nullable=True, metadata=ADDED_MARK) for field in new]
    return Schema([*fields[:after], *added, *fields[after:]])
