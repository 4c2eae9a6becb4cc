"""The answers of a refresh: those that are due by turns, those furthest behind first; then what is owed of older ones.

With a budget nothing is begun once it is used up, but something is done. Of so many slots' refreshes one begins with
what is owed, so that it has its turn where there is never time enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.answer_store import stored_answers
from tidewheel.local.answers.backlog import Given, OlderAnswers, Owed
from tidewheel.local.answers.technique_states import KeptStates
from tidewheel.local.answers.ways import fold
from tidewheel.local.derived.budget import Budget, Left
from tidewheel.local.partials.make import BatchFolder
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.queries.scheduling.turns import can_be_given, turns
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import Reflection
from tidewheel.queries.standing.staleness import AnswerState, DueAnswers, StalePartials, due_of_each
from tidewheel.queries.standing.tree import Assignment, Tree
from tidewheel.storage.uncollected import uncollected

OWED_FIRST_EVERY_SLOTS = 8
DueByName = dict[str, list[DueAnswers]]


@dataclass(frozen=True)
class Sources:
    """The partials, states and digests that answers are folded from."""

    folder: BatchFolder
    rows_of: Callable[[Tree], TreeRows]
    states: KeptStates
    reflected: Mapping[str, Reflection]


@dataclass
class Giving:
    """Gives answers of some queries; `waiting` are partials that there was no time for."""

    queries: Sequence[Query]
    assignment: Assignment
    state: AnswerState
    sources: Sources
    waiting: Sequence[StalePartials]
    budget: Budget
    owed: Owed
    given: list[DueAnswers] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)
    failed: list[InvalidInput] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.older = OlderAnswers(self.sources.folder, self.state, self.owed)
        with uncollected():
            self.due = self._due()
        for query in self.queries:
            if self.due[query.name]:
                self.older.begin(self.assignment.tree(query.name), query)
        self.held = {query.name: self._held_back(query) for query in self.queries if query.part in self.owed}

    def run(self) -> None:
        """Give what there is time for."""
        ways = [self._give_due, self._give_owed]
        if (self.state.slot_last or 0) % OWED_FIRST_EVERY_SLOTS == 0:
            ways.reverse()
        for way in ways:
            way()

    @property
    def left(self) -> Left:
        """The work that there was no time for."""
        rest = [one for some in self.due.values() for one in some]
        slots = [*(one.slot for one in rest), *(one.slot for one in self.waiting)]
        late = max(0, (self.state.slot_last or 0) - min(slots)) if slots else 0
        older = sum(self.older.count(query) for query in self.queries if query.part in self.owed)
        return Left(len(self.waiting), sum(max(1, len(one.reports)) for one in rest), late, older)

    def _give_due(self) -> None:
        for queries in self._turns():
            if self._is_over():
                return
            tree = self.assignment.tree(queries[0].name)
            self._give(tree, queries, {query.part: self.due.pop(query.name) for query in queries})

    def _give_owed(self) -> None:
        """Give what is owed; and to those that are owed no more, what was held back for it."""
        asked = self._owed_by_tree()
        if not asked or self._is_over():
            return
        found = self.older.give(asked, self.budget)
        for tree, queries in asked:
            older = found.get(tree.name)
            if older is not None:
                self.given += [one for some in older.due.values() for one in some]
                self.tables.append(older.rows)
            settled = [query for query in queries if query.part not in self.owed]
            self._give(tree, settled, {query.part: self._taken_back(query, older) for query in settled})

    def _owed_by_tree(self) -> list[tuple[Tree, list[Query]]]:
        """The queries that are owed older answers, by their trees."""
        by_tree: dict[str, list[Query]] = {}
        for query in self.queries:
            if query.part in self.owed:
                by_tree.setdefault(self.assignment.tree_of[query.name], []).append(query)
        return [(tree, by_tree[tree.name]) for tree in self.assignment.trees if tree.name in by_tree]

    def _taken_back(self, query: Query, older: Given | None) -> list[DueAnswers]:
        """The answers of a query that were held back, but for the slots that were given as older ones."""
        given = {one.slot for one in older.due.get(query.part, ())} if older else set()
        return [one for one in self.held.pop(query.name) if one.slot not in given]

    def _give(self, tree: Tree, queries: Sequence[Query], due: DueByName) -> None:
        self.tables += self._answers_of_each(tree, queries, due)
        self.given += [one for some in due.values() for one in some]

    def _is_over(self) -> bool:
        return bool(self.given) and self.budget.is_spent()

    def _due(self) -> DueByName:
        """The answers that are due, by query. Answers that need waiting partials are left for another refresh."""
        waiting: dict[str, list[int]] = {}
        for one in self.waiting:
            waiting.setdefault(one.tree, []).append(one.slot)
        found: DueByName = {}
        for tree in self.assignment.trees:
            queries = [query for query in self.queries if self.assignment.tree_of[query.name] == tree.name]
            due, stale = due_of_each(self.state, queries, self.sources.reflected[tree.name]), waiting.get(tree.name)
            for query in queries if stale else ():
                due[query.name] = can_be_given(due[query.name], self.state, query, sorted(stale or ()))
            found |= due
        return {query.name: found[query.name] for query in self.queries}

    def _held_back(self, query: Query) -> list[DueAnswers]:
        """Hold back due answers of a query until it is known whether their whole windows can be read."""
        due = self.due[query.name]
        self.due[query.name] = [one for one in due if not self.older.is_owed(query, one.slot)]
        return [one for one in due if self.older.is_owed(query, one.slot)]

    def _turns(self) -> Iterator[list[Query]]:
        """Queries that are answered together, those furthest behind first."""
        by_name = {query.name: query for query in self.queries}
        oldest = {name: min(one.slot for one in some) for name, some in self.due.items() if some}
        for names in turns(oldest, self.assignment.tree_of, self.state.slot_last or 0):
            yield [by_name[name] for name in names]

    def _answers_of_each(self, tree: Tree, queries: Sequence[Query], due: DueByName) -> list[pa.Table]:
        """The answers of a tree's queries; of one that cannot be answered, none, and nothing of it is due."""
        if not any(one.reports for query in queries for one in due[query.part]):
            return []
        try:
            return [self._answers_of(tree, queries, due)]
        except InvalidInput as error:
            if len(queries) > 1:
                return [one for query in queries for one in self._answers_of_each(tree, [query], due)]
            self.failed.append(_of_query(queries[0], error))
            due.pop(queries[0].part)
            return []

    def _answers_of(self, tree: Tree, queries: Sequence[Query], due: DueByName) -> pa.Table:
        """The answers of a tree's queries, from one reading of its partials."""
        reports = {query.name: [report for one in due[query.part] for report in one.reports] for query in queries}
        folder = self.sources.folder
        folded = fold(
            tree, self.state.axis, folder.connection, self.sources.rows_of(tree), queries, reports, self.sources.states
        )
        return stored_answers(folded, due, folder.reader.snapshot.version, self.state.slot_last or 0)


def _of_query(query: Query, error: InvalidInput) -> InvalidInput:
    """The error that kept a query from its answers, with the query's name."""
    told = f"query {query.name} cannot be answered: "
    return error if error.message.startswith(told) else InvalidInput(told + error.message, error.remedy)
