"""R4 and R6: δ goes below a join, and below the left of NOT EXISTS, and back up.

R4 holds for δ on all columns of both sides, or on the columns of the join. R6 holds for NOT EXISTS on columns that δ
keeps; not for a bag difference (two rows of a value less one: δ afterwards keeps the value, before it does not).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.plan import Distinct, Join, Negation, Operator, Project


def distincts_and_joins(plan: Operator) -> Iterator[Operator]:
    """R4: give δ of a join as a join of δ, and back where both are on all columns."""
    if isinstance(plan, Distinct) and isinstance(plan.input, Join):
        yield from _pushed_down(plan, plan.input)
    if isinstance(plan, Join):
        yield from _pulled_up(plan)


def _pushed_down(plan: Distinct, join: Join) -> Iterator[Operator]:
    values = set(plan.values)
    keys = [tuple(dict.fromkeys(column)) for column in zip(*join.on, strict=True)]
    is_key = values <= {*keys[0], *keys[1]} and all(values & set(pair) for pair in join.on)
    if values == set(join.columns):
        yield _joined(plan, join, join.left.columns, join.right.columns)
    elif is_key:
        yield _joined(plan, join, keys[0], keys[1])


def _pulled_up(plan: Join) -> Iterator[Operator]:
    left, right = plan.inputs
    if not isinstance(left, Distinct) or not isinstance(right, Distinct):
        return
    if left.counters == right.counters and all(set(one.values) == set(one.input.columns) for one in (left, right)):
        yield Distinct(plan.over(left.input, right.input), left.values + right.values, left.counters)


def _joined(plan: Distinct, join: Join, left: tuple[str, ...], right: tuple[str, ...]) -> Operator:
    sides = (Distinct(join.left, left, plan.counters), Distinct(join.right, right, plan.counters))
    found = join.over(*sides)
    return found if found.columns == plan.values else Project(found, plan.values)


def distincts_and_negations(plan: Operator) -> Iterator[Operator]:
    """R6: give δ of NOT EXISTS as NOT EXISTS of δ, and back."""
    if isinstance(plan, Distinct) and isinstance(plan.input, Negation):
        negation = plan.input
        if not negation.bag and {ours for ours, _ in negation.on} <= set(plan.values):
            yield negation.over(plan.over(negation.left), negation.right)
    if isinstance(plan, Negation) and isinstance(plan.left, Distinct) and not plan.bag:
        yield plan.left.over(plan.over(plan.left.input, plan.right))
