"""Batches that are made again though nothing says that they are stale: an audit found that they are not as stored.

Partials are folded anew from the records, as long as these can be read as they could when the partials were made;
answers follow that are still corrected and look into these slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import BatchKey
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.local.derived.put import PartRows
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import AGAIN, UNDONE, AnswerState, StalePartials, slots_of_report
from tidewheel.queries.standing.tree import Tree

NOTHING = range(0)


def partials_again(
    stale: Sequence[StalePartials], slots: range, partials: Ledger, trees: Iterable[Tree]
) -> list[StalePartials]:
    """The stale ones, and all there are of these slots."""
    names, found = {tree.name for tree in trees}, {one.key: one for one in stale}
    found |= {key: StalePartials(*key, AGAIN) for key in partials.batches if key[0] in slots and key[1] in names}
    return [found[key] for key in sorted(found)]


def less_than_before(made: PartRows, partials: Ledger) -> set[BatchKey]:
    """Of the batches that were made again of the same those of which less can be read than they hold."""
    known = {key: partials.batches[key].lineage for key in made.lineages if key in partials.batches}
    return {
        key
        for key, (source, coverage, *_) in known.items()
        if source == made.lineages[key][0] and coverage != made.lineages[key][1]
    }


def kept_as_they_are(keys: Collection[BatchKey], axis: TimeAxis) -> InvalidInput:
    """What to tell of batches whose records are gone."""
    first = min(slot for slot, _ in keys)
    return InvalidInput(
        f"{counted(len(keys), 'batch', 'batches')} of partials, from slot {axis.name(first)} on, stay as they are: "
        "less of their records can be read than when they were made",
        "leave them, or move partials and answers away and refresh: what can be read is given again",
    )


def answers_again(state: AnswerState, slots: range, queries: Iterable[Query]) -> AnswerState:
    """As if answers that look into these slots were made of something else."""
    asked = {query.part: query for query in queries}
    batches = {
        key: replace(batch, lineage=(AGAIN,))
        if key[1] in asked and batch.lineage[:1] != (UNDONE,) and _looks_into(state, asked[key[1]], key[0], slots)
        else batch
        for key, batch in state.answers.batches.items()
    }
    return replace(state, answers=replace(state.answers, batches=batches))


def _looks_into(state: AnswerState, query: Query, slot: int, slots: range) -> bool:
    """Whether the answers that a query gave in a slot stand there, or hold records from there."""
    oldest, _ = slots_of_report(state, query, state.axis.start_us(slot) + 1)
    return oldest <= slots[-1] and slots[0] <= slot
