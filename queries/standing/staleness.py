"""The work of a refresh, found by comparison alone: batches with lineages, and lineages with answers.

1. Partials of a (slot, tree) are stale if the source's batch is not the one that they were made of.
2. An answer is stale if what its window holds is not what it was made of. Both are digests: fragments and covered slots
   are added up along time once, and the digest of a window is the difference of two of these sums.
3. A missing answer is given whenever something of its window is covered, a given one corrected while it is young.

Nothing is remembered of what a refresh before wanted to do: killed anywhere, the next one finds what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, groupby

from tidewheel.indexing.core.batch_map import Batch, BatchKey
from tidewheel.indexing.core.batches import is_made_before_forget, made_of
from tidewheel.indexing.core.ledger import Ledger, cells_beyond
from tidewheel.indexing.core.slots import TimeAxis, ranges_since
from tidewheel.queries.standing.given_slots import GivenSlots
from tidewheel.queries.standing.lineage import DIGEST_MASK
from tidewheel.queries.standing.query import Counts, Query, Terms
from tidewheel.queries.standing.reach import last_looking_us, slot_reached
from tidewheel.queries.standing.reflection import ODD, Reflection
from tidewheel.queries.standing.tree import Tree, window_of

UNDONE = "undone"
AGAIN = "asked for again"
PAST_MAX = 200  # ranges of slots that a query was given for and nobody asks about
Slots = tuple[tuple[int, int], ...]  # ranges of them


@dataclass(frozen=True)
class StalePartials:
    """A batch of partials that must be made again, and why."""

    slot: int
    tree: str
    why: str

    @property
    def key(self) -> BatchKey:
        return (self.slot, self.tree)


@dataclass(frozen=True)
class DueReport:
    """One answer of a query: its time, the share of its slots that are covered, and what is missing."""

    at_us: int
    complete: float
    why: str = ""


@dataclass(frozen=True)
class DueAnswers:
    """The answers of a query in one slot, which are given together."""

    slot: int
    part: str
    reports: tuple[DueReport, ...]
    digest: str
    revision: int
    why: str

    @property
    def key(self) -> BatchKey:
        return (self.slot, self.part)


def slot_of_report(axis: TimeAxis, at_us: int) -> int:
    """The slot whose end a report is, or in which it lies: an answer never lies in an unfinished slot."""
    return axis.slot_of(at_us - 1)


def stale_partials(
    axis: TimeAxis, now_us: int, source: Ledger, partials: Ledger, trees: Iterable[Tree]
) -> list[StalePartials]:
    """Return the batches of partials that no longer match the source's batches, slot by slot, newest last."""
    found = []
    for tree in trees:
        # A record's time may lie ahead of its slot, so an older slot may reach into the oldest window.
        first = axis.slot_of(now_us - tree.horizon_us - tree.ahead_us)
        slots = {slot for slot, part in source.batches if not part and slot >= first}
        kept = {slot: batch for (slot, part), batch in partials.batches.items() if part == tree.name}
        slots |= {
            slot for slot, batch in kept.items() if slot >= first or _holds_forgotten(slot, batch, source, partials)
        }
        for slot in sorted(slots):
            why = _why_stale(slot, tree, source, partials)
            if why:
                found.append(StalePartials(slot, tree.name, why))
    return sorted(found, key=lambda one: one.key)


def _holds_forgotten(slot: int, known: Batch, source: Ledger, partials: Ledger) -> bool:
    """Tell whether partials that no window needs any more hold live rows from before a forget."""
    now = source.batches.get((slot, ""))
    return now is not None and is_made_before_forget(known, now) and bool(cells_beyond(known, partials.watermark))


def _why_stale(slot: int, tree: Tree, source: Ledger, partials: Ledger) -> str:
    now, known = source.batches.get((slot, "")), partials.batches.get((slot, tree.name))
    if known is None:
        return "" if now is None else "no partials yet"
    if known.lineage[:1] == (made_of(now),):
        return ""
    if now is None:
        return "the slot was undone"
    return "forgotten" if is_made_before_forget(known, now) else "another batch"


