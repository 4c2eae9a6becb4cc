"""Whole-number programs by HiGHS, which is an extra."""

from __future__ import annotations

from collections.abc import Sequence

from tidewheel.indexing.extras import needed


def cheapest_partition(costs: Sequence[float], members: Sequence[Sequence[int]], rows: int) -> list[int]:
    """The columns that cover each row once and cost least in all."""
    with needed("for this planner; Settle needs none"):
        import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    scale = max(costs, default=1.0) or 1.0
    columns = [solver.addBinary(obj=cost / scale) for cost in costs]
    for row in range(rows):
        solver.addConstr(sum(columns[place] for place, some in enumerate(members) if row in some) == 1)
    solver.minimize()
    return [place for place, value in enumerate(solver.getSolution().col_value) if value > 0.5]
