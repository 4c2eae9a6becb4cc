"""The hand of the simulated archive: reads, judges and places records, and writes files in two parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.simulator.faults import Fault
from tests.simulator.memory import STATISTICS
from tests.simulator.world import ModelFile, part_of
from tests.support.models.model_table import cells_of, fact_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.operations.put import NOTHING_ERASED, Erased, Slots
from tidewheel.commits.procedure import Hits, Lap, Swept, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, Written
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.fates import DEAD_ON_ARRIVAL, FORGOTTEN, QUARANTINED, RULES, SHORT_LIVED, UNSTORED
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import ForgetPlan, MigratePlan, Selection
from tidewheel.indexing.core.plan_parts import PartsPlan
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.indexing.errors import Damaged
from tidewheel.storage.entry import NewFile
from tidewheel.storage.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from tests.simulator.actors import Actor

ROWS_PER_FILE = 4
RULE = RULES.index("too_long")
STORED, TOO_LONG = 0, -1  # beside the fates that are counted
Placed = dict[SubIndex, list[Record]]
Parts = Mapping[BatchKey, tuple[Record, ...]]
Lineages = Mapping[BatchKey, tuple[str, ...]]


class MemoryHand:
    """`commits.procedure.Hand` in memory, which brings batches as well."""

    def __init__(self, actor: Actor) -> None:
        self.actor, self.world, self.fault = actor, actor.world, actor.world.fault

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        self.actor.begins_to_write({})
        return Work(plan, folder, self._written(plan, folder, self._kept(one, plan), {}))

    def bring(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """What `jobs/update.py` does: the batch judged and placed, with what stays of the files rewritten."""
        if plan.rewritten:
            one.job.table.check_files([change.file for change in plan.rewritten])
        read = {slot: self.world.batch(slot) for slot in plan.slots}
        self.actor.begins_to_write({(slot, ""): records for slot, records in read.items()})
        placed = self._kept(one, plan)
        fates: Counter[tuple[int, int]] = Counter()
        for slot, records in read.items():
            judged = [(record, self._fate(plan, record)) for record in records]
            self._place(one, plan, placed, plan.generation.number, (r for r, fate in judged if fate == STORED))
            found = Counter(fate for _, fate in judged if fate != STORED)
            fates.update({(slot, fate): count for fate, count in found.items()})
            self.actor.aside[QUARANTINED] += [slot] * found[TOO_LONG]
            if plan.keeps_unstored(slot):
                self.actor.aside[UNSTORED] += [slot] * (found[SHORT_LIVED] + found[DEAD_ON_ARRIVAL])
        written = self._written(plan, folder, placed, fates)
        check_conserved(one.job.command("audit"), one.state, plan, written)
        return Work(plan, folder, written)

    def put(
        self, batches: Parts, lineages: Lineages, one: Try, plan: PartsPlan, erased: Erased, folder: str, lap: Lap
    ) -> tuple[Work, Slots]:
        """What `local/derived/put.py` does: parts of slots in, and what stays of the files rewritten."""
        assert erased == NOTHING_ERASED, "keys leave by a forget here"
        read = {key: batches[key] for key in plan.keys}
        self.actor.begins_to_write(read)
        placed = self._kept(one, plan)
        kept = {at: cells_of(records) for at, records in placed.items() if records}
        check_conserved(
            one.job.command("audit"), one.state, plan, replace(NOTHING_WRITTEN, cells=kept), dict(plan.replaced)
        )
        slots = []
        for (slot, part), records in read.items():
            fresh = [record for record in records if not _is_dead(plan, record)]
            self._place(one, plan, placed, plan.generation.number, fresh)
            cells = {expiration: cell for (_, expiration), cell in cells_of(fresh).items()}
            gone, made_of = len(records) - len(fresh), lineages[slot, part]
            slots.append(SlotReceipt(slot, len(records), len(fresh), 0, gone, 0, 0, cells, made_of, part))
        return Work(plan, folder, self._written(plan, folder, placed, {})), tuple(slots)

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        keys = {key for (key,) in selection.keys}
        return {f.path: Hits(cells_of(one for one in self._read(f.path) if one.key in keys)) for f in files}

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        return frozenset(str(key) for (key,) in keys)

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        raise AssertionError("nobody derives from it")

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        return Swept()

    def _kept(self, one: Try, plan: Plan) -> Placed:
        placed: Placed = defaultdict(list)
        for change in plan.rewritten:
            number = plan.generation.number if isinstance(plan, MigratePlan) else change.file.generation
            kept = (record for record in self._read(change.file.path) if self._stays(plan, record))
            self._place(one, plan, placed, number, kept)
        return placed

    def _read(self, path: str) -> tuple[Record, ...]:
        if path not in self.world.files:
            raise Damaged(f"{path} is missing")
        return self.world.files[path].records

    def _stays(self, plan: Plan, record: Record) -> bool:
        if _is_dead(plan, record):
            return self.fault is Fault.KEEPS_EXPIRED_ROWS
        if isinstance(plan, ForgetPlan):
            return (record.key,) not in plan.selection.keys
        if isinstance(plan, PartsPlan):
            return (record.slot, part_of(record)) not in plan.keys
        return record.slot not in plan.slots

    def _fate(self, plan: Plan, record: Record) -> int:
        covered = any(t.digest == str(record.key) and record.slot <= t.slot_max for t in plan.tombstones)
        if covered and self.fault is not Fault.IGNORES_TOMBSTONES:
            return FORGOTTEN
        if self.actor.is_too_long(record):
            return TOO_LONG
        if record.expiration_slot <= record.slot:
            return SHORT_LIVED
        return DEAD_ON_ARRIVAL if _is_dead(plan, record) else STORED

    def _place(self, one: Try, plan: Plan, placed: Placed, number: int, records: Iterable[Record]) -> None:
        generation = plan.generation
        if number != generation.number:
            generation = one.state.definition.generation(number)
        layout, shift = generation.layout, self.fault is Fault.WRONG_COLUMN
        for record in records:
            e = (layout.column_of(record.expiration_slot) + shift) % layout.expiration_classes
            placed[(number, layout.row_of(record.slot), e)].append(record)

    def _written(self, plan: Plan, folder: str, placed: Placed, fates: Mapping[tuple[int, int], int]) -> Written:
        """Files go into the attempt's folder, half of them first. What is planted here, its own counts do not tell."""
        placed = {at: records for at, records in placed.items() if records}
        cells = {at: cells_of(one for one in records if not _is_dead(plan, one)) for at, records in placed.items()}
        if self.fault is Fault.LOSES_A_ROW and plan.rewritten and placed:
            next(iter(placed.values())).pop()
        files = self._files(folder, placed)
        for half in (files[: len(files) // 2], files[len(files) // 2 :]):
            self.world.files |= {file.fact.path: file for file in half}
            self.actor.written |= {file.fact.path for file in half}
            self.actor.pause("written")
        uncounted = self.fault is Fault.UNCOUNTED_RECORD
        return Written(
            files=tuple(NewFile(file.fact, STATISTICS, file.written_us // 1000) for file in files),
            cells=cells,
            fates={at: n - (uncounted and at[1] == DEAD_ON_ARRIVAL) for at, n in fates.items() if at[1] != TOO_LONG},
            rules={(slot, RULE): rows for (slot, fate), rows in fates.items() if fate == TOO_LONG},
            aside={},
        )

    def _files(self, folder: str, placed: Placed) -> list[ModelFile]:
        files = []
        for (number, g, e), records in placed.items():
            records.sort(key=lambda record: record.key)  # type: ignore[arg-type,return-value]
            for part in range(0, len(records), ROWS_PER_FILE):
                chunk = tuple(records[part:][:ROWS_PER_FILE])
                fact = fact_of(f"{folder}/{number}/{g}/{e}/{part}", (number, g, e), chunk)
                if self.fault is Fault.NARROW_BOUNDS:
                    fact = replace(fact, exp_max=fact.exp_min)
                files.append(ModelFile(fact, chunk, self.world.now_us))
        return files


def _is_dead(plan: Plan, record: Record) -> bool:
    return plan.watermark is not None and record.expiration_slot <= plan.watermark
