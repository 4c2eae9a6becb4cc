"""What a refresh compares: batches with the partials that were made of them, and these with answers.

What is to be made again, stale or not, counts as if it were stale.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.local.derived.batch_reader import SlotReader, present_us
from tidewheel.local.standing.redo import answers_again, partials_again
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import AnswerState, StalePartials, stale_partials
from tidewheel.queries.standing.tree import Tree


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
    """What answers are compared with."""
    state = AnswerState(
        axis=reader.snapshot.definition.axis,
        now_us=present_us(job, reader),
        span=reader.snapshot.definition.span,
        source=reader.state.ledger,
        answers=answers,
    )
    return answers_again(state, again, queries) if again else state
