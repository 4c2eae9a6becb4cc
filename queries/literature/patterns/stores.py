"""The structure for the records of an edge: by the approach, and by the edge's update pattern (section 3.5.2).

| edge | DIRECT | UPA |
|---|---|---|
| MON | a list that is never purged | the same |
| WKS | FIFO queue | FIFO queue |
| WK | arrival-ordered list, read whole | calendar queue |
| STR, early | refused | calendar queue, with a deletion directory |
| every end told | hash table | hash table |

Departs from the thesis: days are heaps where not said otherwise, and early ends have a directory.
"""

from __future__ import annotations

from typing import NamedTuple

from tidewheel.queries.literature.patterns.approach import Approach, Way
from tidewheel.queries.literature.patterns.operators.operator import Edge
from tidewheel.queries.literature.state.arrival_list import ArrivalList
from tidewheel.queries.literature.state.calendar_queue import CalendarQueue
from tidewheel.queries.literature.state.deletion_directory import DeletionDirectory
from tidewheel.queries.literature.state.fifo import Fifo
from tidewheel.queries.literature.state.hashed import Hashed
from tidewheel.queries.literature.state.records import Steps
from tidewheel.queries.literature.state.store import Store
from tidewheel.queries.statements.labels import Pattern, label
from tidewheel.queries.statements.plan import Distinct, GroupBy, Join, Negation, Operator, TimeWindow


def store_for(approach: Approach, steps: Steps, edge: Edge, pattern: Pattern, year: int) -> Store:
    """Return an empty structure for the records of an edge; `year` is the longest lifetime among them."""
    if edge is Edge.NEGATIVE or pattern is Pattern.MON:
        return Hashed(steps, None)
    if pattern is Pattern.WKS:
        return Fifo(steps)
    return direct_store(approach, steps, edge, year)


def direct_store(approach: Approach, steps: Steps, edge: Edge, year: int) -> Store:
    """Return the structure for lifetimes that differ."""
    if approach.way is Way.DIRECT:
        return ArrivalList(steps)
    queue = CalendarQueue(steps, approach.days, year, approach.order, scans_all=not approach.directory)
    if edge is Edge.EARLY and approach.directory:
        return DeletionDirectory(queue, tombstones=approach.order == "heap")
    return queue


class Lives(NamedTuple):
    """The longest finite lifetime of a plan's records (0: none is finite), and if some never end by themselves."""

    longest: int
    some_endless: bool

    def met(self, other: Lives) -> Lives:
        """Return the lives of the results of a join."""
        both = min(self.longest, other.longest)
        ours, theirs = self.longest * other.some_endless, other.longest * self.some_endless
        return Lives(max(both, ours, theirs), self.some_endless and other.some_endless)

    def beside(self, other: Lives) -> Lives:
        return Lives(max(self.longest, other.longest), self.some_endless or other.some_endless)


def lives_of(plan: Operator) -> Lives:
    """
    >>> from tidewheel.queries.statements.plan import window
    >>> lives_of(Join(window("A", 6, "k"), window("B", 9, "k"), (("A.k", "B.k"),)))
    Lives(longest=6, some_endless=False)
    """
    if isinstance(plan, TimeWindow):
        return Lives(plan.length, False)
    if not plan.inputs or isinstance(plan, GroupBy) or _is_counted(plan):
        return Lives(0, True)
    first, *rest = map(lives_of, plan.inputs)
    if isinstance(plan, Negation) or not rest:
        return first
    return first.met(rest[0]) if isinstance(plan, Join) else first.beside(rest[0])


def _is_counted(plan: Operator) -> bool:
    """Return if duplicates are counted, so that a result has no exp of its own."""
    return isinstance(plan, Distinct) and (plan.counters or label(plan.input).pattern is Pattern.STR)


def longest_life(plan: Operator) -> int:
    """Return the year of a calendar queue for the plan's records."""
    return max(1, lives_of(plan).longest)
