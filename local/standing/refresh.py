"""A refresh: what is stale is found by comparison, partials are made again, then answers; one commit for each.

Killed anywhere, it leaves what is committed, and the next one finds the rest. Two at once compare the same, and whoever
commits second has nothing left to bring; a refresh with an older view compares again (`overtaken.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

import duckdb
import pyarrow as pa

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, Stopwatch
from tidewheel.commits.fail_points import reach
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.erased_answers import erasing, not_met, remaining
from tidewheel.local.answers.give import Giving, Sources
from tidewheel.local.answers.owed_slots import owed_of
from tidewheel.local.answers.technique_states import KeptStates
from tidewheel.local.answers.unchanged import corrected
from tidewheel.local.derived.batch_reader import SlotReader, present_us, reader_of
from tidewheel.local.derived.budget import Budget, Left
from tidewheel.local.derived.follow_undo import follow_undo
from tidewheel.local.derived.neighbours import derived_job, is_there
from tidewheel.local.derived.overtaken import KnownVersions, Overtaken
from tidewheel.local.derived.put import PartRows, put
from tidewheel.local.derived.remove import parts_beside, remove_parts
from tidewheel.local.partials.make import BatchFolder
from tidewheel.local.partials.memory.partial_rows import PartialRows
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.standing.compare_stale import NOTHING, answer_state, kept_as_they_are, less_than_before, stale_now
from tidewheel.local.standing.derive import Derived, derive, slots_observed, tell_owed
from tidewheel.local.standing.nodes import ALONE, Node, check_node, without_others
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.local.standing.statistics import known_of
from tidewheel.queries.planning.standing_trees import planned_by
from tidewheel.queries.standing.bounds import guard_reports, reports_missing
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import reflections
from tidewheel.queries.standing.staleness import DueAnswers, StalePartials, due_answers, slots_past
from tidewheel.queries.standing.tree import Assignment, StoredTrees, assigned
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.newest import Newest

# Planners that toss coins toss the same ones again.
SEED = 1


@dataclass
class Refresh:
    """One refresh of an archive's standing queries."""

    job: ArchiveJob
    queries: Sequence[Query]
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(":memory:"))
    planner: str = ""  # who decides which queries share a tree
    node: Node = ALONE  # one of several that refresh side by side
    budget_s: float | None = None  # nothing is begun after so many seconds; each refresh does something
    files: str = ""  # the digest of the query files, if nothing is wrong with any
    again: range = NOTHING  # slots whose partials are made again, stale or not, and the answers that look into them

    def __post_init__(self) -> None:
        self.connection.execute("SET TimeZone = 'UTC'")
        check_node(self.node)
        self.job = replace(self.job, newest=Newest())
        self.partials, self.answers = derived_job(self.job, "partials"), derived_job(self.job, "answers")
        self.watch, self.rows = Stopwatch(), PartialRows(self.partials)
        self.budget, self.left = Budget(), Left()
        self.waiting: list[StalePartials] = []
        self.derived: Derived | None = None
        self.failed: list[InvalidInput] = []
        self.dropped: tuple[str, ...] = ()
        self.made: tuple[StalePartials, ...] = ()
        self.only_for: dict[str, frozenset[str]] = {}  # trees that serve no others any more

    def run(self) -> Refreshed:
        """Compare, make partials, give answers."""
        if not self.queries and not is_there(self.partials):
            return Refreshed((), ())
        self.watch, self.budget = Stopwatch(), Budget(self.budget_s)
        self.dropped, self.made = (), ()
        while True:
            try:
                return self._run()
            except Overtaken:  # each time by one who has done more
                continue

    def _run(self) -> Refreshed:
        self.failed = []
        if self.derived is None or not self.derived.is_told(self.job, self.queries):
            self.derived = derive(self.job, self.queries, self.plan, self.only_for, self.files)
        assignment = self.derived.assignment
        remove_parts(self.partials, frozenset(tree.name for tree in assignment.trees))
        self.dropped += remove_parts(self.answers, self._parts)
        for job in (self.partials, self.answers):
            follow_undo(job, self.job, self.queries)
        self.known = KnownVersions(self.job, (self.partials, self.answers))
        reader = reader_of(self.job)
        assignment = without_others(assignment, self.node, self.job, self.queries)
        stale, made, folder = self._make_partials(reader, assignment)
        self.made += tuple(stale)
        if parting := folder.parting(assignment, self.only_for):
            self.only_for |= parting
            self.derived = None
            return self._run()
        self.failed += folder.failed.values()
        assignment = assignment.without(folder.failed)
        reach("partials_committed")
        due, given = self._give_answers(reader, assignment, folder)
        reach("answers_committed")
        return Refreshed(
            self.made, tuple(due), made, given, tuple(self.failed), None, self.watch.spent_ms, self.left,
            dropped=self.dropped,
        )  # fmt: skip

    @property
    def _parts(self) -> frozenset[str]:
        return frozenset(query.part for query in self.queries)

    def plan(self, queries: Sequence[Query]) -> list[list[Query]]:
        """Group the queries that no tree serves yet: each group is to share one."""
        return planned_by(self.planner, lambda some: known_of(self.job, some), Random(SEED).randrange)(queries)

    def assignment(self) -> Assignment:
        """The tree that serves each query, or will after a refresh."""
        life_us = self.job.snapshot().definition.max_lifetime_us
        return assigned(self.queries, life_us, self.kept, self.plan)

    @property
    def kept(self) -> StoredTrees:
        """The trees that are there."""
        return kept_trees(self.partials)

    def present_us(self, reader: SlotReader) -> int:
        """The archive's present."""
        return present_us(self.job, reader)

    def compare(self) -> Refreshed:
        """Tell what a refresh would do; of answers, as far as the stored partials tell it."""
        reader, assignment = reader_of(self.job), self.assignment()
        source = reader.snapshot.definition
        reader = reader.observed(slots_observed(source, assignment))
        assignment = without_others(assignment, self.node, self.job, self.queries)
        partials, answers = (ledger_of(job.snapshot()) if is_there(job) else Ledger()
                             for job in (self.partials, self.answers))  # fmt: skip
        stale = stale_now(self.job, reader, partials, assignment.trees, self.again)
        reflected = reflections(source.axis, partials, assignment)
        state = answer_state(self.job, reader, answers, self.queries, self.again)
        mine = [query for query in self.queries if query.name in assignment.tree_of]
        due = [one for query in mine for one in due_answers(state, query, reflected[assignment.tree_of[query.name]])]
        missing = sum(reports_missing(source.axis, state.source, answers, query) for query in mine)
        return Refreshed(tuple(stale), tuple(due), missing=missing, dropped=parts_beside(answers, self._parts))

    # Partials.

    def _make_partials(
        self, reader: SlotReader, assignment: Assignment
    ) -> tuple[list[StalePartials], Outcome | None, BatchFolder]:
        ledger = ledger_of(self.known.checked(self.partials))
        source = reader.state.ledger
        axis, now_us = reader.snapshot.definition.axis, present_us(self.job, reader)
        stale = stale_now(self.job, reader, ledger, assignment.trees, self.again)
        self.watch.lap("compare")
        folder = BatchFolder(self.partials, reader, self.queries, assignment.tree_of, self.connection, now_us)
        if not stale and ledger.watermark == source.watermark:
            return [], None, folder
        batches = folder.fold(stale, assignment.trees, self.budget)
        if self.again and (lost := less_than_before(batches, ledger)):
            self.failed.append(kept_as_they_are(lost, axis))
            batches = batches.without(lost)
            stale = [one for one in stale if one.key not in lost]
        self.waiting = [one for one in stale if one.key not in batches.lineages and one.tree not in folder.failed]
        stale = [one for one in stale if one.key in batches.lineages]
        self.watch.lap("partials")
        made = put(self.partials, batches, source.watermark, again=bool(self.again), check=self.known.check)
        self.known.went_on(self.partials, made)
        self.watch.lap("commit_partials")
        return stale, made, folder

    # Answers.

    def _give_answers(
        self, reader: SlotReader, assignment: Assignment, folder: BatchFolder
    ) -> tuple[list[DueAnswers], Outcome | None]:
        giving = self._giving(reader, assignment, folder)
        self.watch.lap("compare")
        if self.budget.seconds is not None:
            # Before any younger answer makes the query look like one that has all.
            self.known.went_on(self.answers, self._tell_owed(giving))
        giving.run()
        self.watch.lap("fold")
        self.failed += giving.failed
        giving.sources.states.keep({query.part for query in self.queries if query.technique})
        self.left = giving.left
        given, outcome = self._commit_answers(reader, giving)
        self._tell_owed(giving)
        return given, outcome

    def _giving(self, reader: SlotReader, assignment: Assignment, folder: BatchFolder) -> Giving:
        partials, answers = self.known.checked(self.partials), self.known.checked(self.answers)
        state = answer_state(self.job, reader, ledger_of(answers), self.queries, self.again)
        reflected = reflections(state.axis, ledger_of(partials), assignment)
        states = KeptStates(self.answers.location, reflected, partials.watermark)
        sources = Sources(folder, partial(self.rows.of, partials), states, reflected)
        asked = [query for query in self.queries if query.name in assignment.tree_of]
        owed = owed_of(answers.definition.derived, {query.part for query in asked})
        return Giving(asked, assignment, state, sources, self.waiting, self.budget, owed)

    def _commit_answers(self, reader: SlotReader, giving: Giving) -> tuple[list[DueAnswers], Outcome | None]:
        """One commit: what was folded comes, and keys that were forgotten since leave. Cost of that: all answers, once
        for each forget."""
        given, watermark = giving.given, giving.state.kept_through
        new = not_met(reader.snapshot, giving.state.answers)
        if not given and not new and giving.state.answers.watermark == watermark:
            return [], None
        rows = pa.concat_tables(giving.tables, promote_options="permissive") if giving.tables else None
        lineages = {one.key: (one.digest,) for one in given}
        rows, given = corrected(
            self.answers, rows, given, self._young(giving), remaining(self.answers, self.queries, reader.snapshot, new)
        )
        self.rows.let_go()
        parts = {part for _, part in lineages}
        past = slots_past(giving.state, [query for query in giving.queries if query.part in parts])
        batches, check = PartRows(rows, lineages), self.known.check
        erased = erasing(self.answers, self.queries, reader.snapshot)
        outcome = put(self.answers, batches, watermark, again=bool(self.again), past=past, check=check, erasing=erased)
        self.watch.lap("commit_answers")
        return given, outcome

    def _young(self, giving: Giving) -> dict[str, int]:
        """The moment from which answers of each part are corrected; redone ones are, however old."""
        now_us = giving.state.now_us
        return {one.part: 0 if self.again else now_us - one.terms.revise_us for one in giving.queries}

    def _tell_owed(self, giving: Giving) -> Outcome | None:
        """Write down for the next refresh which older answers are still owed."""
        return tell_owed(self.answers, {query.part for query in giving.queries}, giving.owed)


def guard_refresh(job: ArchiveJob, queries: list[Query], *, allow_many: bool) -> None:
    """Refuse a refresh that would give very many answers."""
    snapshot, answers = job.snapshot(), derived_job(job, "answers")
    given = ledger_of(answers.snapshot()) if is_there(answers) else Ledger()
    definition = snapshot.definition
    confirm = job.source_command("refresh", definition.name, "--allow-many")
    ledger = ledger_of(snapshot)
    guard_reports(definition.name, definition.axis, ledger, given, queries, confirm=confirm, allow_many=allow_many)
