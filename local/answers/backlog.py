"""Answers that are older than anybody corrects, of a query that is answered for the first time.

Partials of windows that far back would have expired as they are made, so none are kept: the records that can still be
read whole are folded once, in memory, and a report is given if its whole window is among them. What cannot be given
then is not given later: an old report says nothing, rather than half of it.

Where the time does not suffice, the oldest are given, and the rest is *owed*: the definition of the answers tells from
which slot on. Until that is settled no answer between there and those that are corrected is given from partials, which
might hold but a part of its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.indexing.core.batches import source_of
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.answer_store import stored_answers
from tidewheel.local.answers.ways import fold
from tidewheel.local.derived.budget import Budget
from tidewheel.local.derived.put import filtered
from tidewheel.local.partials.make import BatchFolder
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.local.partials.partial_store import digests
from tidewheel.queries.standing.lineage import Cover, Coverage, PartialLineage
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import Reflection
from tidewheel.queries.standing.staleness import AnswerState, DueAnswers, due_answers, slot_of_report
from tidewheel.queries.standing.tree import Tree, window_of

WHY = "missing, and older than what is corrected"
Owed = dict[str, int]  # by part, the first slot whose older answers are still to be given


class Given(NamedTuple):
    """Older answers of a tree's queries, by part."""

    due: dict[str, list[DueAnswers]]
    rows: pa.Table


@dataclass
class _Sought:
    """A tree's slots whose older answers are sought, and what was folded of them so far."""

    tree: Tree
    queries: Sequence[Query]
    slots: Sequence[int]
    tables: list[pa.Table] = field(default_factory=list)
    lineages: dict[int, PartialLineage] = field(default_factory=dict)
    failed: bool = False

    def slots_in(self, run: Sequence[int]) -> list[int]:
        """The slots of a run that this tree's older answers look into; none if a record of it cannot be folded."""
        return [] if self.failed else [slot for slot in run if self.slots[0] <= slot <= self.slots[-1]]


