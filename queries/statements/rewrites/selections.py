"""R1: a selection goes below a window, a union, a join, δ and the left of a negation, and back up.

Not below a count window, which would then hold other rows. Below δ only on its values; below a bag difference only on
the columns of the negation: of (v, p) and (v, q) less one v, σ p afterwards may keep one row, before it keeps none.
Below NOT EXISTS freely.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.conditions import Comparison, columns_of
from tidewheel.queries.statements.plan import Distinct, Join, Negation, Operator, Select, TimeWindow, Union


def pushed_selections(plan: Operator) -> Iterator[Operator]:
    """Give the plan with a selection one operator further down."""
    if not isinstance(plan, Select):
        return
    below, conditions = plan.input, plan.conditions
    if isinstance(below, Union):
        renamed = tuple(condition.renamed(below.renames) for condition in conditions)
        yield Union(Select(below.left, conditions), Select(below.right, renamed))
    elif isinstance(below, Join):
        yield from _below_join(below, conditions)
    elif _may_pass(below, conditions):
        first, *others = below.inputs
        yield below.over(Select(first, conditions), *others)


def raised_selections(plan: Operator) -> Iterator[Operator]:
    """Give the plan with a selection of an input one operator further up."""
    for place, below in enumerate(plan.inputs):
        if not isinstance(below, Select) or (place and not isinstance(plan, Join)):
            continue
        inputs = [*plan.inputs[:place], below.input, *plan.inputs[place + 1 :]]
        if isinstance(plan, Join) or _may_pass(plan, below.conditions):
            yield Select(plan.over(*inputs), below.conditions)


def _may_pass(one: Operator, conditions: tuple[Comparison, ...]) -> bool:
    """Return if a selection may change places with an operator."""
    named = columns_of(conditions)
    if isinstance(one, Distinct):
        return named <= set(one.values)
    if isinstance(one, Negation):
        return not one.bag or named <= {ours for ours, _ in one.on}
    return isinstance(one, TimeWindow)


def _below_join(join: Join, conditions: tuple[Comparison, ...]) -> Iterator[Operator]:
    """Give the join with each condition on the side that has all of its columns; the others stay."""
    left = tuple(one for one in conditions if set(one.columns) <= set(join.left.columns))
    right = tuple(one for one in conditions if set(one.columns) <= set(join.right.columns))
    if not left and not right:
        return
    sides = (_selected(join.left, left), _selected(join.right, right))
    yield _selected(join.over(*sides), tuple(one for one in conditions if one not in left + right))


def _selected(one: Operator, conditions: tuple[Comparison, ...]) -> Operator:
    return Select(one, conditions) if conditions else one
