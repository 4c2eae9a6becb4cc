"""R5: a negation goes above a join, and back below: (A ▷ C) ⋈ B = (A ⋈ B) ▷ C.

For NOT EXISTS alone, by the same key: with a bag difference, one row of A, one of C and two of B give none below the
join and one above it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.plan import Join, Negation, Operator


def raised_negations(plan: Operator) -> Iterator[Operator]:
    """Give the join with a negation of an input above it."""
    if not isinstance(plan, Join):
        return
    for place, below in enumerate(plan.inputs):
        if isinstance(below, Negation) and not below.bag and _same_key(below, {pair[place] for pair in plan.on}):
            inputs = [*plan.inputs]
            inputs[place] = below.left
            yield Negation(plan.over(*inputs), below.right, below.on)


def pushed_negations(plan: Operator) -> Iterator[Operator]:
    """Give the negation of a join below it, at each input that has its key."""
    if not isinstance(plan, Negation) or plan.bag or not isinstance(plan.left, Join):
        return
    join = plan.left
    for place, below in enumerate(join.inputs):
        if _same_key(plan, {pair[place] for pair in join.on}):
            inputs = [*join.inputs]
            inputs[place] = Negation(below, plan.right, plan.on)
            yield join.over(*inputs)


def _same_key(negation: Negation, key: set[str]) -> bool:
    return {ours for ours, _ in negation.on} == key
