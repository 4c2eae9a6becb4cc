"""All plans of a query: every join order, Cartesian products too, with every place for every selection.

Ayad and Naughton 2004, section 4: the space that the search is over. Without selections there are (2n - 3)!! bushy
plans and n!/2 left-deep ones. Enumeration judges the search, and serves where a plan must keep two bounds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from math import factorial, prod

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery

STREAMS_MAX = 8  # 135,135 bushy plans

Names = frozenset[str]


def bushy_count(streams: int) -> int:
    """Return how many bushy plans there are: (2n - 3)!!.

    >>> [bushy_count(n) for n in (2, 3, 4, 5)]
    [1, 3, 15, 105]
    """
    return prod(range(2 * streams - 3, 1, -2))


def left_deep_count(streams: int) -> int:
    """Return how many left-deep plans there are, which side comes first left aside: n!/2."""
    return max(1, factorial(streams) // 2)


def splits(streams: Names, *, left_deep: bool = False) -> Iterator[tuple[Names, Names]]:
    """Give each way to split a set in two, the part with the first stream first."""
    first, *others = sorted(streams)
    for size in range(len(others)):
        for more in combinations(others, size):
            left = frozenset((first, *more))
            right = streams - left
            if not left_deep or 1 in (len(left), len(right)):
                yield left, right


def all_plans(query: WindowQuery, *, left_deep: bool = False) -> tuple[Tree, ...]:
    """Return every plan of the query. A left-deep one joins a stream with the result so far."""
    if len(query.streams) > STREAMS_MAX:
        raise InvalidInput(
            f"all plans of {len(query.streams)} streams are too many", f"enumerate at most {STREAMS_MAX}"
        )
    return _plans_of(query, left_deep)(frozenset(query.names), frozenset(query.selection_named))


def _plans_of(query: WindowQuery, left_deep: bool) -> Callable[[Names, Names], tuple[Tree, ...]]:
    home = {name: one.stream for name, one in query.selection_named.items()}

    def on(streams: Names, applied: Names) -> Names:
        return frozenset(name for name in applied if home[name] in streams)

    @cache
    def plans(streams: Names, applied: Names) -> tuple[Tree, ...]:
        found: list[Tree] = [Leaf(min(streams))] if len(streams) == 1 and not applied else []
        found += [Select(name, below) for name in sorted(applied) for below in plans(streams, applied - {name})]
        if len(streams) > 1:
            for left, right in splits(streams, left_deep=left_deep):
                rights = plans(right, on(right, applied))
                found += [Join(one, other) for one in plans(left, on(left, applied)) for other in rights]
        return tuple(found)

    return plans
