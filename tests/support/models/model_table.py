"""A table in memory that carries out plans: breadth for the planner, at thousands of histories a minute."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.folding import fold
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan, plan_update
from tidewheel.indexing.core.plan_kinds import Selection, plan_forget, plan_migration
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt, Tombstone
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState
from tidewheel.indexing.core.undo_rules import refuse_barriers, restoration_between, tombstones_between


def definition_of(generation: Generation, span: int) -> Definition:
    return Definition(
        name="model",
        key=("key",),
        axis=TimeAxis(interval_us=1),
        max_lifetime_us=span,
        clock=Clock.DATA,
        generations=(generation,),
        retention=Retention(1, 1, 1, 1),
        salt="salt",
    )


def random_generation(chance: random.Random, number: int, span: int) -> Generation:
    kind = chance.choice(list(LayoutKind))
    g, e = chance.choice([(1, 1), (2, 2), (3, 2), (4, 4), (1, span), (span, 1), (1, 4), (2, 3)])
    if kind is LayoutKind.WAVE_BY_INSERTION:
        e = 1
    if kind is LayoutKind.WAVE_BY_EXPIRATION:
        g = 1
    return Generation(
        number,
        Layout(kind, g, e, span, seed=chance.randrange(5)),
        chance.choice(list(Strategy)),
        dead_share_max=chance.choice([0.0, 0.3, 0.5, 1.0]),
        runs_max=chance.choice([1, 3, 16]),
    )


@dataclass
class ModelTable:
    definition: Definition
    version: int = 0
    watermark: int | None = None
    files: dict[str, tuple[FileFact, tuple[Record, ...]]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    rows_max_per_file: int = 50
    receipts: list[tuple[int, Receipt]] = field(default_factory=list)
    past: dict[int, tuple[dict[str, tuple[FileFact, tuple[Record, ...]]], Ledger]] = field(default_factory=dict)

    def state(self) -> TableState:
        facts = tuple(fact for fact, _ in self.files.values())
        return TableState(self.version, self.version, self.watermark, self.definition, facts, self.ledger)

    def content(self) -> list[Record]:
        """Every record a reader sees: `valid_until > as_of` at the end of the watermark."""
        return [
            record
            for _, records in self.files.values()
            for record in records
            if self.watermark is not None and record.expiration_slot > self.watermark
        ]

    def update(self, batches: Mapping[int, Iterable[Record]], expire_through: int | None = None) -> Plan:
        plan = plan_update(self.state(), batches, expire_through)
        receipts, fresh = [], []
        for slot, records in batches.items():
            stored = [r for r in records if not self._filtered(r, plan)]
            fresh += stored
            receipts.append(_slot_receipt(slot, list(records), stored))
        kept = [
            record
            for change in plan.rewritten
            for record in self.files[change.file.path][1]
            if not (plan.watermark is not None and record.expiration_slot <= plan.watermark)
            and record.slot not in plan.slots
        ]
        self._commit(
            plan,
            self._placed(plan, kept, fresh),
            Receipt(
                operation=plan.operation,
                attempt=str(self.version + 1),
                head=self.version + 1,
                watermark=plan.watermark,
                generation=plan.generation.number,
                committed_us=0,
                slots=tuple(receipts),
            ),
        )
        return plan

    def forget(self, key: object) -> Plan:
        def hit(record: Record) -> bool:
            return record.key == key

        hits = {path: cells_of(filter(hit, records)) for path, (_, records) in self.files.items()}
        plan = plan_forget(self.state(), Selection(where="key = it"), hits)
        read = [record for change in plan.rewritten for record in self.files[change.file.path][1]]
        alive = [r for r in read if self.watermark is None or r.expiration_slot > self.watermark]
        bound = max((last for _, last in self.ledger.applied), default=None)
        tombstones = () if bound is None else (Tombstone(("key",), repr(key), bound),)
        self._commit(
            plan,
            self._placed(plan, [r for r in alive if not hit(r)], []),
            Receipt(
                operation=Deed.FORGET,
                attempt=str(self.version + 1),
                head=self.version + 1,
                watermark=self.watermark,
                generation=plan.generation.number,
                committed_us=0,
                forgotten=plan.forgotten,
                tombstones=tombstones,
            ),
        )
        return plan

    def migrate(self, generation: Generation, *, relocate: bool) -> None:
        target = self.definition.with_generation(generation)
        if not relocate:
            self.definition = target
            receipt = Receipt(Deed.MIGRATE, "m", self.version + 1, self.watermark, generation.number, 0)
            self._commit(None, {}, receipt)
            return
        plan = plan_migration(self.state(), generation, relocates=True)
        live = self.content()
        self.definition = target
        self._commit(
            plan,
            self._placed(plan, live, [], moved=True),
            Receipt(
                operation=Deed.MIGRATE,
                attempt="m",
                head=self.version + 1,
                watermark=self.watermark,
                generation=generation.number,
                committed_us=0,
                relocated=True,
            ),
        )

    def undo(self, version: int) -> Receipt:
        """Back to a version; refused as the real one is."""
        refuse_barriers(self.receipts, version)
        files, then = self.past[version]
        receipt = Receipt(
            operation=Deed.UNDO,
            attempt=str(self.version + 1),
            head=self.version + 1,
            watermark=then.watermark,
            generation=self.definition.current.number,
            committed_us=0,
            restoration=restoration_between(self.ledger, then),
            tombstones=tombstones_between(self.ledger, then),
        )
        self.files = dict(files)
        self._commit(None, {}, receipt)
        return receipt

    def _filtered(self, record: Record, plan: Plan) -> bool:
        forgotten = any(t.digest == repr(record.key) and record.slot <= t.slot_max for t in plan.tombstones)
        assert plan.watermark is not None
        return forgotten or record.expiration_slot <= plan.watermark

    def _placed(
        self, plan: Plan, kept: list[Record], fresh: list[Record], *, moved: bool = False
    ) -> dict[SubIndex, list[Record]]:
        """Every record to its sub-index: rewritten ones stay in their generation, unless they move."""
        generation_of = {}
        for change in plan.rewritten:
            generation = self.definition.generation(change.file.generation)
            for record in self.files[change.file.path][1]:
                generation_of[id(record)] = plan.generation if moved else generation
        placed: dict[SubIndex, list[Record]] = defaultdict(list)
        for record in kept + fresh:
            generation = generation_of.get(id(record), plan.generation)
            layout = generation.layout
            g, e = layout.row_of(record.slot), layout.column_of(record.expiration_slot)
            placed[(generation.number, g, e)].append(record)
        return placed

    def _commit(self, plan: Plan | None, placed: Mapping[SubIndex, list[Record]], receipt: Receipt) -> None:
        self.version += 1
        for change in (*plan.dropped, *plan.rewritten) if plan else ():
            del self.files[change.file.path]
        for (number, g, e), records in placed.items():
            records.sort(key=lambda record: repr(record.key))
            for part in range(0, len(records), self.rows_max_per_file):
                chunk = tuple(records[part : part + self.rows_max_per_file])
                path = f"a{self.version}/{number}/{g}/{e}/{part}"
                self.files[path] = (fact_of(path, (number, g, e), chunk), chunk)
        self.watermark = receipt.watermark
        self.ledger = fold(self.ledger, self.version, receipt, self.definition.span)
        self.receipts.append((self.version, receipt))
        self.past[self.version] = (dict(self.files), self.ledger)


def fact_of(path: str, subindex: SubIndex, records: tuple[Record, ...]) -> FileFact:
    number, g, e = subindex
    slots = [record.slot for record in records]
    expirations = [record.expiration_slot for record in records]
    return FileFact(
        path,
        number,
        g,
        e,
        min(slots),
        max(slots),
        min(expirations),
        max(expirations),
        len(records),
        len(records) * 100,
    )


def cell_of(record: Record) -> Cell:
    return Cell(1, hash((record.slot, record.expiration_slot, repr(record.key), repr(record.body))) % (1 << 64))


def _slot_receipt(slot: int, records: list[Record], stored: list[Record]) -> SlotReceipt:
    cells: dict[int, Cell] = {}
    for record in stored:
        cells[record.expiration_slot] = cells.get(record.expiration_slot, Cell(0, 0)).plus(cell_of(record))
    gone = len(records) - len(stored)
    return SlotReceipt(slot, len(records), len(stored), 0, gone, 0, 0, cells)


def cells_of(records: Iterable[Record]) -> dict[tuple[int, int], Cell]:
    cells: dict[tuple[int, int], Cell] = {}
    for record in records:
        at = (record.slot, record.expiration_slot)
        cells[at] = cells.get(at, Cell(0, 0)).plus(cell_of(record))
    return cells


def forget_matcher(key: object) -> Callable[[Record], bool]:
    return lambda record: record.key == key
