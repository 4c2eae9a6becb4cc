"""The partials of stale batches, made again from the source's records: as many slots at once as fit in memory.

The records of each slot are read once, whatever trees need them, and each tree folds all slots of a run in one
statement. Of a record only what a tree may ask for is read. Partials whose records are gone are kept where their
queries ask for that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.batches import source_of
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.local.derived.batch_reader import SlotReader
from tidewheel.local.derived.budget import Budget
from tidewheel.local.derived.put import PartRows, filtered
from tidewheel.local.partials.erased_partials import erased_partials, without_keys
from tidewheel.local.partials.fold import PartialBuilder
from tidewheel.local.partials.partial_store import digests, stored_partials
from tidewheel.local.rows import file_schema
from tidewheel.queries.standing.lineage import Cover, Coverage, PartialLineage
from tidewheel.queries.standing.query import Counts, Erasure, Query
from tidewheel.queries.standing.staleness import AGAIN, StalePartials
from tidewheel.queries.standing.tree import Assignment, Tree, assigned
from tidewheel.storage.ledger_store import ledger_of

# How many values of records are in memory at a time, if no single batch has more.
VALUES_TOGETHER = 12_000_000
PLACES = ("ins_slot", "exp_slot")  # where a record is
MEND = "mend the select or where of these queries, for example with try_cast or a wider type"
Batches = tuple[pa.Table, dict[int, PartialLineage]]  # partial rows as they are stored, their lineages by slot


@dataclass
class _Made:
    """The batches made so far: partial rows as they are stored, and what each batch was made of."""

    tables: list[pa.Table] = field(default_factory=list)
    lineages: dict[BatchKey, tuple[str, ...]] = field(default_factory=dict)

    def add(self, tree: Tree, table: pa.Table, lineages: Mapping[int, PartialLineage]) -> None:
        """Add a tree's batches, if there are any."""
        if lineages:
            self.tables.append(table)
            self.tell(tree, lineages)

    def tell(self, tree: Tree, lineages: Mapping[int, PartialLineage]) -> None:
        self.lineages |= {(slot, tree.name): lineage.to_texts() for slot, lineage in lineages.items()}

    def part_rows(self) -> PartRows:
        rows = pa.concat_tables(self.tables, promote_options="permissive") if self.tables else None
        return PartRows(rows, self.lineages)


