"""R7 and R8: the join of a relation changes places with σ, π and ∪; with ⋈ only if the relation never changes.

A relation cannot be joined to an input that needs negatives, so nothing is moved over one. R8: an NRR is read as it was
when a row came; of a join that is when its last part came. So a changing NRR gives other rows below the join: with
a@1, a → X until 3, then a → Y, and b@5, above it Y is read, below it X.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.conditions import columns_of
from tidewheel.queries.statements.labels import Pattern, label
from tidewheel.queries.statements.plan import Join, Operator, Project, RelationJoin, Select, Union


def relations_and_streams(plan: Operator) -> Iterator[Operator]:
    """R7: give the relation's join below σ, π or ∪, or above them."""
    if isinstance(plan, RelationJoin) and label(plan.input).pattern is not Pattern.STR:
        yield from _pushed(plan, plan.input)
    if isinstance(plan, Select | Project) and isinstance(plan.input, RelationJoin):
        yield from _raised(plan, plan.input)


def _pushed(plan: RelationJoin, below: Operator) -> Iterator[Operator]:
    if isinstance(below, Select):
        yield Select(plan.over(below.input), below.conditions)
    elif isinstance(below, Project):
        yield Project(plan.over(below.input), below.kept + plan.relation.columns)
    elif isinstance(below, Union):
        renamed = tuple((below.renames[ours], theirs) for ours, theirs in plan.on)
        yield Union(plan.over(below.left), RelationJoin(below.right, plan.relation, renamed))


def _raised(plan: Select | Project, below: RelationJoin) -> Iterator[Operator]:
    theirs = below.relation.columns
    if isinstance(plan, Select):
        if not columns_of(plan.conditions) & set(theirs):
            yield below.over(Select(below.input, plan.conditions))
        return
    ours = plan.kept[: -len(theirs)]
    keeps_the_key = {column for column, _ in below.on} <= set(ours)
    if plan.kept[-len(theirs) :] == theirs and keeps_the_key and not set(ours) & set(theirs):
        yield below.over(Project(below.input, ours))


def relations_and_joins(plan: Operator) -> Iterator[Operator]:
    """R8: give the join of an unchanging NRR below a join, at the input that has its key."""
    if not isinstance(plan, RelationJoin) or not isinstance(plan.input, Join) or plan.relation.changes:
        return
    join, key = plan.input, {ours for ours, _ in plan.on}
    for place, below in enumerate(join.inputs):
        if key <= set(below.columns) and label(below).pattern is not Pattern.STR:
            inputs = [*join.inputs]
            inputs[place] = plan.over(below)
            yield join.over(*inputs)
