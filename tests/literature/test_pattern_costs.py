"""Predicted steps beside counted ones: near enough that the planner's choices are the right ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.approach import approach_named
from tidewheel.queries.literature.patterns.flows import Statistics, flow
from tidewheel.queries.literature.patterns.generated_streams import Links, query_plan
from tidewheel.queries.literature.patterns.measuring import measure
from tidewheel.queries.literature.patterns.unit_time_cost import better_way, cheapest, unit_time_cost
from tidewheel.queries.statements.plan import CountWindow, GroupBy, Stream


def known(links: Links) -> Statistics:
    numbers = (1, 2, 3)
    values = {f"L{one}.source": links.other_sources.get(f"L{one}", links.sources) for one in numbers}
    shares = {f"L{one}.protocol = 'ftp'": links.ftp for one in numbers}
    shares |= {f"L{one}.protocol = 'telnet'": 0.32 for one in numbers}
    return Statistics({f"L{one}": 1 for one in numbers}, values, shares)


SELECTIVE, LARGE = Links(200, 200), Links(120, 6, 0.5, other_sources={"L2": 120})
CASES = [
    ("Q1 telnet", Links(200, 8), 0.05, ("NT(10 chains)", "NT", "DIRECT", "UPA(10, unsorted)", "UPA(10)")),
    ("Q2", Links(300, 15), 0, ("NT", "DIRECT", "UPA(10)")),
    ("Q3", Links(300, 600), 0, ("NT(10 chains)", "NT", "UPA(10)", "UPA(10, unsorted)", "UPA(10, negative)")),
    ("Q4", SELECTIVE, 0, ("NT", "UPA(10)", "UPA(10, negative)")),
    ("Q4 join up", SELECTIVE, 0, ("NT", "UPA(10)", "UPA(10, negative)")),
    ("Q4", LARGE, 0, ("NT", "UPA(10)", "UPA(10, negative)")),
    ("Q4 join up", LARGE, 0, ("NT", "UPA(10)", "UPA(10, negative)")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "links", "lazy", "approaches"), CASES, ids=lambda value: str(value)[:12])
def test_predicted_steps_are_those_counted(name: str, links: Links, lazy: float, approaches: tuple[str, ...]) -> None:
    plan = query_plan(name, links.window)
    streams = len({one for one in ("L1", "L2", "L3") if one in str(plan)})
    for approach in (replace(approach_named(one), lazy=lazy) for one in approaches):
        counted = measure(plan, approach, links).steps
        predicted = unit_time_cost(plan, approach, known(links)) * 1000 / streams
        assert predicted == pytest.approx(counted, rel=0.45), approach


def test_the_list_and_the_calendar_of_the_large_join() -> None:
    """At full size: a list takes most of its steps to expire, unsorted days few."""
    plan, links = query_plan("Q1 telnet", 1000), Links(1000, 20)
    costs = {}
    for name in ("DIRECT", "UPA(10, unsorted)", "UPA(10)"):
        costs[name] = 500 * unit_time_cost(plan, replace(approach_named(name), lazy=0.05), known(links))
    assert 60_000 < costs["DIRECT"] < 90_000
    assert 22_000 < costs["UPA(10, unsorted)"] < 30_000
    assert 90_000 < costs["UPA(10)"] < 130_000


@pytest.mark.parametrize(("links", "approach", "best"), [(SELECTIVE, "UPA(10)", "Q4"), (LARGE, "NT", "Q4 join up")])
def test_negation_above_or_below_a_join_is_chosen_by_cost(links: Links, approach: str, best: str) -> None:
    """The heuristic would always pull it up."""
    plans = {name: query_plan(name, links.window) for name in ("Q4", "Q4 join up")}
    way = approach_named(approach)
    assert cheapest(plans.values(), way, known(links)) == plans[best]
    counted = {name: measure(plan, way, links).steps for name, plan in plans.items()}
    assert min(counted, key=lambda name: counted[name]) == best


def test_the_way_above_a_strict_operator_is_the_cheaper_one() -> None:
    links = Links(600, 1200)
    plan = query_plan("Q3", 600)
    chosen = better_way(plan, approach_named("UPA(10)"), known(links))
    other = replace(chosen, early=not chosen.early)
    assert measure(plan, chosen, links).steps < measure(plan, other, links).steps


def test_a_flow_that_is_not_estimated() -> None:
    stream = Stream("A", ("k",))
    for plan in (CountWindow(stream, 3), GroupBy(stream, ("A.k",), ())):
        with pytest.raises(InvalidInput, match="is not estimated"):
            flow(plan, Statistics({"A": 1}, {}))
