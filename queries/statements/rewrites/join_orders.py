"""R3: joins change places: the same rows with the same ends, as the least of several ends is the least of them all.

The columns of a row come in another order, so joins below a union, which goes by places, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.plan import Join, Operator, Pairs


def commuted_joins(plan: Operator) -> Iterator[Operator]:
    """Give the join with its inputs swapped."""
    if isinstance(plan, Join):
        yield Join(plan.right, plan.left, tuple((theirs, ours) for ours, theirs in plan.on))


def reordered_joins(plan: Operator) -> Iterator[Operator]:
    """Give (A ⋈ B) ⋈ C as A ⋈ (B ⋈ C), and back, where the middle one has the columns or equal ones."""
    if not isinstance(plan, Join):
        return
    if isinstance(plan.left, Join):
        inner = plan.left
        on = _by(plan.on, dict(inner.on), inner.right.columns)
        if on:
            yield Join(inner.left, Join(inner.right, plan.right, on), inner.on)
    if isinstance(plan.right, Join):
        inner = plan.right
        swapped = tuple((theirs, ours) for ours, theirs in plan.on)
        on = _by(swapped, {theirs: ours for ours, theirs in inner.on}, inner.left.columns)
        if on:
            yield Join(Join(plan.left, inner.left, tuple((theirs, ours) for ours, theirs in on)), inner.right, inner.on)


def _by(on: Pairs, equal: dict[str, str], columns: tuple[str, ...]) -> Pairs:
    """Return the pairs by an input's columns, each its own or one known to be equal; nothing if one has neither."""
    found = tuple((ours if ours in columns else equal.get(ours, ""), theirs) for ours, theirs in on)
    return found if all(ours in columns for ours, _ in found) else ()
