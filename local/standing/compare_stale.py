"""The comparison of a refresh: batches with the partials made of them, and these with answers.

Batches that a user names are *redone*: they count as stale though nothing says so, because an audit found that they are
not as they were stored. Their partials are folded again from the records, as long as as much of these can be read as
before; answers that look into them and are still corrected follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.local.derived.batch_reader import SlotReader, present_us
from tidewheel.local.derived.put import PartRows
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import (
    AGAIN,
    UNDONE,
    AnswerState,
    StalePartials,
    slots_of_report,
    stale_partials,
)
from tidewheel.queries.standing.tree import Tree

NOTHING = range(0)


def stale_now(
    job: ArchiveJob, reader: SlotReader, partials: Ledger, trees: Collection[Tree], again: range
) -> list[StalePartials]:
    """The partials that are not those of the source's batches."""
    axis, source = reader.snapshot.definition.axis, reader.state.ledger
    stale = stale_partials(axis, present_us(job, reader), source, partials, trees)
    return partials_again(stale, again, partials, trees) if again else stale


def answer_state(
    job: ArchiveJob, reader: SlotReader, answers: Ledger, queries: Sequence[Query], again: range
) -> AnswerState:
    """The state that answers are compared with."""
    state = AnswerState(
        axis=reader.snapshot.definition.axis,
        now_us=present_us(job, reader),
        span=reader.snapshot.definition.span,
        source=reader.state.ledger,
        answers=answers,
    )
    return answers_again(state, again, queries) if again else state


def partials_again(
    stale: Sequence[StalePartials], slots: range, partials: Ledger, trees: Iterable[Tree]
) -> list[StalePartials]:
    """The stale ones, and all there are of these slots."""
    names, found = {tree.name for tree in trees}, {one.key: one for one in stale}
    found |= {key: StalePartials(*key, AGAIN) for key in partials.batches if key[0] in slots and key[1] in names}
    return [found[key] for key in sorted(found)]


def less_than_before(made: PartRows, partials: Ledger) -> set[BatchKey]:
    """Return the redone batches that now hold fewer records than before."""
    known = {key: partials.batches[key].lineage for key in made.lineages if key in partials.batches}
    return {
        key
        for key, (source, coverage, *_) in known.items()
        if source == made.lineages[key][0] and coverage != made.lineages[key][1]
    }


def kept_as_they_are(keys: Collection[BatchKey], axis: TimeAxis) -> InvalidInput:
    """The error about batches whose records are gone."""
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
    """Tell whether the answers a query gave in a slot stand in these slots, or hold records from there."""
    oldest, _ = slots_of_report(state, query, state.axis.start_us(slot) + 1)
    return oldest <= slots[-1] and slots[0] <= slot
