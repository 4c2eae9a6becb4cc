"""All plans that the rules reach from one, and the simplest of them.

Golab, Waterloo 2006, chapter 3, *update pattern simplification*: operators of fixed lifetimes go down, strict ones go
up, so that negative tuples reach few operators and those that need known ends stay legal. A group-by stays where it
is (R9). Other than in relational optimisers, a negation is not pushed down blindly: both places are in the closure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidewheel.queries.statements.labels import Labelled, Pattern, labelled
from tidewheel.queries.statements.legality import faults
from tidewheel.queries.statements.plan import Distinct, GroupBy, Negation, Operator, Project, Union
from tidewheel.queries.statements.rewrites import distincts, join_orders, negations, projections, relations, selections
from tidewheel.queries.statements.statement import Statement

Rule = Callable[[Operator], Iterator[Operator]]
RULES: tuple[tuple[str, Rule], ...] = (
    ("R1", selections.pushed_selections),
    ("R1", selections.raised_selections),
    ("R2", projections.pushed_projections),
    ("R3", join_orders.commuted_joins),
    ("R3", join_orders.reordered_joins),
    ("R4", distincts.distincts_and_joins),
    ("R5", negations.raised_negations),
    ("R5", negations.pushed_negations),
    ("R6", distincts.distincts_and_negations),
    ("R7", relations.relations_and_streams),
    ("R8", relations.relations_and_joins),
)
_KEEPS_ROWS_BY_NAME = (Project, Distinct, GroupBy)


@dataclass(frozen=True)
class Rewrite:
    """A plan that one application of a rule gives."""

    rule: str
    plan: Operator


def rewrites(plan: Operator) -> Iterator[Rewrite]:
    """Give every legal plan that is one step away."""
    for one in _anywhere(plan, by_place=False):
        if not any(faults(Statement(one.plan))):
            yield one


def _anywhere(plan: Operator, *, by_place: bool) -> Iterator[Rewrite]:
    """Give the rewrites of the root and all below it. `by_place`: a union above goes by the places of columns."""
    for name, rule in RULES:
        for found in rule(plan):
            if not by_place or found.columns == plan.columns:
                yield Rewrite(name, found)
    for place, below in enumerate(plan.inputs):
        goes_by_place = _by_place(plan, place, by_place)
        for one in _anywhere(below, by_place=goes_by_place):
            inputs = [*plan.inputs]
            inputs[place] = one.plan
            yield Rewrite(one.rule, plan.over(*inputs))


def _by_place(plan: Operator, place: int, by_place: bool) -> bool:
    """Return if the order of an input's columns matters above."""
    if isinstance(plan, Union):
        return True
    is_lookup = isinstance(plan, Negation) and place == 1
    return by_place and not isinstance(plan, _KEEPS_ROWS_BY_NAME) and not is_lookup


def closure(plan: Operator, most: int = 500) -> list[Operator]:
    """Return the plan and all that the rules reach, the nearest first, at most so many."""
    found, waiting = {plan: None}, deque([plan])
    while waiting and len(found) < most:
        for one in rewrites(waiting.popleft()):
            if one.plan not in found and len(found) < most:
                found[one.plan] = None
                waiting.append(one.plan)
    return list(found)


def edge_counts(plan: Operator) -> tuple[int, int]:
    """Return how many edges need negatives, and how many have lifetimes that differ."""
    patterns = [one.label.pattern for one in _edges(labelled(plan))]
    return patterns.count(Pattern.STR), patterns.count(Pattern.WK)


def simplified(plan: Operator, most: int = 500) -> Operator:
    """Return the plan with the fewest edges that need negatives, then the fewest of differing lifetimes.

    >>> from tidewheel.queries.statements.plan import Join, window
    >>> a, b, c = (window(name, 10, "k") for name in "ABC")
    >>> below = Join(Negation(a, c, (("A.k", "C.k"),)), b, (("A.k", "B.k"),))
    >>> edge_counts(below), edge_counts(simplified(below))
    ((2, 0), (1, 1))
    """
    return min(closure(plan, most), key=edge_counts)


def _edges(one: Labelled) -> Iterator[Labelled]:
    yield one
    for below in one.inputs:
        yield from _edges(below)
