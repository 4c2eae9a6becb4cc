"""Plans of standing queries: trees with their queries, and planners side by side."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from tidewheel.indexing.printable import counted
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.plans import PoolPlan

NAMES_SHOWN = 12


def plans_view(plans: Sequence[PoolPlan]) -> RenderableType:
    if not plans:
        return "no query asks this archive; write one: tidewheel query new ARCHIVE NAME"
    shown: list[RenderableType] = []
    for one in plans:
        shown += [_heading(one), _trees(one), "", _planners(one)]
        if one.placement:
            shown += ["", *_nodes(one)]
        shown.append("")
    return Group(*shown[:-1])


def _heading(one: PoolPlan) -> str:
    queries = counted(len(one.pool.requests), "query", "queries")
    words = f"{queries} ({one.pool.about}) in {counted(len(one.plan.trees), 'tree')} by {one.plan.planner}"
    proved = "" if one.gap is None else f"; above the best plan by at most {float(one.gap):.1%}"
    return f"{words}: {_cost(one, one.plan.cost)}{proved}"


def _cost(one: PoolPlan, cost: Fraction | float) -> str:
    figure = one.told(cost)
    if figure is None:
        return "cannot be carried out"
    return f"{figure:,.1f} s of work a day" if one.model == "measured" else f"{figure:,.0f} operations a day"


def _trees(one: PoolPlan) -> RenderableType:
    table = plain_table("tree", "queries", "edges a day", left=(1,))
    for number, (tree, edges) in enumerate(zip(one.plan.trees, one.edges_per_day, strict=True), start=1):
        more = f", and {len(tree) - NAMES_SHOWN} more" if len(tree) > NAMES_SHOWN else ""
        table.add_row(str(number), ", ".join(tree[:NAMES_SHOWN]) + more, f"{float(edges):,.0f}")
    return table


def _planners(one: PoolPlan) -> RenderableType:
    table = plain_table("planner", "trees", "cost", "by this plan", left=(0,))
    for other in one.others:
        ratio = float(other.cost) / float(one.plan.cost) if one.plan.cost else 1.0
        shown = f"{ratio:.3f}" if isfinite(ratio) else ""
        table.add_row(other.planner, str(len(other.trees)), _cost(one, other.cost), shown)
    for name in one.left_out:
        table.add_row(name, "", "too many queries or edges", "")
    return table


def _nodes(one: PoolPlan) -> list[RenderableType]:
    assert one.placement
    table = plain_table("node", "trees", "cost", left=(1,), title=f"placed by {one.placement.optimizer}")
    for number, (trees, cost) in enumerate(zip(one.placement.nodes, one.placement.costs, strict=True), start=1):
        table.add_row(str(number), "; ".join(", ".join(tree) for tree in trees), _cost(one, cost))
    besides = [f"beginning a refresh costs each node {_cost(one, one.once)} besides"] if one.once else []
    return [table, *besides, *_optimizers(one)]


def _optimizers(one: PoolPlan) -> list[RenderableType]:
    if not one.placements:
        return []
    table = plain_table("optimizer", "all nodes", "the busiest", left=(0,))
    for placed in one.placements:
        table.add_row(placed.optimizer, _cost(one, placed.total), _cost(one, placed.most))
    return ["", table]