@dataclass
class OlderAnswers:
    """Gives what is older than `revise`, once; `folder` reads and folds the source's batches."""

    folder: BatchFolder
    state: AnswerState
    owed: Owed

    def begin(self, tree: Tree, query: Query) -> None:
        """Note what is owed to a query that has no answer yet."""
        is_new = query.part not in self.state.answers.applied_parts and query.part not in self.owed
        if is_new and self._reports(query):
            slots = self._slots(tree, query, self._first(query))
            if slots:
                self.owed[query.part] = max(slots[0], self._first(query))

    def is_owed(self, query: Query, slot: int) -> bool:
        """Tell whether an answer of that slot waits until it is known whether its whole window can be read."""
        return query.part in self.owed and self.owed[query.part] <= slot < self._young(query)

    def count(self, query: Query) -> int:
        """How many reports are owed at the most."""
        first, young = self.owed.get(query.part), self._young(query)
        if first is None or first >= young:
            return 0
        return max(1, (young - first) * self.state.axis.interval_us // query.terms.slide_us)

    def give(self, asked: Sequence[tuple[Tree, Sequence[Query]]], budget: Budget) -> dict[str, Given]:
        """Give what can be given whole, by tree, the oldest first, as long as there is time.

        At least one slot of each query is settled. The source is read once for all trees.

        Where a record cannot be folded, nothing is given, and nothing is owed any more.
        """
        sought = [_Sought(tree, mine, slots) for tree, mine in asked if (slots := self._slots_owed(tree, mine))]
        reached = self._fold(sought, budget) if sought else None
        given = {one.tree.name: self._given(one, reached or 0) for one in sought if not one.failed}
        self._settle_each([query for _, queries in asked for query in queries], sought, reached)
        return {tree: one for tree, one in given.items() if one is not None}

    def _settle_each(self, queries: Iterable[Query], sought: Sequence[_Sought], reached: int | None) -> None:
        """Settle what was reached of each query: all of it, unless later slots are still to be read."""
        ends = {query.part: one.slots[-1] for one in sought if not one.failed for query in one.queries}
        for query in queries:
            unfinished = reached is not None and reached < ends.get(query.part, reached)
            self._settle(query, reached if unfinished else None)

    def _slots_owed(self, tree: Tree, queries: Sequence[Query]) -> list[int]:
        return sorted({slot for one in queries for slot in self._slots(tree, one, self.owed[one.part])})

    def _given(self, sought: _Sought, reached: int) -> Given | None:
        tree, queries = sought.tree, sought.queries
        reflection = Reflection(self.state.axis, tree, sought.lineages)
        due = {query.name: self._due(query, reflection, sought.slots[0], reached) for query in queries}
        asked = [query for query in queries if due[query.name]]
        if not asked:
            return None
        reports = {query.name: [report for one in due[query.name] for report in one.reports] for query in asked}
        rows = TreeRows.of(pa.concat_tables(sought.tables, promote_options="default"))
        by_part = {query.part: due[query.name] for query in asked}
        version, newest = self.folder.reader.snapshot.version, self.state.slot_last or 0
        with suppress(InvalidInput):
            folded = fold(tree, self.state.axis, self.folder.connection, rows, asked, reports)
            return Given(by_part, stored_answers(folded, by_part, version, newest))
        return None

    def _settle(self, query: Query, reached: int | None) -> None:
        """Nothing is owed of slots whose answers need no batch behind the one that was reached; of none, if of all."""
        settled = None if reached is None else self._settled(query, reached)
        if settled is None or settled >= self._young(query):
            del self.owed[query.part]
        else:
            self.owed[query.part] = max(self.owed[query.part], settled)

    def _settled(self, query: Query, reached: int) -> int:
        """The first slot whose answers need a later batch than that."""
        axis = self.state.axis
        return slot_of_report(axis, axis.end_us(reached) - query.terms.late_us) + 1

    def _reports(self, query: Query) -> range:
        """When a query reported between what is kept and what is corrected."""
        axis = self.state.axis
        return window_of(query).reports_between(axis.start_us(self._first(query)), axis.start_us(self._young(query)))

    def _young(self, query: Query) -> int:
        return slot_of_report(self.state.axis, self.state.now_us - query.terms.revise_us)

    def _first(self, query: Query) -> int:
        """The slot of the oldest answer that is kept."""
        return slot_of_report(self.state.axis, self.state.now_us - query.terms.keep_us)

    def _slots(self, tree: Tree, query: Query, owed: int) -> list[int]:
        """The slots that a query's older reports look into, if there are any before those whose partials are kept."""
        axis, now_us, terms = self.state.axis, self.state.now_us, query.terms
        known = sorted(slot for slot, part in self.state.source.batches if not part)
        first_kept = axis.slot_of(now_us - tree.horizon_us - tree.ahead_us)
        if not known or known[0] >= first_kept:
            return []
        window_us = self.state.span * axis.interval_us if terms.window_us is None else terms.window_us
        first = axis.slot_of(axis.start_us(max(owed, self._first(query))) - window_us - tree.ahead_us)
        last = axis.slot_of(now_us + terms.late_us - terms.revise_us)
        return [slot for slot in known if first <= slot <= last]

    def _fold(self, sought: Sequence[_Sought], budget: Budget) -> int:
        """Fold the slots of all trees, run by run; the last slot there was time for."""
        queries = [query for one in sought for query in one.queries]
        reached: int | None = None
        for run in self._runs(sought, budget):
            if reached is not None and budget.is_spent() and self._settles_any(queries, reached):
                break
            rows, coverages = self.folder.read(run, [one.tree for one in sought])
            for one in sought:
                self._fold_run(one, one.slots_in(run), rows, coverages)
            reached = run[-1]
        assert reached is not None
        return reached

    def _runs(self, sought: Sequence[_Sought], budget: Budget) -> Iterator[list[int]]:
        """The slots of all trees, as many at once as fit in memory."""
        slots = sorted({slot for one in sought for slot in one.slots})
        columns = self.folder.columns_asked([one.tree for one in sought])
        return self.folder.together(slots, columns, budget.slots_first)

    def _fold_run(
        self, sought: _Sought, slots: Sequence[int], rows: pa.Table, coverages: Mapping[int, Coverage]
    ) -> None:
        """Fold the records of some slots, perhaps among those of others."""
        if not slots:
            return
        axis, batches, tree = self.state.axis, self.state.source.batches, sought.tree
        folder = replace(self.folder, now_us=axis.start_us(sought.slots[0]) + tree.horizon_us)
        is_mine = pc.is_in(rows.column("ins_slot"), pa.array(slots, pa.int64()))
        try:
            table = folder.folded(tree, slots, filtered(rows, is_mine))
        except InvalidInput:
            sought.failed = True
            return
        found = digests(table)
        sought.tables.append(table)
        sought.lineages |= {
            slot: PartialLineage(source_of(batches[slot, ""]), coverages[slot], found.get(slot, {}))
            for slot in slots
            if coverages[slot].cover is Cover.ALL
        }

    def _settles_any(self, queries: Sequence[Query], reached: int) -> bool:
        return any(self._settled(query, reached) > self.owed[query.part] for query in queries)

    def _due(self, query: Query, reflection: Reflection, first: int, reached: int) -> list[DueAnswers]:
        """The reports between `keep` and `revise` whose windows are whole, as if that was when one looked.

        Those that are there already were given by a refresh that was killed, or by another one meanwhile.
        """
        axis, terms = self.state.axis, query.terms
        given = {part: ranges for part, ranges in self.state.answers.applied_parts.items() if part == query.part}
        then = replace(
            self.state,
            now_us=axis.start_us(first),
            source=replace(self.state.source, watermark=None),
            answers=Ledger(applied_parts=given),
        )
        found = []
        for one in due_answers(then, query, reflection):
            if one.slot >= min(self._young(query), self._settled(query, reached)):
                break
            kept = one.reports[-1].at_us + terms.keep_us > self.state.now_us
            if kept and one.slot >= self.owed[query.part] and all(report.complete == 1 for report in one.reports):
                found.append(replace(one, why=WHY))
        return found
