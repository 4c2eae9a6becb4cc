"""An explained query: its tree, what is kept for it, how far its answers reach, what a refresh would recompute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.slots import TimeAxis, iso, ranges_since
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.by_technique import named_technique
from tidewheel.local.answers.ways import way_of
from tidewheel.local.derived.batch_reader import present_us, reader_of
from tidewheel.local.derived.neighbours import derived_job, is_there
from tidewheel.local.partials.fold import aggregate_of, call_inputs, inputs_of
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.standing.refresh import Refresh
from tidewheel.local.standing.statistics import known_of
from tidewheel.queries.operation import Error
from tidewheel.queries.planning.standing_trees import Why, why
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.standing.lineage import Cover, Coverage, PartialLineage
from tidewheel.queries.standing.meaning import call_text
from tidewheel.queries.standing.query import Counts, Query
from tidewheel.queries.standing.reach import newest_report
from tidewheel.queries.standing.staleness import DueAnswers, StalePartials, slot_of_report
from tidewheel.queries.standing.tree import Tree, window_of
from tidewheel.queries.technique_costs import Offer, offers
from tidewheel.storage.ledger_store import ledger_of


@dataclass(frozen=True)
class Standing:
    """A query in a list: in how many slots it has answers that are kept, through which, and how far that is behind."""

    query: Query
    slots_given: int
    given_through: int | None
    axis: TimeAxis
    lag_us: int | None  # None while nothing was given, or nothing is there to be asked

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.query.name,
            "part": self.query.part,
            "slots_given": self.slots_given,
            "given_through": None if self.given_through is None else iso(self.axis.end_us(self.given_through)),
            "lag_us": self.lag_us,
        }


@dataclass(frozen=True)
class Explained:
    """Why a query costs what it costs, and why it would be redone."""

    query: Query
    tree: Tree
    way: str
    served: tuple[str, ...]
    tree_why: Why
    partial_rows: int
    covered: dict[str, int]
    reasons: dict[str, int]  # why slots are not covered, and how many for each reason
    stale: tuple[StalePartials, ...]
    due: tuple[DueAnswers, ...]
    plan: SharedPlan
    techniques: tuple[Offer, ...]

    @property
    def errors(self) -> dict[str, Error]:
        """The error bounds of the query's approximate aggregates."""
        pairs = ((call_text(call), aggregate_of(call).error) for call in self.query.calls)
        return {text: error for text, error in pairs if error}

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query.to_json(),
            "tree": {"name": self.tree.name, **self.tree.to_json()},
            "folded_by": self.way,
            "serves": list(self.served),
            "tree_why": asdict(self.tree_why),
            "accumulators": [str(given.operation.name) for given in inputs_of(self.tree)],
            "errors": {text: one.to_json() for text, one in self.errors.items()},
            "fragments_per_period": len(self.tree.slices.edges),
            "partial_rows": self.partial_rows,
            "slots_covered": self.covered,
            "not_covered_because": [{"why": why, "slots": slots} for why, slots in self.reasons.items()],
            "stale": [{"slot": one.slot, "why": one.why} for one in self.stale],
            "due": [{"slot": one.slot, "why": one.why, "revision": one.revision} for one in self.due],
            "fragments_per_window": list(self.plan.counts),
            "techniques": [one.to_json() for one in self.techniques],
        }


def standing(job: ArchiveJob, queries: list[Query], axis: TimeAxis) -> list[Standing]:
    """The queries with what is kept of each."""
    answers = derived_job(job, "answers")
    given = ledger_of(answers.snapshot()).applied_parts if is_there(answers) else {}
    reader, listed = reader_of(job), []
    source, span, now_us = reader.state.ledger, reader.snapshot.definition.span, present_us(job, reader)
    for query in queries:
        ranges = given.get(query.part, ())
        through = max((last for _, last in ranges), default=None)
        if through is not None:
            ranges = ranges_since(ranges, axis.slot_of(axis.end_us(through) - query.terms.keep_us))
        slots = sum(last - first + 1 for first, last in ranges)
        newest_us = newest_report(axis, now_us, source, query.terms, span)
        listed.append(Standing(query, slots, through, axis, _lag_us(axis, newest_us, through)))
    return listed


def _lag_us(axis: TimeAxis, newest_us: int | None, through: int | None) -> int | None:
    """The time from the newest answer to the newest report that can be given."""
    if newest_us is None or through is None:
        return None if through is None else 0
    return max(0, slot_of_report(axis, newest_us) - through) * axis.interval_us


