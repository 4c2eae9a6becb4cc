"""Put: batches of a derived archive by slot and part in, and what has expired at its source out, in one commit.

A batch that was made of the same as the one that is there is not brought again. Nor is one that was brought once and is
older than batches are compared: a put that was held up, while others moved on, finds that its batch is given by now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_parts import PartsPlan, plan_parts
from tidewheel.indexing.core.receipts import BatchKey, Receipt, SlotReceipt
from tidewheel.storage.snapshot import Snapshot

Slots = tuple[SlotReceipt, ...]
# Writes what a plan needs into a folder, with what each of its batches brought; this process's is in
# `local/standing/derived.py`.
BringParts = Callable[[Try, PartsPlan, str, Lap], tuple[Work, Slots]]


@dataclass
class Put(Procedure):
    lineages: Mapping[BatchKey, tuple[str, ...]]  # what each batch was made of
    watermark: int | None  # the source's
    bring: BringParts
    note: str = ""
    again: bool = False  # what was made of the same is brought as well: the one that is there is damaged
    past: Mapping[str, int] = field(default_factory=dict)  # part -> slot before which nobody asks what was brought
    check: Callable[[Snapshot], None] = lambda snapshot: None  # raises where a version is not to be written over
    slots: Slots = ()

    def plan(self, one: Try) -> PartsPlan:
        self.check(one.snapshot)
        ledger, known = one.state.ledger, one.state.ledger.batches
        keys = [key for key in self.lineages if key not in known and not ledger.has_given(key)]
        keys += [
            key
            for key, lineage in self.lineages.items()
            if key in known and (self.again or known[key].lineage != lineage)
        ]
        return plan_parts(one.state, keys, self.watermark)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        moves = plan.watermark != plan.watermark_before
        return bool(_own(plan).keys or plan.dropped or plan.rewritten or moves)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        work, self.slots = self.bring(one, _own(plan), folder, lap)
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        fresh = sum(slot.stored for slot in self.slots)
        past = tuple(sorted(self.past.items()))
        return replace(
            receipt, slots=self.slots, parts_past=past, rows_rewritten=work.written.rows - fresh, note=self.note
        )


def _own(plan: Plan) -> PartsPlan:
    assert isinstance(plan, PartsPlan)
    return plan
