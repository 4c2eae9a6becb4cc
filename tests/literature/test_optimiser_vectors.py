"""The optimiser of window joins: the vectors of the literature's examples, exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.drops.curve import Corner, curve, throughput_at
from tidewheel.queries.literature.optimiser.drops.exact_choice import joint_optimum
from tidewheel.queries.literature.optimiser.drops.filters import drops_of_filters
from tidewheel.queries.literature.optimiser.drops.knapsack import MinimumRatesInfeasible, knapsack
from tidewheel.queries.literature.optimiser.drops.path_costs import path_costs
from tidewheel.queries.literature.optimiser.drops.plan_choice import plan_and_drops
from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS, SURVIVORS, Bounds, drops_of_plan
from tidewheel.queries.literature.optimiser.dynamic_programming import best_plan
from tidewheel.queries.literature.optimiser.execution import Arrival, Execution
from tidewheel.queries.literature.optimiser.filter_order import by_rank, filter_costs, rank
from tidewheel.queries.literature.optimiser.goals import Goal, goal
from tidewheel.queries.literature.optimiser.join_prices import dilated, join_price, side_price
from tidewheel.queries.literature.optimiser.plan_costs import annotated, cpu_shares, plan_cost, plan_flow, plan_memory
from tidewheel.queries.literature.optimiser.plan_tree import tree_of
from tidewheel.queries.literature.optimiser.rates import Flow, joined, joined_all, joined_in_time, selected
from tidewheel.queries.literature.optimiser.regimes import capacity, optimise
from tidewheel.queries.literature.optimiser.two_sided import benefits, joined_two_sided
from tidewheel.queries.literature.optimiser.window_query import (
    JoinMethod,
    Selection,
    WindowQuery,
    WindowStream,
    tau,
    window_query,
)

VECTORS = json.loads((Path(__file__).parent / "vectors" / "static_optimisation.json").read_text(encoding="utf-8"))
PLANS = {name: tree_of(text) for name, text in VECTORS["plans"].items()}


def query_named(name: str, price: Any = 1, selections: tuple[Selection, ...] = ()) -> WindowQuery:
    """Return a query of the vectors, in fractions."""
    told = VECTORS["queries"][name]
    streams = [WindowStream(one, Fraction(rate), rows=Fraction(rows)) for one, (rate, rows) in told["streams"].items()]
    streams += [
        WindowStream(one, 0, rows=Fraction(rows), is_table=True) for one, rows in told.get("tables", {}).items()
    ]
    joins = tuple((one, other, Fraction(factor)) for one, other, factor in told["joins"])
    return window_query(tuple(streams), joins, selections, (tau(Fraction(price)),))


def fractions(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: Fraction(value) for name, value in values.items()}
    return [Fraction(value) for value in values]


EX1 = query_named("EX1")


def test_tv_1_selections():
    for case in VECTORS["TV-1"]["selections"]:
        found = selected(Flow(Fraction(case["rate"]), Fraction(case["window"])), Fraction(case["factor"]))
        assert [found.rate, found.window] == case["out"]


def test_tv_2_joins():
    flows = {one.name: Flow(one.rate, one.window) for one in EX1.streams}
    for pair, (factor, rate, window) in VECTORS["TV-2"]["pairs"].items():
        assert joined(flows[pair[0]], flows[pair[1]], Fraction(factor)) == Flow(rate, window)
    total = Flow(*VECTORS["TV-2"]["total"])
    assert joined_all(list(flows.values()), Fraction(1, 10)) == total
    assert [plan_flow(tree, EX1) for tree in PLANS.values()] == [total] * 3


def test_tv_3_a_dear_selection_is_pulled_up():
    vector = VECTORS["TV-3"]
    for case in vector["cases"]:
        query = query_named("pull_up", 1, (Selection("s", "A", Fraction(vector["factor"]), Fraction(case["price"])),))
        found = best_plan(query)
        assert (str(found.tree), found.value) == (case["best"], case["cost"])
        assert plan_cost(tree_of("(s[A] B)"), query) == case.get("push_down", case["cost"])
        smallest = best_plan(query, "memory")
        assert (str(smallest.tree), smallest.value) == (vector["memory"]["best"], vector["memory"]["rows"])


def test_tv_4_windows_of_time():
    vector = VECTORS["TV-4"]
    streams = tuple(
        WindowStream(one.name, one.rate, length=Fraction(vector["lengths"][one.name])) for one in EX1.streams
    )
    assert {one.window for one in streams} == {vector["windows"]}
    query = WindowQuery(streams, EX1.factors)
    assert [plan_cost(tree, query) for tree in PLANS.values()] == [plan_cost(tree, EX1) for tree in PLANS.values()]
    found = joined_in_time([one.rate for one in streams], fractions(vector["lengths"].values()), Fraction(1, 10))
    assert found.rate == vector["rate"]


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_tv_5_costs_and_memory(name):
    wanted = VECTORS["TV-5"][name]
    root = annotated(PLANS[name], EX1)
    first, second = sorted((one for one in (root, *root.below) if one.price), key=lambda one: len(one.tree.streams))
    assert first.cost == sum(wanted["first"])
    assert sorted(one.flow.rate for one in second.below) == sorted(wanted["second"])
    assert plan_cost(PLANS[name], EX1) == wanted["cost"]
    assert plan_memory(PLANS[name], EX1) == wanted["memory"]
    for price, utilisation in wanted["utilisation"].items():
        assert plan_cost(PLANS[name], query_named("EX1", price)) == Fraction(utilisation)


def test_tv_5_best_plans():
    vector = VECTORS["TV-5"]
    assert best_plan(EX1).tree == PLANS[vector["cpu_best"]]
    assert best_plan(EX1, "memory").tree == PLANS[vector["memory_best"]]
    assert Fraction(vector["c"]["memory"], vector["b"]["memory"]) == 1 + Fraction("1.6")


def test_tv_6_selections_by_rank():
    vector = VECTORS["TV-6"]
    both = {name: Selection(name, "A", *fractions(vector[name])) for name in ("s1", "s2")}
    for order, costs in vector["costs"].items():
        found = filter_costs(vector["rate"], [both[name] for name in order.split()])
        assert found == fractions(costs)
        assert (sum(found) <= 1) is (order == "s1 s2")
    assert [one.name for one in by_rank(both.values())] == vector["order"]
    assert [rank(one) for one in both.values()] == fractions(vector["ranks"])
    query = window_query((WindowStream("A", Fraction(vector["rate"])),), (), tuple(both.values()))
    best = best_plan(query)
    assert (str(best.tree), best.value) == ("s2[s1[A]]", Fraction(3, 4))
    assert list(cpu_shares(best.tree, query).values()) == pytest.approx(
        [float(one) for one in fractions(vector["shares"])]
    )


def test_tv_7_regimes():
    for time, regime, saturated in VECTORS["TV-7"]["regimes"]:
        found = optimise(EX1, Fraction(time))
        assert (found.regime.value, found.is_saturated) == (regime, saturated), time
    assert optimise(EX1, 250).tree == PLANS["a"]
    for case in VECTORS["TV-7"]["processors"]:
        time = capacity(case["processors"], Fraction(case["headroom"]))
        assert time / Fraction(case["tau"]) == case["K"]
        assert optimise(query_named("EX1", case["tau"]), time).regime.value == case["regime"]


def test_tv_8_one_box_at_the_source():
    vector = VECTORS["TV-8"]
    both = {name: Selection(name, "A", *fractions(VECTORS["TV-6"][name])) for name in ("s1", "s2")}
    for order in ("s1 s2", "s2 s1"):
        found = drops_of_filters(Fraction(vector["rate"]), [both[name] for name in order.split()], 1)
        assert [found.cost, found.keep, found.output] == [Fraction(one) for one in vector[order].values()]
    query = window_query((WindowStream("A", Fraction(vector["rate"])),), (), tuple(both.values()))
    for model in (ARRIVALS, SURVIVORS):
        drops = plan_and_drops(query, 1, Bounds(model))
        assert (float(drops.throughput), float(drops.exact)) == pytest.approx((500 / 3, vector["exact"]))


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_tv_9_the_knapsack(name):
    vector = VECTORS["TV-9"]
    wanted = vector["plans"][name]
    costs = path_costs(PLANS[name], EX1)
    assert (costs.benefit, costs.cost) == (vector["benefit"], wanted["cost"])
    assert {one: costs.benefit[one] / costs.cost[one] for one in "ABC"} == fractions(wanted["ratios"])
    drops = drops_of_plan(PLANS[name], EX1, vector["K"], Bounds(SURVIVORS))
    assert (drops.keep, drops.throughput) == (fractions(wanted["keep"]), Fraction(wanted["T"]))
    in_order = knapsack(costs.cost, costs.benefit, vector["K"], in_order=True)
    assert in_order == fractions(wanted["in_order"])
    assert sum(costs.benefit[one] * keep for one, keep in in_order.items()) == Fraction(wanted["T"])
    corners = curve(costs)
    assert {Corner(*corner) for corner in wanted["corners"]} <= set(corners)
    assert throughput_at(corners, vector["K"]) == Fraction(wanted["T"])


@pytest.mark.parametrize("case", VECTORS["TV-10"]["cases"], ids=str)
def test_tv_10_minimum_rates_and_weights(case):
    least = dict.fromkeys("ABC", Fraction(case["least"])) if "least" in case else None
    weights = fractions(case["weights"]) if "weights" in case else None
    bounds = Bounds(SURVIVORS, least, weights)
    if "needs" in case:
        with pytest.raises(MinimumRatesInfeasible, match=f"need {case['needs']}, available {case['K']}"):
            drops_of_plan(PLANS[case["plan"]], EX1, case["K"], bounds)
        return
    drops = drops_of_plan(PLANS[case["plan"]], EX1, case["K"], bounds)
    assert (list(drops.keep.values()), drops.throughput) == (fractions(case["keep"]), case["T"])
    assert drops.weighted == case.get("weighted", drops.weighted)


def test_tv_11_tables():
    vector = VECTORS["TV-11"]
    query = query_named("with_table")
    for text, cost in vector["cost"].items():
        tree = tree_of(text)
        assert plan_flow(tree, query) == Flow(vector["rate"], vector["window"])
        assert (plan_cost(tree, query), plan_memory(tree, query)) == (cost, vector["memory"][text])
        assert path_costs(tree, query).benefit == vector["benefit"]
    for model in (ARRIVALS, SURVIVORS):
        assert plan_and_drops(query, 20, Bounds(model)).keep["T"] == 1


def test_tv_12_methods_of_either_side():
    vector = VECTORS["TV-12"]
    methods = [JoinMethod(name, *fractions(vector[name])) for name in ("hash", "nested loops")]
    left, right = (Flow(rate, 1) for rate in vector["rates"])
    for method in methods:
        assert side_price(method, left, right) == vector["left"][method.name]
        assert side_price(method, right, left) == vector["right"][method.name]
    found = join_price(left, right, methods)
    assert [found.left.name, found.right.name, found.cost] == vector["best"]
    assert join_price(left, right, methods[:1]).cost == vector["all_hash"]
    assert join_price(left, right, methods[1:]).cost == vector["all_nested_loops"]
    crossed = left.rate * (methods[1].insert + methods[1].invalidate) + right.rate * methods[0].probe
    crossed += right.rate * (methods[0].insert + methods[0].invalidate) + left.rate * methods[1].probe
    assert crossed == vector["misprinted"] != found.cost


def test_tv_13_dilation():
    vector = VECTORS["TV-13"]
    assert dilated(vector["cost"], Fraction(vector["share"])) == vector["dilated"]


def test_tv_14_two_sided_factors():
    vector = VECTORS["TV-14"]
    left, right = (Flow(Fraction(rate), Fraction(vector["window"])) for rate in vector["rates"])
    for case in vector["cases"]:
        assert joined_two_sided(left, right, *fractions(case["f"])) == Flow(case["rate"], case["window"])
    drops = vector["drops"]
    benefit = dict(zip("LR", benefits(left, right, *fractions(vector["cases"][0]["f"])), strict=True))
    assert benefit == drops["benefit"]
    keep = knapsack(drops["cost"], benefit, drops["K"])
    assert keep == fractions(drops["keep"])
    assert sum(benefit[one] * keep[one] for one in keep) == drops["T"]


def test_tv_15_the_cheapest_plan_loses_with_survivors():
    vector = VECTORS["TV-15"]
    query = query_named("EX2")
    bounds = Bounds(SURVIVORS)
    for name, tree in PLANS.items():
        assert plan_flow(tree, query) == Flow(vector["rate"], vector["window"])
        assert (plan_cost(tree, query), plan_memory(tree, query)) == (vector["cost"][name], vector["memory"][name])
        at_60 = drops_of_plan(tree, query, 60, bounds)
        assert at_60.throughput == Fraction(vector["K60"][name]["T"])
        if name in vector["paths"]:
            costs = path_costs(tree, query)
            assert (list(costs.cost.values()), costs.benefit) == (vector["paths"][name], vector["benefit"])
            assert list(at_60.keep.values()) == fractions(vector["K60"][name]["keep"])
            assert drops_of_plan(tree, query, 100, bounds).throughput == vector["K100"][name]
            crossing, output = vector["cross_over"]
            assert drops_of_plan(tree, query, crossing, bounds).throughput == Fraction(output)
        for time in range(1, vector["ties_to"] + 1):
            assert drops_of_plan(tree, query, time, bounds).throughput == time
    assert best_plan(query).tree == PLANS["b"]
    assert plan_and_drops(query, 60, bounds).tree == PLANS["a"]


def test_tv_16_the_cheapest_plan_loses_with_arrivals():
    vector = VECTORS["TV-16"]
    for name, tree in PLANS.items():
        line = vector["lines"][name]
        for time in (Fraction(line["from"]), (Fraction(line["from"]) + Fraction(line["to"])) / 2, Fraction(line["to"])):
            keep = drops_of_plan(tree, EX1, time).keep
            wanted = dict.fromkeys("ABC", 1.0) | {line["partial"]: float((time - line["minus"]) / line["over"])}
            assert keep == pytest.approx(wanted, rel=1e-9)
    for time, outputs in vector["exact"].items():
        for name, output in outputs.items():
            assert drops_of_plan(PLANS[name], EX1, Fraction(time)).throughput == pytest.approx(output, abs=5e-4)
    for name, shares in vector["keep_at_100"].items():
        assert list(drops_of_plan(PLANS[name], EX1, 100).keep.values()) == pytest.approx(shares, abs=5e-7)
    for name, end in vector["ends"].items():
        below, above = (drops_of_plan(PLANS[name], EX1, end + step).keep for step in (-0.01, 0.01))
        assert min(below["A"], below["B"]) < 1 == above["A"] == above["B"]
    assert plan_and_drops(EX1, 100).tree == PLANS["b"] != best_plan(EX1).tree


def test_tv_17_the_two_models_of_windows():
    vector = VECTORS["TV-17"]
    streams = tuple(WindowStream(name, 1, rows=vector["window"]) for name in "AB")
    query = window_query(streams, (("A", "B", 1),))
    for model, dropped, wanted in (
        (ARRIVALS, "", "exact"),
        (ARRIVALS, vector["dropped"], "arrivals_model"),
        (SURVIVORS, vector["dropped"], "survivors_model"),
    ):
        execution = Execution(tree_of("(A B)"), query, model)
        for name in vector["arrivals"].split():
            execution.arrive(Arrival(name[0].upper(), int(name[1])), is_kept=name != dropped)
        found = {"".join(sorted(result)).replace(":", "").lower() for result in execution.results}
        assert found == set(vector[wanted].split())
        assert len(execution.results) == len(found)


def test_tv_18_a_bushy_plan_wins():
    vector = VECTORS["TV-18"]
    query = query_named("bushy")
    for text, (cost, memory) in vector["plans"].items():
        assert (plan_cost(tree_of(text), query), plan_memory(tree_of(text), query)) == (cost, memory)
        assert plan_flow(tree_of(text), query) == Flow(vector["rate"], Fraction(vector["window"]))
    assert str(best_plan(query).tree) == vector["best"]
    assert str(best_plan(query, left_deep=True).tree) == vector["best_left_deep"]


@pytest.mark.parametrize("case", VECTORS["TV-19"]["cases"], ids=lambda case: str(case["K"]))
def test_tv_19_plan_and_drops_together(case):
    for drops in (joint_optimum(EX1, Fraction(case["K"])), plan_and_drops(EX1, Fraction(case["K"]), Bounds(SURVIVORS))):
        assert drops.throughput == Fraction(case["T"])
        assert drops.tree == PLANS[case["plan"]]
        assert drops.keep["C"] == Fraction(case.get("C", drops.keep["C"]))


def test_goals():
    for query, stream in (("short-running", "finite"), ("short-running", "infinite"), ("continuous", "finite")):
        assert goal(query, stream) is Goal.THROUGHPUT
    assert goal("continuous", "infinite") is Goal.RESOURCES
    with pytest.raises(InvalidInput, match="no goal for a daily query"):
        goal("daily", "finite")