@dataclass(frozen=True)
class AnswerState:
    """The state that answers are compared with: the source's applied slots and the answers' ledger."""

    axis: TimeAxis
    now_us: int
    span: int
    source: Ledger
    answers: Ledger

    @property
    def slot_last(self) -> int | None:
        return slot_reached(self.source)

    @property
    def present_us(self) -> int:
        """Through when partials may have expired."""
        watermark = self.source.watermark
        return self.now_us if watermark is None else max(self.now_us, self.axis.end_us(watermark))

    @property
    def kept_through(self) -> int | None:
        """Through which slot answers expire: as the source does, but by a wall clock not before their time.

        A slot that was forced into the future takes no answer away before it was kept as long as it is to be.
        """
        through, known = self.source.watermark, self.answers.watermark
        if through is None:
            return known
        in_time = min(through, self.axis.slot_of(self.now_us) - 1)
        return in_time if known is None else max(known, in_time)

    @cached_property
    def slots_beyond(self) -> Mapping[str, list[int]]:
        """Return for each query the slots, ascending, behind the last one for which there are answers."""
        last, found = self.slot_last, dict[str, list[int]]()
        for slot, part in sorted(key for key in self.answers.batches if last is None or key[0] > last):
            found.setdefault(part, []).append(slot)
        return found


@dataclass(frozen=True)
class _Compared:
    """The reports of one slot that may be due, with the digest of what they hold now."""

    slot: int
    reports: tuple[DueReport, ...]
    digest: str
    is_given: bool  # however long ago


def due_of_each(state: AnswerState, queries: Iterable[Query], reflection: Reflection) -> dict[str, list[DueAnswers]]:
    """Return `due_answers` for each of a tree's queries, by name.

    Cost: queries of the same terms that were answered for the same slots report at the same times and hold the same, so
    they are compared once.
    """
    alike: dict[tuple[Terms, Slots], list[_Compared]] = {}
    found = {}
    for query in queries:
        key = query.terms, _given_kept(state, query)
        if key not in alike:
            alike[key] = list(_compared(state, query, reflection))
        found[query.name] = [*_undone(state, query), *_due(state, query.part, alike[key])]
    return found


def due_answers(state: AnswerState, query: Query, reflection: Reflection) -> Iterator[DueAnswers]:
    """The answers of a query that are missing or stale, oldest first; of undone slots, none."""
    yield from _undone(state, query)
    yield from _due(state, query.part, _compared(state, query, reflection))


def _due(state: AnswerState, part: str, compared: Iterable[_Compared]) -> Iterator[DueAnswers]:
    for one in compared:
        batch = state.answers.batches.get((one.slot, part))
        if batch is not None and batch.lineage[:1] == (one.digest,):
            continue
        if batch is None and (one.is_given or not any(report.complete for report in one.reports)):
            continue
        revision = 0 if batch is None else batch.revision + 1
        why = "missing" if batch is None else "its window holds something else now"
        yield DueAnswers(one.slot, part, one.reports, one.digest, revision, why)


def _compared(state: AnswerState, query: Query, reflection: Reflection) -> Iterator[_Compared]:
    """All that depends on the query's terms, on its slots that were given, and on nothing else of it."""
    slot_min, slot_last = reflection.slot_min, state.slot_last
    if slot_min is None or slot_last is None:
        return
    axis, window = state.axis, window_of(query)
    young_us = state.now_us - query.terms.revise_us
    given = GivenSlots(_given_kept(state, query))
    # Who keeps answers for a short time asks for no older ones.
    first_kept = max(slot_min, slot_of_report(axis, state.now_us - query.terms.keep_us))
    young = slot_of_report(axis, young_us)
    if given.count(first_kept, young) == _slots_with_reports(axis, query, first_kept, young):
        first_kept = max(first_kept, young)  # of what is not corrected any more, all is given
    # What came last may have been undone since: its partials tell so, and answers that looked at it are compared.
    looks_us = last_looking_us(axis, query.terms, state.span, max(reflection.lineages))
    slots = given.gaps_and_from(young, first_kept, min(slot_last, slot_of_report(axis, looks_us)))
    times = (window.reports_between(axis.start_us(first), axis.end_us(last)) for first, last in slots)
    for slot, together in groupby(chain.from_iterable(times), partial(slot_of_report, axis)):
        is_given, reports = given.has(slot), list(together)
        if (is_given and reports[-1] < young_us) or reports[-1] + query.terms.keep_us <= state.now_us:
            continue
        due = tuple(report_at(state, query, reflection, at_us) for at_us in reports)
        yield _Compared(slot, due, _digest(state, query, reflection, reports), is_given)


