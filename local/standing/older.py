"""Answers that are older than anybody corrects, of a query that is answered for the first time.

Partials of windows that far back would have expired as they are made, so none are kept: the records that can still be
read whole are folded once, in memory, and a report is given if its whole window is among them. What cannot be given
then is not given later: an old report says nothing, rather than half of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from tidewheel.indexing.core.batches import source_of
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.folding import fold
from tidewheel.local.standing.partial_batches import BatchFolder
from tidewheel.local.standing.stored_rows import digests, stored_answers
from tidewheel.local.standing.tree_rows import TreeRows
from tidewheel.queries.standing.lineage import Cover, PartialLineage
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import Reflection
from tidewheel.queries.standing.staleness import AnswerState, DueAnswers, due_answers, slot_of_report
from tidewheel.queries.standing.tree import Tree

WHY = "missing, and older than what is corrected"


@dataclass(frozen=True)
class OlderAnswers:
    """Gives what is older than `revise`, once; `folder` reads and folds the source's batches."""

    folder: BatchFolder
    state: AnswerState

    def of(self, tree: Tree, queries: Sequence[Query]) -> list[tuple[Query, list[DueAnswers], pa.Table]]:
        """By query, the older answers that can be given whole. Where a record cannot be folded, none are."""
        with suppress(InvalidInput):
            return list(self._given(tree, queries))
        return []

    def _given(self, tree: Tree, queries: Sequence[Query]) -> Iterator[tuple[Query, list[DueAnswers], pa.Table]]:
        new = [query for query in queries if query.part not in self.state.answers.applied_parts]
        asked = [query for query in new if query.terms.keep_us > query.terms.revise_us]
        slots = self._slots(tree, asked) if asked else []
        if not slots:
            return
        table, reflection = self._folded(tree, slots)
        due = {query.name: self._due(query, reflection, slots[0]) for query in asked}
        reports = {name: [report for one in some for report in one.reports] for name, some in due.items()}
        folder, newest = self.folder, self.state.slot_last or 0
        rows = TreeRows.of(table)
        for query, folded in fold(tree, self.state.axis, folder.connection, rows, asked, reports):
            mine = due[query.name]
            version = folder.reader.snapshot.version
            yield query, mine, stored_answers([(query, folded)], {query.part: mine}, version, newest)

    def _slots(self, tree: Tree, queries: Sequence[Query]) -> list[int]:
        """The slots that older reports look into, if there are any before those whose partials are kept."""
        axis, now_us = self.state.axis, self.state.now_us
        known = sorted(slot for slot, part in self.state.source.batches if not part)
        first_kept = axis.slot_of(now_us - tree.horizon_us - tree.ahead_us)
        if not known or known[0] >= first_kept:
            return []
        back_us = max(query.terms.keep_us + (query.terms.window_us or 0) + tree.ahead_us for query in queries)
        ahead_us = max(query.terms.late_us - query.terms.revise_us for query in queries)
        first, last = axis.slot_of(now_us - back_us), axis.slot_of(now_us + ahead_us)
        return [slot for slot in known if first <= slot <= last]

    def _folded(self, tree: Tree, slots: Sequence[int]) -> tuple[pa.Table, Reflection]:
        """The partial rows of these slots, and what they are worth."""
        axis, batches = self.state.axis, self.state.source.batches
        folder = replace(self.folder, now_us=axis.start_us(slots[0]) + tree.horizon_us)
        tables = []
        lineages: dict[int, PartialLineage] = {}
        for run in folder.together(slots, None):
            rows, coverages = folder.reader.read_all(run)
            table = folder.folded(tree, run, rows)
            found = digests(table)
            whole = [slot for slot in run if coverages[slot].cover is Cover.ALL]
            lineages |= {
                slot: PartialLineage(source_of(batches[slot, ""]), coverages[slot], found.get(slot, {}))
                for slot in whole
            }
            tables.append(table)
        return pa.concat_tables(tables, promote_options="default"), Reflection(axis, tree, lineages)

    def _due(self, query: Query, reflection: Reflection, first: int) -> list[DueAnswers]:
        """The reports between `keep` and `revise` whose windows are whole, as if that was when one looked."""
        axis, terms = self.state.axis, query.terms
        young = slot_of_report(axis, self.state.now_us - terms.revise_us)
        then = replace(
            self.state,
            now_us=axis.start_us(first),
            source=replace(self.state.source, watermark=None),
            answers=Ledger(),
        )
        found = []
        for one in due_answers(then, query, reflection):
            if one.slot >= young:
                break
            kept = one.reports[-1].at_us + terms.keep_us > self.state.now_us
            if kept and all(report.complete == 1 for report in one.reports):
                found.append(replace(one, why=WHY))
        return found
