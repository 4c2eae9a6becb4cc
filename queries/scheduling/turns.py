"""The order in which answers are folded when time is short: late-pending sharing, Algorithm 11.

A tree's queries share the reading of its partials, so all of them that have answers due go along with the one whose
turn it is: the one that is furthest behind. Answers are for fixed times, so nothing runs before it is due. What there
was no time for is further behind the next time, and nothing starves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidewheel.queries.scheduling.run_costs import Periodic
from tidewheel.queries.scheduling.tasks import Company, Deadlines, Rules, Task
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import AnswerState, DueAnswers, slots_of_report

NEVER = 1 << 62


def turns(first_due: Mapping[str, int], tree_of: Mapping[str, str], slot_last: int) -> Iterator[list[str]]:
    """Queries that are answered together, those furthest behind first. `first_due`: the oldest slot that is due.

    >>> list(turns({"a": 9, "b": 7, "c": 9, "d": 8}, {"a": "x", "b": "y", "c": "y", "d": "x"}, slot_last=9))
    [['b', 'c'], ['a', 'd']]
    """
    members: dict[str, list[str]] = {}
    for name in first_due:
        members.setdefault(tree_of[name], []).append(name)
    tasks: dict[str, Task] = {}  # one for each tree, as all of its queries that are due go along
    for name in sorted(first_due, key=lambda name: min(first_due[name], slot_last)):
        first, tree = 1 + min(0, first_due[name] - slot_last), tree_of[name]
        if tree not in tasks:
            tasks[tree] = Task(tree, tree, (Periodic(tree, 1, NEVER),), NEVER, first)
    timetable = Deadlines(list(tasks.values()), Rules(Company.LATE_PENDING))
    timetable.advance()
    while ran := timetable.choose():
        yield from (members[task.name] for task, _ in ran)


def can_be_given(due: Iterable[DueAnswers], state: AnswerState, query: Query, stale: Sequence[int]) -> list[DueAnswers]:
    """Return the answers whose windows need none of the slots (ascending) with stale partials."""
    return [one for one in due if not any(_needs(state, query, report.at_us, stale) for report in one.reports)]


def _needs(state: AnswerState, query: Query, at_us: int, stale: Sequence[int]) -> bool:
    first, last = slots_of_report(state, query, at_us)
    at = bisect_left(stale, first)
    return at < len(stale) and stale[at] <= last