def _given_kept(state: AnswerState, query: Query) -> Slots:
    """The slots that were given, as far back as answers are kept."""
    oldest = slot_of_report(state.axis, state.now_us - query.terms.keep_us)
    return ranges_since(state.answers.applied_parts.get(query.part, ()), oldest)


def slots_past(state: AnswerState, queries: Iterable[Query]) -> dict[str, int]:
    """Return for each part with many ranges of answered slots the slot before which nobody asks for its answers.

    That is twice as long ago as answers are kept, so that clocks of several machines need not agree.
    """
    found = {}
    for query in queries:
        ranges = state.answers.applied_parts.get(query.part, ())
        oldest = slot_of_report(state.axis, state.now_us - 2 * query.terms.keep_us)
        if len(ranges) - len(ranges_since(ranges, oldest)) > PAST_MAX:
            found[query.part] = oldest
    return found


def _undone(state: AnswerState, query: Query) -> Iterator[DueAnswers]:
    for slot in state.slots_beyond.get(query.part, ()):
        batch = state.answers.batches[slot, query.part]
        if batch.lineage[:1] != (UNDONE,):
            yield DueAnswers(slot, query.part, (), UNDONE, batch.revision + 1, "the slot was undone")


def _slots_with_reports(axis: TimeAxis, query: Query, first: int, end: int) -> int:
    """In how many of the slots [first, end) a query reports."""
    if query.terms.slide_us <= axis.interval_us:
        return max(0, end - first)
    return len(window_of(query).reports_between(axis.start_us(first), axis.start_us(end)))


def slots_of_report(state: AnswerState, query: Query, at_us: int) -> tuple[int, int]:
    """The slots on which an answer depends. Times may lie ahead of their slot, so an older one may reach into it."""
    last = slot_of_report(state.axis, at_us + query.terms.late_us)
    if query.terms.window_us is None:
        return slot_of_report(state.axis, at_us) - state.span + 1, last
    return state.axis.slot_of(at_us - query.terms.window_us - query.terms.ahead_us), last


def _slot_kept(state: AnswerState, query: Query, tree: Tree, at_us: int) -> int:
    """The first slot whose partials serve a report whole: they live as long as answers are corrected, and no longer."""
    axis, window_us = state.axis, query.terms.window_us
    if tree.counts is Counts.LIVE and at_us < state.present_us - tree.revise_us:
        return slot_of_report(axis, at_us + query.terms.late_us) + 1
    oldest_us = state.present_us - tree.horizon_us
    if window_us is None or at_us - window_us >= oldest_us:
        return slots_of_report(state, query, at_us)[0]
    return axis.slot_of(oldest_us - 1) + 1


def report_at(state: AnswerState, query: Query, reflection: Reflection, at_us: int) -> DueReport:
    """The report of a moment, with the share of its slots that partials cover."""
    first, last = slots_of_report(state, query, at_us)
    before = slot_of_report(state.axis, at_us)
    kept = _slot_kept(state, query, reflection.tree, at_us)
    there = reflection.covered(min(max(first, kept), last + 1), last, before)
    wanted = last - first + 1 + reflection.lacking_after(last, before)
    if there == wanted:
        return DueReport(at_us, 1.0)
    return DueReport(at_us, there / wanted, f"{wanted - there} of {wanted} slots are not covered")


def _digest(state: AnswerState, query: Query, reflection: Reflection, reports: Iterable[int]) -> str:
    """Return the digest of the query and of all that its answers at these times are made of."""
    slices, total = reflection.tree.slices, 0
    for at_us in reports:
        first, last = slots_of_report(state, query, at_us)
        window_us = query.terms.window_us
        begin = None if window_us is None else slices.number_of(at_us - window_us)
        whole = reflection.digest(begin, slices.number_of(at_us), None if window_us is None else first, last)
        total = (total * ODD[1] + whole) & DIGEST_MASK
    return f"{total:016x}"
