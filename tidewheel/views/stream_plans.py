"""The plan of a window join: its tree, what it needs, what it drops, and what else was compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.queries.literature.optimiser.advice import Advice, BudgetLine, PlanLine
from tidewheel.queries.literature.optimiser.plan_costs import Node, operators
from tidewheel.queries.literature.optimiser.plan_tree import Leaf, Select
from tidewheel.queries.literature.optimiser.simulation import Simulated
from tidewheel.views.tables import plain_table

USELESS = 0.01  # the share of results below which dropping is no answer


def stream_plan_view(
    found: Advice, plans: Sequence[PlanLine], budgets: Sequence[BudgetLine], played: Simulated | None
) -> RenderableType:
    parts: list[RenderableType] = [Text("\n".join(_lines(found.root, found))), Text(""), *map(Text, _told(found))]
    if played:
        parts += [Text(""), _played_table(found, played)]
    if plans:
        parts += [Text(""), _plans_table(plans)]
    if budgets:
        parts += [Text(""), _budgets_table(budgets)]
    return Group(*parts)


def _lines(node: Node, found: Advice) -> Iterator[str]:
    yield _title(node, found)
    for place, below in enumerate(node.below):
        last = place == len(node.below) - 1
        first, *others = _lines(below, found)
        yield f"{'└' if last else '├'} {first}"
        yield from (f"{' ' if last else '│'} {line}" for line in others)


def _title(node: Node, found: Advice) -> str:
    tree = node.tree
    if isinstance(tree, Leaf):
        stream = found.query.by_name[tree.stream]
        kept = f", keep {_share(float(found.drops.keep[tree.stream]))}" if found.drops else ""
        if stream.is_table:
            return f"table {tree.stream}: {_number(stream.window)} rows"
        window = f", window {_number(stream.window)} rows" if stream.is_bounded else ""
        return f"stream {tree.stream}: {_number(stream.rate)} in{window}{kept}"
    cost = f"costs {_number(node.cost)} ({_share(float(node.cost) / found.cost if found.cost else 0.0)})"
    out = f"{_number(node.flow.rate)} out, {_number(node.flow.window)} valid, {cost}"
    if isinstance(tree, Select):
        return f"σ {tree.selection}: {out}"
    pairs = [
        " = ".join(sorted(pair))
        for pair in found.query.factors
        if pair & tree.left.streams and pair & tree.right.streams
    ]
    return f"⋈ {', '.join(sorted(pairs)) or '(product)'}: {out}"


def _told(found: Advice) -> Iterator[str]:
    choice = found.choice
    saturated = ", at saturation" if choice.is_saturated and choice.fits else ""
    yield f"plan {found.tree}: {_regime(found)}{saturated}"
    used = found.cost / float(choice.capacity)
    yield f"needs {_number(found.cost)} of {_number(choice.capacity)} per unit of time ({_share(used)})"
    memory = sum(one.memory for one in operators(found.root))
    yield f"memory {_number(memory)} rows; {_number(choice.flow.rate)} results"
    if not found.drops:
        return
    drops = found.drops
    yield f"keeps {_share(drops.kept_share)}: {_number(drops.throughput)} results"
    yield f"no plan keeps more than {_most(found)}"
    if found.window_of == "arrivals":
        yield f"multiply counts and sums of the results by {drops.scale:.4g}"
    else:
        yield "some results are in no exact answer: counts cannot be scaled"
    if drops.kept_share < USELESS:
        yield "less than 1 % is kept: rather do not run it"


def _regime(found: Advice) -> str:
    words = {"abundant": "every plan fits", "tight": "some plans fit", "insufficient": "no plan fits"}
    return f"{found.choice.regime.value} ({words[found.choice.regime.value]})"


def _most(found: Advice) -> str:
    exact = float(found.choice.flow.rate)
    return _share(found.most / exact if exact else 1.0)


def _played_table(found: Advice, played: Simulated) -> RenderableType:
    table = plain_table("per unit of time", "predicted", "simulated", left=(0,))
    for told, predicted, counted in _compared(found, played):
        table.add_row(told, _number(predicted), _number(counted))
    return table


def _compared(found: Advice, played: Simulated) -> Iterator[tuple[str, float, float]]:
    yield "results", found.predicted_rate, played.rate
    for node in operators(found.behind_drops):
        if str(node.tree) in played.entered:
            entering = float(sum(one.flow.rate for one in node.below))
            yield f"into {node.tree}", entering, played.entered[str(node.tree)] / played.seconds


def _plans_table(plans: Sequence[PlanLine]) -> RenderableType:
    table = plain_table("plan", "cost", "rows", "kept at this budget", left=(0,))
    for one in plans:
        table.add_row(str(one.tree), _number(one.cost), _number(one.memory), _kept(one.kept_share))
    return table


def _budgets_table(budgets: Sequence[BudgetLine]) -> RenderableType:
    table = plain_table("budget", "best plan", "kept", "kept by the cheapest plan", left=(1,))
    for one in budgets:
        table.add_row(_number(one.budget), str(one.tree), _kept(one.kept_share), _kept(one.cheapest_kept_share))
    return table


def _kept(share: float | None) -> str:
    return "below the least shares" if share is None else _share(share)


def _share(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _number(value: Any) -> str:
    return f"{float(value):,.4g}" if abs(float(value)) < 10_000 else f"{float(value):,.0f}"


def stream_plan_json(
    found: Advice, plans: Sequence[PlanLine], budgets: Sequence[BudgetLine], played: Simulated | None
) -> dict[str, Any]:
    choice, drops = found.choice, found.drops
    return {
        "plan": str(found.tree),
        "regime": choice.regime.value,
        "saturated": choice.is_saturated,
        "cost": found.cost,
        "budget": float(choice.capacity),
        "memory_rows": float(sum(one.memory for one in operators(found.root))),
        "results": float(choice.flow.rate),
        "valid": float(choice.flow.window),
        "operators": [
            {"operator": str(one.tree), "out": float(one.flow.rate), "cost": float(one.cost)}
            for one in operators(found.root)
        ],
        "drops": drops
        and {
            "window_of": found.window_of,
            "keep": {name: float(share) for name, share in drops.keep.items()},
            "results": float(drops.throughput),
            "kept_share": drops.kept_share,
            "scale": drops.scale if found.window_of == "arrivals" else None,
            "no_plan_above": found.most,
        },
        "simulated": played
        and [{"what": what, "predicted": ours, "counted": theirs} for what, ours, theirs in _compared(found, played)],
        "plans": [
            {"plan": str(one.tree), "cost": one.cost, "memory_rows": one.memory, "kept_share": one.kept_share}
            for one in plans
        ],
        "budgets": [
            {"budget": one.budget, "plan": str(one.tree), "kept_share": one.kept_share,
             "kept_share_of_cheapest": one.cheapest_kept_share}
            for one in budgets
        ],
    }  # fmt: skip