@dataclass(frozen=True)
class BatchFolder:
    """Folds the batches of one version of the source."""

    partials: ArchiveJob
    reader: SlotReader
    queries: Sequence[Query]
    tree_of: Mapping[str, str]  # query's name -> tree's name
    connection: duckdb.DuckDBPyConnection
    now_us: int
    failed: dict[str, InvalidInput] = field(default_factory=dict)  # by tree
    guilty: dict[str, frozenset[str]] = field(default_factory=dict)  # by tree, who cannot be folded even alone

    @property
    def axis(self) -> TimeAxis:
        return self.reader.snapshot.definition.axis

    def fold(self, stale: Sequence[StalePartials], trees: Sequence[Tree], budget: Budget) -> PartRows:
        """The batches of partials that are stale, as their archive takes them; the oldest, if there is little time.

        Where a tree's records cannot be folded, `failed` tells why, and its batches are left as they are.
        """
        made = _Made()
        for tree in trees:
            mine = [one.slot for one in stale if one.tree == tree.name and one.why != AGAIN]
            made.add(tree, *self._erased(tree, mine))
        keys = {one.key for one in stale} - made.lineages.keys()
        slots, names = sorted({slot for slot, _ in keys}), {part for _, part in keys}
        self._fold_runs(made, keys, slots, [tree for tree in trees if tree.name in names], budget)
        return made.part_rows()

    def _fold_runs(
        self, made: _Made, keys: Collection[BatchKey], slots: Sequence[int], trees: Sequence[Tree], budget: Budget
    ) -> None:
        """Fold the records of some slots for all trees that ask for them, run by run."""
        for run in self.together(slots, self.columns_asked(trees), budget.slots_first):
            if made.tables and budget.is_spent():
                return
            rows, coverages = self.read(run, trees)
            for tree in (tree for tree in trees if tree.name not in self.failed):
                self._fold_tree(made, tree, [slot for slot in run if (slot, tree.name) in keys], rows, coverages)

    def _fold_tree(
        self, made: _Made, tree: Tree, slots: Sequence[int], rows: pa.Table, coverages: Mapping[int, Coverage]
    ) -> None:
        """Fold one tree's slots of a run; a tree that cannot be folded is noted with its guilty queries."""
        try:
            table, lineages = self._batches(tree, slots, rows, coverages)
        except InvalidInput as error:
            self.failed[tree.name] = error
            self.guilty[tree.name] = self._guilty(tree, slots, rows)
        else:
            made.tables.append(table)
            made.tell(tree, lineages)

    def _erased(self, tree: Tree, slots: Sequence[int]) -> tuple[pa.Table, Mapping[int, PartialLineage]]:
        """The stored rows that stay where only keys that are groups went; none of a tree this program cannot read."""
        try:
            return erased_partials(self.partials, self.reader, tree, slots)
        except InvalidInput:
            return pa.table({}), {}  # whoever folds it tells why

    def _guilty(self, tree: Tree, slots: Sequence[int], rows: pa.Table) -> frozenset[str]:
        """The queries of a tree that cannot be folded even alone."""
        found = set()
        for query in self._asking(tree):
            (alone,) = assigned([query], 0).trees
            try:
                self.folded(alone, slots, rows)
            except InvalidInput:
                found.add(query.name)
        return frozenset(found)

    def parting(self, assignment: Assignment, known: Collection[str]) -> dict[str, frozenset[str]]:
        """Trees that queries which can be folded share with what cannot, and who stays with them; `known` has parted.

        Who is to blame stays, so that what was folded before is there when its records can be folded again.
        """
        found = {}
        for tree, guilty in self.guilty.items():
            sharing = {name for name, one in assignment.tree_of.items() if one == tree}
            if sharing - guilty and tree not in known:
                found[tree] = guilty & sharing
        return found

    def _asking(self, tree: Tree) -> list[Query]:
        return [query for query in self.queries if self.tree_of.get(query.name) == tree.name]

    def read(self, slots: Sequence[int], trees: Sequence[Tree]) -> tuple[pa.Table, dict[int, Coverage]]:
        """Read what these trees ask of the records of some slots."""
        return self.reader.read_all(slots, self.columns_asked(trees))

    def columns_asked(self, trees: Sequence[Tree]) -> list[str]:
        """The columns that the SQL of some trees may name, and those that tell where a record is."""
        text = json.dumps([tree.to_json() for tree in trees], ensure_ascii=False).casefold()
        return [
            name
            for name in file_schema(self.reader.snapshot).names
            if name in PLACES or not name.isidentifier() or name.casefold() in text
        ]

    def together(self, slots: Iterable[int], columns: Sequence[str], slots_max: int | None) -> Iterator[list[int]]:
        """Runs of slots whose batches are few enough values; of at most so many slots, twice as many each time."""
        records_max = VALUES_TOGETHER // len(columns)
        run: list[int] = []
        records = 0
        for slot in slots:
            batch = self.reader.state.ledger.batches.get((slot, ""))
            count = 0 if batch is None else batch.rows_in
            if run and (records + count > records_max or len(run) == slots_max):
                yield run
                run, records = [], 0
                slots_max = slots_max and 2 * slots_max
            run.append(slot)
            records += count
        if run:
            yield run

    def _batches(self, tree: Tree, slots: Sequence[int], rows: pa.Table, coverages: Mapping[int, Coverage]) -> Batches:
        """A tree's partials of some slots, from the records of these and perhaps of others."""
        sources = {slot: source_of(self.reader.state.ledger.batches.get((slot, ""))) for slot in slots}
        told = {slot: coverages[slot] if tree.counts is Counts.LIVE else coverages[slot].for_all() for slot in slots}
        kept: dict[int, PartialLineage] = {}
        if tree.erasure is Erasure.KEEP:
            lacking = (slot for slot in slots if told[slot].cover is not Cover.ALL)
            kept = {slot: one for slot in lacking if (one := self._kept(tree, slot, sources[slot])) is not None}
        staying, kept = without_keys(self.partials, self.reader, tree, kept) if kept else (None, kept)
        fresh = [slot for slot in slots if slot not in kept]
        table = self.folded(tree, fresh, filtered(rows, pc.is_in(rows.column("ins_slot"), pa.array(fresh, pa.int64()))))
        found = digests(table)
        lineages = {slot: PartialLineage(sources[slot], told[slot], found.get(slot, {})) for slot in fresh}
        tables = [stored_partials(table, tree, self.axis), *([] if staying is None else [staying])]
        return pa.concat_tables(tables, promote_options="default"), lineages | kept

    def folded(self, tree: Tree, slots: Sequence[int], rows: pa.Table) -> pa.Table:
        """The partial rows of some slots; where a record cannot be folded, its slot is named."""
        oldest_us = self.now_us - tree.horizon_us - tree.ahead_us
        try:
            return PartialBuilder(tree, self.axis, self.connection).build(rows, oldest_us)
        except (duckdb.Error, InvalidInput) as error:
            for slot in slots if len(slots) > 1 else ():
                self.folded(tree, [slot], rows.filter(pc.field("ins_slot") == slot))
            asking = ", ".join(query.name for query in self._asking(tree))
            told = error if isinstance(error, InvalidInput) else InvalidInput(one_line(str(error)), MEND)
            raise InvalidInput(
                f"the records of slot {self.axis.name(slots[0])} cannot be folded for {asking}: "
                f"{told.message.rstrip('.')}. Their answers stay as they were",
                told.remedy,
            ) from error

    def _kept(self, tree: Tree, slot: int, source: str) -> PartialLineage | None:
        """The lineage of partials whose records are gone and which stay: their queries ask for that."""
        batch = ledger_of(self.partials.snapshot()).batches.get((slot, tree.name))
        lineage = None if batch is None else PartialLineage.from_texts(batch.lineage)
        if lineage is None or lineage.source.split(" ")[0] != source.split(" ", maxsplit=1)[0]:
            return None
        coverage = replace(lineage.coverage, why="may hold what was forgotten, as its queries ask: erasure = keep")
        return replace(lineage, source=source, coverage=coverage)
