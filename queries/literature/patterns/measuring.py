"""Runs a plan over generated links and counts: steps per 1,000 tuples with full windows, state, early ends.

Windows are full after 2 T; steps are counted for so long again. p is the share of results
that end early, of those that came with their tuple: 1 - exp(-T λ2 / V) for an anti-join. A revived result has less
life left, so of all lives fewer end early.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.queries.literature.patterns.approach import Approach
from tidewheel.queries.literature.patterns.engine import Engine
from tidewheel.queries.literature.patterns.generated_streams import Links
from tidewheel.queries.statements.plan import Operator, Stream, operators


@dataclass(frozen=True)
class Measured:
    steps: float  # per 1,000 tuples
    results: int
    state: int
    early: float | None  # p, where the engine logs lives


def measure(plan: Operator, approach: Approach, links: Links, *, logs: bool = False) -> Measured:
    """
    >>> from tidewheel.queries.literature.patterns.approach import approach_named
    >>> from tidewheel.queries.literature.patterns.generated_streams import query_plan
    >>> measure(query_plan("Q2", 50), approach_named("UPA(10)"), Links(50, 5)).results
    5
    """
    engine = Engine(plan, approach, logs=logs)
    names = tuple(sorted({one.name for one in operators(plan) if isinstance(one, Stream)}))
    before, tuples = 0, 0
    for now, arrivals in links.ticks(names, 4 * links.window):
        engine.tick(now, arrivals)
        if now == 2 * links.window:
            before = engine.steps.total
        tuples += len(arrivals) if now > 2 * links.window else 0
    steps = 1000 * (engine.steps.total - before) / tuples
    return Measured(steps, len(engine.answer()), engine.state_size, _share_early(engine, links) if logs else None)


def _share_early(engine: Engine, links: Links) -> float:
    """Return p over the results whose whole life was seen."""
    whole = [
        life
        for life in engine.view.lives
        if life.record.exp - life.record.ts == links.window
        and 2 * links.window < life.record.ts
        and life.record.exp <= engine.now
    ]
    return sum(life.is_early for life in whole) / max(1, len(whole))
