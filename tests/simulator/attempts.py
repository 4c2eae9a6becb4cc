"""Writers of the simulated archive: each step of an attempt on its own, so that others come between.

The order of decisions is that of commits/attempt.py and undo.py, jobs/update.py, forget.py and migrate.py;
what they decide with is the real thing, and only reading and writing of files is this model's.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tests.simulator.faults import Fault
from tests.simulator.world import FOLD_EVERY_COMMITS, Missing, ModelFile, Note, Quarantined, World
from tests.support.model_table import cell_of, cells_of, fact_of, random_generation
from tidewheel.indexing.errors import InvalidInput, Superseded, TidewheelError
from tidewheel.indexing.guards import guard_shrink, guard_watermark
from tidewheel.indexing.ledger import slots_changed_since
from tidewheel.indexing.oracle import Record
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.plan_kinds import ForgetPlan, Selection, plan_forget, plan_migration
from tidewheel.indexing.receipts import Cell, Operation, Receipt, SlotReceipt, Tombstone
from tidewheel.indexing.state import SubIndex, TableState

GRACE_SHARE_MAX = 0.9
SHRINK_MAX = 0.5
ROWS_PER_FILE = 4


@dataclass(frozen=True)
class Order:
    """What somebody wants done. `number`: the slot to expire through, the key to forget, the layout's seed, or how
    many versions to go back."""

    kind: str
    slots: tuple[int, ...] = ()
    number: int = 0
    confirmed: bool = True


@dataclass(frozen=True)
class Work:
    plan: Plan
    files: dict[str, ModelFile]
    read: dict[int, tuple[Record, ...]]
    slots: tuple[SlotReceipt, ...] = ()


class Attempt:
    """One order on its way: planned, written, committed, reported. `next` does the step that comes."""

    def __init__(self, world: World, order: Order, name: str) -> None:
        self.world, self.order, self.name = world, order, name
        self.started_version = world.version
        self.folders = self.written_since_us = self.written_version = 0
        self.work: Work | None = None
        self.next: Callable[[], None] | None = self.plan_step
        self.committed_version: int | None = None
        self.answer_lost = False

    def step(self) -> None:
        """The next step. Whatever is refused throws away what was written, and ends the attempt."""
        assert self.next is not None
        try:
            self.next()
        except (TidewheelError, Missing):
            self._discard()
            self.next = None

    def die(self, *, halfway: bool) -> None:
        """The process is gone; perhaps in the middle of writing."""
        if halfway and self.next == self.write_step:
            try:
                self.write_step()
            except (TidewheelError, Missing):
                self._discard()
            if self.work is not None:
                for path in list(self.work.files)[::2]:
                    self.world.files.pop(path, None)
        self.next = None

    def plan_step(self) -> None:
        self.state = self.world.state
        self.plan = self._planned(self.state)
        self.next = self.write_step if self._needed() else None
        if self.next is None:
            self._discard()

    def write_step(self) -> None:
        if self.work is None or self.work.plan.work != self.plan.work or self._fenced():
            self._discard()
            self.written_version = self.state.version
            self.folders += 1
            self.written_since_us = self.world.now_us
            self.work = None
            self.work = self._written()
            self.world.files |= self.work.files
            self._quarantine(self.work)
        self.work = replace(self.work, plan=self.plan)
        guard_shrink(self.state, self.work.slots, SHRINK_MAX, allow_shrink=self.order.confirmed)
        self.next = self.look_step

    def _fenced(self) -> bool:
        later = self.world.receipts_after(self.written_version, self.state.version)
        return any(receipt.operation is Operation.FENCE for _, receipt in later)

    def look_step(self) -> None:
        """The last look before the commit; others may come between."""
        assert self.work is not None
        self._refuse_files_beyond_grace(self.work)
        self.next = self.commit_step

    def commit_step(self) -> None:
        assert self.work is not None
        if self.world.version != self.state.version:
            if self.world.fault is not Fault.OVERWRITES_A_LOG_ENTRY:
                self.next = self.plan_step
                return
            self.world.version = self.state.version
        self.committed_version = self._commit(self.work)
        if self.answer_lost:
            self._look_up_or_commit_again(self.work)
        self.next = self.report_step

    def report_step(self) -> None:
        """Folding and checkpoints; who asked is told that it is done."""
        world = self.world
        assert self.committed_version is not None
        if self.committed_version % FOLD_EVERY_COMMITS == 0:
            world.fold_receipts(FOLD_EVERY_COMMITS)
            world.checkpoints.setdefault(world.version, world.now_us)
        world.reported.append((self.committed_version, self.name))
        self.next = None

    def _look_up_or_commit_again(self, work: Work) -> None:
        later = self.world.receipts_after(self.state.version, self.world.version)
        head = self.state.head + 1
        if self.world.fault is Fault.COMMITS_TWICE:
            self.state = self.world.state
            self._commit(work)
        else:
            assert any((one.attempt, one.head) == (self.name, head) for _, one in later)

    def _refuse_files_beyond_grace(self, work: Work) -> None:
        if self.world.fault is Fault.COMMITS_VACUUMED_FILES:
            return
        if self.world.now_us - self.written_since_us > self.world.grace_us * GRACE_SHARE_MAX:
            raise InvalidInput("this attempt took too long; its files may be vacuumed")
        if not work.files.keys() <= self.world.files.keys():
            raise Missing("files of this attempt are gone")

    def _planned(self, state: TableState) -> Plan:
        order = self.order
        if order.kind in ("update", "expire"):
            self._refuse_superseded(state)
            plan = plan_update(state, order.slots, order.number if order.kind == "expire" else None)
            guard_watermark(state, plan.watermark, self.world.now_us, allow_future=True, allow_jump=order.confirmed)
            return plan
        if order.kind == "forget":
            return self._plan_forget(state)
        generations = state.definition.generations
        number = max(one.number for one in generations) + 1
        generation = random_generation(random.Random(order.number), number, state.definition.span)
        return plan_migration(state, generation, relocates=order.kind == "rebuild")

    def _refuse_superseded(self, state: TableState) -> None:
        if self.world.fault is Fault.STALE_BATCH_OVERWRITES or state.version == self.started_version:
            return
        later = (one for _, one in self.world.receipts_after(self.started_version, state.version))
        if slots_changed_since(later, self.name) & set(self.order.slots):
            raise Superseded("a newer batch is there")

    def _plan_forget(self, state: TableState) -> Plan:
        key = self.order.number
        selection = Selection(keys=((str(key),),))
        if not state.ledger.applied:
            return plan_forget(state, selection, {})
        hits = {f.path: cells_of(one for one in self._read(f.path) if one.key == key) for f in state.files}
        bound = max(last for _, last in state.ledger.applied)
        return plan_forget(state, selection, hits, (Tombstone(("key",), str(key), bound),))

    def _needed(self) -> bool:
        plan, state = self.plan, self.state
        if self.order.kind == "expire":
            return plan.watermark != state.watermark or bool(plan.dropped) or bool(plan.rewritten)
        if self.order.kind == "forget":
            return bool(plan.rewritten) or bool(set(plan.tombstones) - set(state.ledger.tombstones))
        return True

    def _written(self) -> Work:
        """Read, judge, place. Files go into the attempt's own folder."""
        plan, read = self.plan, {slot: self.world.batch(slot) for slot in self.plan.slots}
        placed: dict[SubIndex, list[Record]] = defaultdict(list)
        for change in plan.rewritten:
            moved = plan.operation is Operation.MIGRATE
            number = plan.generation.number if moved else change.file.generation
            self._place(placed, number, (r for r in self._read(change.file.path) if self._stays(r)))
        receipts = []
        for slot, records in read.items():
            fates = [self._fate(record) for record in records]
            stored = [record for record, fate in zip(records, fates, strict=True) if fate == "stored"]
            self._place(placed, plan.generation.number, stored)
            receipts.append(_slot_receipt(slot, fates, stored, self.world.fault))
        if self.world.fault is Fault.LOSES_A_ROW and plan.rewritten and placed:
            next(iter(placed.values())).pop()
        return Work(plan, self._files(placed), read, tuple(receipts))

    def _read(self, path: str) -> tuple[Record, ...]:
        try:
            return self.world.files[path].records
        except KeyError as error:
            raise Missing(path) from error

    def _stays(self, record: Record) -> bool:
        watermark = self.plan.watermark
        if watermark is not None and record.expiration_slot <= watermark:
            return self.world.fault is Fault.KEEPS_EXPIRED_ROWS
        if self.plan.operation is Operation.FORGET:
            return record.key != self.order.number
        return record.slot not in self.plan.slots

    def _fate(self, record: Record) -> str:
        plan, span = self.plan, self.state.definition.span
        covered = any(t.digest == str(record.key) and record.slot <= t.slot_max for t in plan.tombstones)
        if covered and self.world.fault is not Fault.IGNORES_TOMBSTONES:
            return "forgotten"
        if record.expiration_slot > record.slot + span:
            return "quarantined"
        if record.expiration_slot <= record.slot:
            return "short_lived"
        assert plan.watermark is not None
        return "dead_on_arrival" if record.expiration_slot <= plan.watermark else "stored"

    def _place(self, placed: dict[SubIndex, list[Record]], number: int, records: Iterable[Record]) -> None:
        generation = self.plan.generation
        if number != generation.number:
            generation = self.state.definition.generation(number)
        layout, shift = generation.layout, self.world.fault is Fault.WRONG_COLUMN
        for record in records:
            e = (layout.column_of(record.expiration_slot) + shift) % layout.expiration_classes
            placed[(number, layout.row_of(record.slot), e)].append(record)

    def _files(self, placed: dict[SubIndex, list[Record]]) -> dict[str, ModelFile]:
        files = {}
        for (number, g, e), records in placed.items():
            records.sort(key=lambda record: record.key)  # type: ignore[arg-type,return-value]
            for part in range(0, len(records), ROWS_PER_FILE):
                path, chunk = (
                    f"{self.name}-{self.folders}/{number}/{g}/{e}/{part}",
                    tuple(records[part:][:ROWS_PER_FILE]),
                )
                fact = fact_of(path, (number, g, e), chunk)
                if self.world.fault is Fault.NARROW_BOUNDS:
                    fact = replace(fact, exp_max=fact.exp_min)
                files[path] = ModelFile(fact, chunk, self.world.now_us)
        return files

    def _quarantine(self, work: Work) -> None:
        """Side records of this attempt, in place of those of its earlier tries."""
        world = self.world
        if world.fault is not Fault.QUARANTINES_TWICE:
            world.quarantine = [one for one in world.quarantine if one.attempt != self.name]
        for records in work.read.values():
            for record in records:
                if self._fate(record) == "quarantined":
                    world.quarantine.append(Quarantined(record.slot, self.name, record.body, world.now_us))

    def _commit(self, work: Work) -> int:
        world, plan, state = self.world, self.plan, self.state
        receipt = Receipt(
            operation=plan.operation,
            attempt=self.name,
            head=state.head + 1,
            watermark=plan.watermark,
            generation=plan.generation.number,
            committed_us=world.now_us,
            slots=work.slots,
            forgotten=self.plan.forgotten if isinstance(self.plan, ForgetPlan) else (),
            tombstones=plan.tombstones if plan.operation is Operation.FORGET else (),
            relocated=self.order.kind == "rebuild" and world.fault is not Fault.RELOCATION_NOT_RECORDED,
        )
        if world.fault is Fault.WATERMARK_GOES_BACK and plan.slots:
            receipt = replace(receipt, watermark=plan.slots[-1])
        definition = state.definition
        if plan.operation is Operation.MIGRATE:
            definition = definition.with_generation(plan.generation)
        removed = tuple(change.file.path for change in (*plan.dropped, *plan.rewritten))
        version = world.append(receipt, work.files, removed, definition)
        self._tell_the_oracle(work)
        rows_read = {slot: len(records) for slot, records in work.read.items()}
        world.settle(version, Note(self.started_version, rows_read, self.written_since_us))
        return version

    def _tell_the_oracle(self, work: Work) -> None:
        oracle, order, span = self.world.oracle, self.order, self.state.definition.span
        if order.kind == "update":
            oracle.update({s: [r for r in rows if r.expiration_slot <= r.slot + span] for s, rows in work.read.items()})
        elif order.kind == "expire":
            oracle.expire(order.number)
        elif order.kind == "forget":
            key = order.number
            oracle.forget(lambda record: record.key == key)

    def _discard(self) -> None:
        folder = f"{self.name}-{self.folders}/"
        for path in [path for path in self.world.files if path.startswith(folder)]:
            del self.world.files[path]


def _slot_receipt(slot: int, fates: list[str], stored: list[Record], fault: Fault | None) -> SlotReceipt:
    cells: dict[int, Cell] = {}
    for record in stored:
        cells[record.expiration_slot] = cells.get(record.expiration_slot, Cell(0, 0)).plus(cell_of(record))
    count = fates.count
    uncounted = fault is Fault.UNCOUNTED_RECORD and "dead_on_arrival" in fates
    return SlotReceipt(
        slot,
        len(fates) - uncounted,
        len(stored),
        count("short_lived"),
        count("dead_on_arrival") - uncounted,
        count("forgotten"),
        count("quarantined"),
        cells,
    )
