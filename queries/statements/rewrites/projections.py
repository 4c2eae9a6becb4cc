"""R2: a projection goes below a selection, a union and a join, as long as it keeps their columns and all duplicates."""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.conditions import columns_of
from tidewheel.queries.statements.plan import Join, Operator, Project, Select, Union


def pushed_projections(plan: Operator) -> Iterator[Operator]:
    """Give the plan with a projection one operator further down, or two projections as one."""
    if not isinstance(plan, Project):
        return
    below, kept = plan.input, plan.kept
    if isinstance(below, Project):
        yield Project(below.input, kept)
    elif isinstance(below, Select) and columns_of(below.conditions) <= set(kept):
        yield Select(Project(below.input, kept), below.conditions)
    elif isinstance(below, Union):
        yield Union(Project(below.left, kept), Project(below.right, tuple(below.renames[one] for one in kept)))
    elif isinstance(below, Join):
        yield from _below_join(below, kept)


def _below_join(join: Join, kept: tuple[str, ...]) -> Iterator[Operator]:
    """Give the join of narrower inputs: each keeps the columns that are kept above and those it is joined by."""
    wanted = {*kept, *(column for pair in join.on for column in pair)}
    sides = [tuple(column for column in side.columns if column in wanted) for side in join.inputs]
    if sum(map(len, sides)) == len(join.columns):
        return
    narrower = [
        side if len(columns) == len(side.columns) else Project(side, columns)
        for side, columns in zip(join.inputs, sides, strict=True)
    ]
    yield Project(join.over(*narrower), kept)
