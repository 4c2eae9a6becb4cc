"""Plans of an archive's standing queries: what is asked, what is known of the records, and every planner on it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.placement.optimizers import OPTIMIZERS, optimizer_named
from tidewheel.queries.literature.placement.placed_nodes import Optimizer, Placement, Setting
from tidewheel.queries.planning.catalogue import PLANNERS, planner_named
from tidewheel.queries.planning.certificate import certificate
from tidewheel.queries.planning.cost_model import INFINITE
from tidewheel.queries.planning.known import PANES, Known
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.plan import Planner, Sharing
from tidewheel.queries.planning.planners.set_partition import NAME, set_partition
from tidewheel.queries.planning.standing_requests import Pool, pools
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.standing.query import Query

OBJECTIVES = {"total": "WG_TN", "balance": "WG_I"}
DEFAULT_PLANNER = "Settle"
DAY_US = 86_400_000_000
SEED = 1


@dataclass(frozen=True)
class PoolPlan:
    """A pool's plan, beside it others, and where trees run."""

    pool: Pool
    plan: Sharing
    model: str
    edges_per_day: tuple[Fraction, ...]  # by tree
    others: tuple[Sharing, ...]
    left_out: tuple[str, ...]  # planners that would take too long, or cannot count so many edges
    gap: Fraction | None  # above the best plan by at most this share; None where nothing is proved
    placement: Placement | None
    placements: tuple[Placement, ...]  # of all optimizers, where they are compared
    once: Fraction | float  # what beginning a refresh costs each node besides

    def told(self, cost: Fraction | float) -> float | None:
        """The same for machines; None for what cannot be carried out."""
        return self.per_day(cost) if cost < INFINITE else None

    def per_day(self, cost: Fraction | float) -> float:
        """Seconds of work a day by the measured cost, operations a day by the published one."""
        return float(cost) * DAY_US / (1e9 if self.model == "measured" else 1)

    def to_json(self) -> dict[str, Any]:
        placed = self.placement
        return {
            "pool": self.pool.about,
            "model": self.model,
            "unit": "seconds a day" if self.model == "measured" else "operations a day",
            "planner": self.plan.planner,
            "cost": self.told(self.plan.cost),
            "gap_max": None if self.gap is None else float(self.gap),
            "trees": [
                {"queries": list(tree), "edges_per_day": float(edges)}
                for tree, edges in zip(self.plan.trees, self.edges_per_day, strict=True)
            ],
            "planners": {one.planner: {"cost": self.told(one.cost), "trees": len(one.trees)} for one in self.others},
            "planners_left_out": list(self.left_out),
            "nodes": [[list(tree) for tree in node] for node in placed.nodes] if placed else None,
            "node_costs": [self.told(cost) for cost in placed.costs] if placed else None,
            "node_cost_fixed": self.per_day(self.once),
            "optimizers": {
                one.optimizer: {"total": self.told(one.total), "busiest": self.told(one.most)}
                for one in self.placements
            },
        }


@dataclass(frozen=True)
class Asked:
    """The choices of a user who asks for plans."""

    planner: str = DEFAULT_PLANNER
    model: str = "measured"
    compare: bool = False
    nodes: int = 1
    objective: str = "total"
    technique: str = PANES  # whose operations are counted, where the cost is operations


def planned(queries: Sequence[Query], known: Known, asked: Asked) -> list[PoolPlan]:
    return [_planned(pool, known, asked) for pool in pools(queries)]


def _planned(pool: Pool, known: Known, asked: Asked) -> PoolPlan:
    workload = Workload(pool.requests, known.rate)
    loom = Loom(workload, known.model(asked.model, asked.technique))
    plan = _planner(asked.planner).plan(loom, _draw())
    wanted = PLANNERS if asked.compare else [planner_named("No Share"), planner_named("Shared")]
    others = list(filter(None, (_other(one, loom) for one in wanted)))
    positions = {request.name: position for position, request in enumerate(pool.requests)}
    trees = [loom.tree(positions[name] for name in tree) for tree in plan.trees]
    placement, placements = _placements(loom, asked)
    return PoolPlan(
        pool=pool,
        plan=plan,
        model=asked.model,
        edges_per_day=tuple(loom.rate(tree) * DAY_US for tree in trees),
        others=tuple(others),
        left_out=tuple(one.name for one in wanted if one.name not in {other.planner for other in others}),
        gap=certificate(workload).gap(Fraction(plan.cost)) if _is_proved(asked) else None,
        placement=placement,
        placements=placements,
        once=loom.model.shown(loom.model.once),
    )


def _other(planner: Planner, loom: Loom) -> Sharing | None:
    """A plan to compare with; None if that would take too long, or more edges than can be counted."""
    if planner.requests_max is not None and len(loom.singles) > planner.requests_max:
        return None
    try:
        return planner.plan(loom, _draw())
    except InvalidInput:
        return None


def _planner(name: str) -> Planner:
    if name.lower() != NAME.lower():
        return planner_named(name)
    from tidewheel.solver import cheapest_partition

    return set_partition(cheapest_partition, PLANNERS)


def _is_proved(asked: Asked) -> bool:
    return (asked.model, asked.technique.lower()) == ("published", PANES.lower())


def _placements(loom: Loom, asked: Asked) -> tuple[Placement | None, tuple[Placement, ...]]:
    """Return the chosen placement on several nodes, and those of all optimizers if they are compared."""
    if asked.nodes == 1:
        return None, ()
    chosen = _placed(loom, asked, optimizer_named(OBJECTIVES[asked.objective]))
    return chosen, tuple(_placed(loom, asked, one) for one in OPTIMIZERS if asked.compare)


def _placed(loom: Loom, asked: Asked, optimizer: Optimizer) -> Placement:
    return optimizer.place(loom, Setting(asked.nodes, _draw()))


def _draw() -> Any:
    return random.Random(SEED).randrange