def explained(
    job: ArchiveJob, queries: list[Query], name: str, technique: str = "", *, shared: bool = False, planner: str = ""
) -> Explained:
    """One query explained, among the others it shares with; of one technique, if it is right for it, or of all.

    `shared` tells what techniques cost with one state for all windows of its tree.
    """
    query = _named(queries, name)
    refresh = Refresh(job, queries, planner=planner)
    found, assignment = refresh.compare(), refresh.assignment()
    tree = assignment.tree(name)
    plan = tree.slices if shared else build_shared_plan([window_of(query)])
    partials = derived_job(job, "partials")
    sharing = [one for one in queries if assignment.tree_of[one.name] == tree.name]
    is_kept = tree in kept_trees(partials).trees
    batches = _batches_of(partials, tree)
    coverages = [PartialLineage.from_texts(batch.lineage[:2]).coverage for batch in batches]
    return Explained(
        query=query,
        tree=tree,
        way=way_of(query),
        served=tuple(one.name for one in sharing),
        tree_why=why(query, sharing, known_of(job, sharing), planner, is_kept=is_kept),
        partial_rows=sum(batch.rows_in for batch in batches),
        covered=_counted(coverages),
        reasons=_past(refresh, query) or _reasons(job, tree, coverages),
        stale=tuple(one for one in found.stale if one.tree == tree.name),
        due=tuple(one for one in found.due if one.part == query.part),
        plan=plan,
        techniques=_offers(query, plan, technique),
    )


def _named(queries: Sequence[Query], name: str) -> Query:
    query = next((query for query in queries if query.name == name), None)
    if query is None:
        known = ", ".join(query.name for query in queries) or "none"
        raise InvalidInput(f"there is no standing query {name}", f"known are {known}")
    return query


def _batches_of(partials: ArchiveJob, tree: Tree) -> list[Batch]:
    """The batches of a tree's partials that are there."""
    batches = ledger_of(partials.snapshot()).batches if is_there(partials) else {}
    return [batch for (_, part), batch in batches.items() if part == tree.name]


def _counted(coverages: Sequence[Coverage]) -> dict[str, int]:
    """How many batches are covered in each way."""
    found = Counter(one.cover for one in coverages)
    return {cover.value: found[cover] for cover in Cover}


def newest_report_us(job: ArchiveJob, query: Query) -> int:
    """The newest report that can be given; where none can be, the last one of the newest slot."""
    reader = reader_of(job)
    definition, ledger = reader.snapshot.definition, reader.state.ledger
    axis = definition.axis
    given_us = newest_report(axis, present_us(job, reader), ledger, query.terms, definition.span)
    if given_us is not None:
        return given_us
    end_us = axis.end_us(ledger.applied[-1][1] if ledger.applied else 0)
    return end_us - (end_us - query.terms.offset_us) % query.terms.slide_us


def _past(refresh: Refresh, query: Query) -> dict[str, int]:
    """Why nothing of a query is kept where its newest report has had its time, and of how many slots that is so."""
    reader = reader_of(refresh.job)
    applied, terms, newest_us = reader.state.ledger.applied, query.terms, newest_report_us(refresh.job, query)
    if not applied or newest_us + terms.keep_us > refresh.present_us(reader):
        return {}
    why = f"the newest report, of {iso(newest_us)}, is older than keep = {duration_text(terms.keep_us)}"
    return {why: sum(last - first + 1 for first, last in applied)}


def _reasons(job: ArchiveJob, tree: Tree, coverages: Sequence[Coverage]) -> dict[str, int]:
    """Why slots that answers of a tree look at are not wholly covered; of those without a batch, that there is none."""
    found = Counter(one.why for one in coverages if one.why)
    snapshot = job.snapshot()
    axis, applied = snapshot.definition.axis, ledger_of(snapshot).applied
    if applied:
        begin, newest = applied[0][0], applied[-1][1]
        oldest = axis.slot_of(axis.end_us(newest) - tree.horizon_us - tree.ahead_us)
        came = sum(max(0, last - max(first, oldest) + 1) for first, last in applied)
        found["before the archive's first batch"] = max(0, begin - oldest)
        found["no batch came, or it was undone"] = newest - max(begin, oldest) + 1 - came
    return dict(sorted((why, slots) for why, slots in found.items() if slots))


def _offers(query: Query, plan: SharedPlan, only: str) -> tuple[Offer, ...]:
    """The costs of techniques, or of `only` one; one that would get the query wrong is refused."""
    inputs = {given.key: given for call in query.calls for given in call_inputs(call)}
    operations = [given.operation for given in inputs.values()]
    named = named_technique(replace(query, technique=only)) if only else None
    if named is not None:
        for operation in operations:
            named.refuse_unfit(operation, plan.counts)
    told = offers(operations, plan, lifetimes=query.terms.counts is Counts.LIVE)
    return tuple(one for one in told if named is None or one.technique == named.name)
