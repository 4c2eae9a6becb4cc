"""The experiment's queries over generated links, as `tidewheel derive trace` plays them."""

from __future__ import annotations

from dataclasses import replace

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.generated_streams import Links, query_plan
from tidewheel.queries.literature.trace import Played
from tidewheel.queries.statements.history import History
from tidewheel.queries.statements.plan import Operator, Stream, TimeWindow, operators


def play_links(name: str, links: Links, ticks: int, every: int = 1, *, internal: bool = False) -> Played:
    """Return a query and its streams for so many ticks.

    >>> play_links("Q2", Links(5), 10).plan.title
    'δ L1.source'
    """
    plan = query_plan(name, links.window)
    if every > ticks:
        raise InvalidInput(f"a run every {every} ticks, of {ticks}", "run more often, or play more ticks")
    names = tuple(sorted({one.name for one in operators(plan) if isinstance(one, Stream)}))
    arrivals = tuple(one for _, coming in links.ticks(names, ticks) for one in coming)
    return Played(_internal(plan) if internal else plan, History(arrivals), ticks, every, internal)


def _internal(plan: Operator) -> Operator:
    """Return the plan with all its time windows INTERNAL."""
    if isinstance(plan, TimeWindow):
        return replace(plan, internal=True)
    return plan.over(*map(_internal, plan.inputs)) if plan.inputs else plan
