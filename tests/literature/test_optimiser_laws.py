"""The optimiser of window joins on random queries: against enumeration, linear programs and bounds that are sure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations
from random import Random
from typing import Any

import pytest

from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.queries.literature.optimiser.drops.box_moving import boxed, moved_to_sources, places
from tidewheel.queries.literature.optimiser.drops.certificate import of_any_plan, of_knapsack, of_prices
from tidewheel.queries.literature.optimiser.drops.curve import curve, throughput_at
from tidewheel.queries.literature.optimiser.drops.drop_box import keeps
from tidewheel.queries.literature.optimiser.drops.exact_choice import joint_optimum
from tidewheel.queries.literature.optimiser.drops.filters import boxed_filters, drops_of_filters
from tidewheel.queries.literature.optimiser.drops.knapsack import MinimumRatesInfeasible, knapsack
from tidewheel.queries.literature.optimiser.drops.path_costs import path_costs
from tidewheel.queries.literature.optimiser.drops.plan_choice import alternated, best_of_all, plan_and_drops
from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS, SURVIVORS, Bounds, drops_of_plan, scaled
from tidewheel.queries.literature.optimiser.drops.price_method import Priced, cost_of, price_method, priced
from tidewheel.queries.literature.optimiser.dynamic_programming import best_plan
from tidewheel.queries.literature.optimiser.enumeration import all_plans, bushy_count, left_deep_count
from tidewheel.queries.literature.optimiser.filter_order import by_rank, filter_costs
from tidewheel.queries.literature.optimiser.generated_queries import generated_query
from tidewheel.queries.literature.optimiser.plan_costs import annotated, check_plan, plan_cost, plan_flow, plan_memory
from tidewheel.queries.literature.optimiser.plan_tree import tree_of
from tidewheel.queries.literature.optimiser.regimes import InfeasibleQuery, Regime, capacity, optimise, refused
from tidewheel.queries.literature.optimiser.window_query import (
    JoinMethod,
    Selection,
    WindowQuery,
    WindowStream,
    window_query,
)
from tidewheel.queries.statements.join_sizes import JoinInput, result_rate, size

EX1 = window_query(
    (WindowStream("A", 10, rows=10), WindowStream("B", 20, rows=10), WindowStream("C", 70, rows=10)),
    (("A", "B", Fraction(1, 2)), ("B", "C", Fraction(1, 5))),
)


def few_then_many(few: int, many: int) -> pytest.MarkDecorator:
    """Run some seeds in the default suite and the others at night."""
    return pytest.mark.parametrize("seeds", [range(few), pytest.param(range(few, many), marks=pytest.mark.nightly)])


def with_selections(query: WindowQuery, chance: Random, count: int) -> WindowQuery:
    def made(place: int) -> Selection:
        factor = Fraction(chance.randint(1, 10), 10)
        return Selection(f"s{place}", chance.choice(query.names), factor, chance.choice([0, 1, 9]))

    return replace(query, selections=tuple(made(place) for place in range(count)))


# Plans.


def test_counts_of_plans():
    for streams in range(2, 7):
        query = generated_query(streams, 1)
        plans = all_plans(query)
        assert len(plans) == len(set(map(str, plans))) == bushy_count(streams)
        assert len(all_plans(query, left_deep=True)) == left_deep_count(streams)
    assert [bushy_count(n) for n in (7, 8)] == [10_395, 135_135]
    assert [left_deep_count(n) for n in (7, 8)] == [2_520, 20_160]


@few_then_many(3, 24)
def test_observation_1_rates_and_windows_are_the_querys(seeds):
    checked = 0
    for number in seeds:
        for streams in (3, 4, 5):
            query = with_selections(generated_query(streams, number, exact=True), Random(number), number % 2)
            known: dict[int, Any] = {}
            plans = all_plans(query)
            assert len({(one.flow.rate, one.flow.window) for one in (annotated(t, query, known) for t in plans)}) == 1
            checked += len(plans)
    assert checked >= len(seeds) * (3 + 15 + 105)


@few_then_many(2, 34)
@pytest.mark.parametrize("streams", [2, 3, 4, 5, 6])
def test_the_search_finds_what_enumeration_finds(streams, seeds):
    for number in seeds[:1] if len(seeds) < 3 and streams == 6 else seeds:
        query = generated_query(streams, number, exact=True)
        known: dict[int, Any] = {}
        nodes = {str(tree): annotated(tree, query, known) for tree in all_plans(query)}
        deep = {str(tree) for tree in all_plans(query, left_deep=True)}
        costs = {text: sum(node.paid.values()) for text, node in nodes.items()}
        rows = {text: plan_memory(node.tree, query) for text, node in nodes.items()}
        for metric, values in (("cpu", costs), ("memory", rows)):
            found = best_plan(query, metric)
            assert (found.value, str(found.tree)) == min((value, text) for text, value in values.items())
            assert best_plan(query, metric, worst=True).value == max(values.values())
            left_deep = best_plan(query, metric, left_deep=True)
            assert (left_deep.value, str(left_deep.tree)) == min((values[text], text) for text in deep)


@few_then_many(6, 80)
def test_the_search_with_selections_finds_what_enumeration_finds(seeds):
    for seed in seeds:
        chance = Random(seed)
        query = with_selections(generated_query(chance.randint(1, 4), seed, exact=True), chance, chance.randint(1, 3))
        if chance.random() < 0.3:
            methods = (JoinMethod("hash", 1, 2, 1, per_match=1), JoinMethod("loops", 0, 1, 1, per_row=Fraction(1, 5)))
            query = replace(query, methods=methods)
        plans = all_plans(query)
        assert best_plan(query).value == min(plan_cost(tree, query) for tree in plans), seed
        assert best_plan(query, worst=True).value == max(plan_cost(tree, query) for tree in plans), seed
        found = best_plan(query, "memory")
        assert found.value == min(plan_memory(tree, query) for tree in plans) == plan_memory(found.tree, query), seed
        check_plan(best_plan(query).tree, query)


def test_above_ten_selections_all_are_at_their_streams_by_rank():
    query = with_selections(generated_query(3, 5, exact=True), Random(3), 11)
    found = best_plan(query)
    check_plan(found.tree, query)
    assert plan_cost(found.tree, query) == found.value
    assert str(found.tree).count("[") == 11
    assert "[(" not in str(found.tree)


def test_products_may_be_left_out():
    for number in range(20):
        query = generated_query(5, number)
        found = best_plan(query, cartesian=False)
        assert found.value >= best_plan(query).value
        for node in _joins(found.tree):
            assert any(pair & node.left.streams and pair & node.right.streams for pair in query.factors)
    apart = window_query(tuple(WindowStream(name, 1, rows=1) for name in "ABC"), (("A", "B", 0.5),))
    with pytest.raises(InvalidInput, match="no predicate connects these streams: A, B; C"):
        best_plan(apart, cartesian=False)


def _joins(tree: Any) -> list[Any]:
    if not hasattr(tree, "left"):
        return []
    return [tree, *_joins(tree.left), *_joins(tree.right)]


def test_rank_is_the_cheapest_order():
    for seed in range(300):
        chance = Random(seed)
        some = [
            Selection(f"s{place}", "A", Fraction(chance.randint(0, 10), 10), chance.randint(0, 9)) for place in range(4)
        ]
        cheapest = min(sum(filter_costs(100, order)) for order in permutations(some))
        assert sum(filter_costs(100, by_rank(some))) == cheapest, seed


def test_sizes_agree_with_those_of_join_orders():
    inputs = [JoinInput(10, 100, 40), JoinInput(1, 100, 8)]
    streams = tuple(WindowStream(name, one.rate, length=one.length) for name, one in zip("AB", inputs, strict=True))
    query = window_query(streams, (("A", "B", Fraction(1, 40)),))
    flow = plan_flow(tree_of("(A B)"), query)
    assert (flow.window, flow.rate) == (size(inputs), result_rate(inputs))


def test_the_plan_of_fewest_rows_within_the_time():
    query = replace(EX1, selections=(Selection("s", "B", Fraction(1, 2), 3),))
    plans = all_plans(query)
    smallest = best_plan(query, "memory")
    for time in sorted({plan_cost(tree, query) for tree in plans}):
        found = optimise(query, time, "memory")
        wanted = min(plan_memory(tree, query) for tree in plans if plan_cost(tree, query) <= time)
        assert found.memory == wanted >= smallest.value
        assert found.fits
    with pytest.raises(InvalidInput, match="no plan fits into 10 of time"):
        optimise(query, 10, "memory")
    with pytest.raises(InvalidInput, match=r"holds 35; there is room for 30"):
        optimise(query, 1000, "memory", memory_max=30)


# Drops.


def linear_program(costs: list[float], gains: list[float], time: float, least: list[float]) -> float:
    """Return the best value of a continuous knapsack, by a solver."""
    highspy = pytest.importorskip("highspy")
    solver = highspy.Highs()
    solver.silent()
    keep = [solver.addVariable(lb=low, ub=1) for low in least]
    solver.addConstr(sum(cost * one for cost, one in zip(costs, keep, strict=True)) <= time)
    solver.maximize(sum(gain * one for gain, one in zip(gains, keep, strict=True)))
    return float(solver.getObjectiveValue())


@few_then_many(60, 300)
def test_one_box_at_the_source_is_what_a_linear_program_finds(seeds):
    highspy = pytest.importorskip("highspy")
    for seed in seeds:
        chance = Random(seed)
        order = [Selection(f"s{n}", "A", chance.uniform(0.05, 1), chance.uniform(0.1, 3)) for n in range(3)]
        costs = [float(one) for one in filter_costs(10, order)]
        time = chance.uniform(0.1, 1.5) * sum(costs)
        solver = highspy.Highs()
        solver.silent()
        kept = [solver.addVariable(lb=0, ub=1) for _ in range(4)]  # what is kept through box i
        for before, after in pairwise(kept):
            solver.addConstr(after <= before)
        solver.addConstr(sum(cost * one for cost, one in zip(costs, kept, strict=False)) <= time)
        solver.maximize(kept[3])
        found = drops_of_filters(10, order, time)
        assert float(found.keep) == pytest.approx(solver.getObjectiveValue(), rel=1e-7), seed
        assert boxed_filters(10, order, [found.keep, 1, 1, 1])[0] == pytest.approx(float(found.output))


def test_the_knapsack_is_what_a_linear_program_finds():
    for seed in range(300):
        chance = Random(seed)
        query = generated_query(chance.randint(2, 5), seed)
        plans = all_plans(query)
        costs = path_costs(chance.choice(plans), query)
        names = sorted(costs.cost)
        least = {name: chance.choice([0, 0.1, 0.3]) for name in names}
        weights = {name: chance.choice([0.1, 1, 1, 20]) for name in names}
        floor = sum(costs.cost[name] * least[name] for name in names)
        time = floor + chance.random() * (sum(costs.cost.values()) - floor) * 1.1
        keep = knapsack(costs.cost, costs.benefit, time, least, weights)
        gains = [float(weights[name] * costs.benefit[name]) for name in names]
        wanted = linear_program([float(costs.cost[name]) for name in names], gains, float(time), list(least.values()))
        found = sum(gain * float(keep[name]) for gain, name in zip(gains, names, strict=True))
        assert found == pytest.approx(wanted, rel=1e-7), seed
        assert sum(costs.cost[name] * keep[name] for name in names) <= time * (1 + 1e-9), seed


def test_paths_add_up_to_the_cost_and_their_ratio_is_of_windows_alone():
    for number in range(100):
        query = generated_query(2 + number % 4, number, exact=True)
        tree = Random(number).choice(all_plans(query))
        costs = path_costs(tree, query)
        assert sum(costs.cost.values()) == plan_cost(tree, query)
        assert sum(costs.benefit.values()) == plan_flow(tree, query).rate
        windows: dict[str, Any] = dict.fromkeys(query.names, 0)
        for part in _joins(tree):
            for side in (part.left, part.right):
                for name in side.streams:
                    windows[name] += annotated(side, query).flow.window
        out = plan_flow(tree, query).window
        assert {name: costs.benefit[name] / costs.cost[name] for name in windows} == {
            name: out / window for name, window in windows.items()
        }


def descended(plan: Priced, names: list[str], time: float, least: Mapping[str, float]) -> dict[str, float]:
    """Return the best keep fractions by coordinate descent on the Lagrangian: slow, and told apart from the method."""
    low, high = -40.0, 40.0
    keep = dict.fromkeys(names, 1.0)
    for _ in range(90):
        price = (low + high) / 2
        for _ in range(400):
            before = dict(keep)
            for name in names:
                slope = cost_of(plan, keep | {name: 1.0}) - cost_of(plan, keep | {name: 0.0})
                wish = math.exp(-price) / slope if slope else 1.0
                keep[name] = max(least.get(name, 1e-9), min(1.0, wish))
            if max(abs(keep[name] / before[name] - 1) for name in names) < 1e-13:
                break
        low, high = (price, high) if cost_of(plan, keep) > time else (low, price)
    return keep


@few_then_many(4, 105)
@pytest.mark.parametrize("has_least", [False, True])
def test_prices_are_what_coordinate_descent_finds(has_least, seeds):
    for seed in seeds:
        chance = Random(seed)
        streams = chance.randint(2, 4)
        query = generated_query(streams, seed)
        plan = priced(chance.choice(all_plans(query)), query)
        least = {name: chance.choice([0.05, 0.2, 0.5]) for name in query.names} if has_least else {}
        floor = cost_of(plan, least) if has_least else 0.0
        time = floor + chance.uniform(0.05, 0.9) * (cost_of(plan, dict.fromkeys(query.names, 1.0)) - floor)
        found = price_method(plan, time, least)
        wanted = descended(plan, list(query.names), time, least)
        assert cost_of(plan, found) == pytest.approx(time, rel=1e-9)
        # Where the descent crawls it stops beside the limit, and its output is off by about as much.
        off = abs(cost_of(plan, wanted) / time - 1)
        assert off < 1e-4
        assert math.prod(found.values()) == pytest.approx(math.prod(wanted.values()), rel=1e-8 + 2 * off), seed


@few_then_many(60, 600)
def test_prices_reach_their_own_bound(seeds):
    """The tangent bounds the output of the plan, so keep fractions that reach it are the best."""
    for seed in seeds:
        chance = Random(seed)
        query = with_selections(generated_query(chance.randint(2, 6), seed), chance, chance.randint(0, 2))
        if chance.random() < 0.3:
            query = replace(query, methods=(JoinMethod("loops", 0.5, 1, 1, per_row=0.1, per_match=0.2),))
        tree = best_plan(query).tree
        plan = priced(tree, query)
        whole = cost_of(plan, dict.fromkeys(query.names, 1.0))
        assert whole == pytest.approx(float(plan_cost(tree, query)))
        time = whole * chance.uniform(0.01, 0.99)
        keep = price_method(plan, time)
        assert cost_of(plan, keep) <= time * (1 + 1e-9)
        assert math.prod(keep.values()) == pytest.approx(of_prices(plan, time, keep), rel=1e-7), seed


@few_then_many(60, 600)
def test_observation_3_boxes_move_to_the_sources(seeds):
    for seed in seeds:
        chance = Random(seed)
        query = with_selections(generated_query(chance.randint(2, 5), seed, exact=True), chance, seed % 2)
        tree = chance.choice(all_plans(query))
        where = places(tree)
        assert len(where) == 2 * len(query.streams) - 1
        boxes = {place: Fraction(chance.randint(1, 10), 10) for place in where}
        for model in (ARRIVALS, SURVIVORS):
            flow, cost = boxed(tree, query, boxes, model)
            moved, less = boxed(tree, query, moved_to_sources(tree, boxes, model), model)
            assert (moved.rate, less <= cost) == (flow.rate, True), seed


def test_drops_put_out_what_the_scaled_query_does():
    for seed in range(60):
        query = generated_query(2 + seed % 4, seed)
        tree = best_plan(query).tree
        time = float(plan_cost(tree, query)) * Random(seed).uniform(0.1, 0.9)
        for model in (ARRIVALS, SURVIVORS):
            drops = drops_of_plan(tree, query, time, Bounds(model))
            behind = scaled(query, drops.keep, model)
            assert float(plan_flow(tree, behind).rate) == pytest.approx(float(drops.throughput)), seed
            assert float(plan_cost(tree, behind)) == pytest.approx(time), seed


@few_then_many(8, 90)
def test_bounds_that_hold_for_every_plan(seeds):
    for seed in seeds:
        query = generated_query(3 + seed % 2, seed)
        cheapest = best_plan(query)
        time = float(cheapest.value) * Random(seed).choice([0.1, 0.5, 0.9])
        for model in (ARRIVALS, SURVIVORS):
            best = best_of_all(query, time, Bounds(model))
            assert best.throughput <= float(of_any_plan(query, time, model)) * (1 + 1e-9), seed
            other = alternated(query, time, Bounds(model))
            assert other.throughput <= best.throughput * (1 + 1e-9)
            plain = max(float(drops_of_plan(t, query, time, Bounds(model)).throughput) for t in all_plans(query))
            assert best.throughput == pytest.approx(plain, rel=1e-9), seed
        ours = drops_of_plan(cheapest.tree, query, time, Bounds(SURVIVORS))
        assert ours.throughput >= best.throughput * time / float(cheapest.value) * (1 - 1e-9), seed
        costs = path_costs(cheapest.tree, query)
        assert of_knapsack(costs, time, ours.keep) == pytest.approx(float(ours.throughput))
        assert throughput_at(curve(costs), time) == pytest.approx(float(ours.throughput))


@few_then_many(4, 145)
def test_the_joint_optimum_is_what_enumeration_finds(seeds):
    for seed in seeds:
        query = generated_query(3 + seed % 3, seed, exact=True)
        time = best_plan(query).value * Fraction(Random(seed).choice([1, 3, 5, 9]), 10)
        assert joint_optimum(query, time).throughput == best_of_all(query, time, Bounds(SURVIVORS)).throughput, seed


def test_drop_boxes_keep_the_same_and_nested_tuples():
    for seed in range(5):
        kept = [{one for one in range(2000) if keeps(seed, "A", one, share)} for share in (0, 0.1, 0.5, 0.9, 1)]
        assert all(small <= large for small, large in pairwise(kept))
        assert [len(one) / 2000 for one in kept] == pytest.approx([0, 0.1, 0.5, 0.9, 1], abs=0.03)
        assert kept[2] != {one for one in range(2000) if keeps(seed, "B", one, 0.5)}


def test_nothing_is_dropped_without_permission():
    choice = optimise(EX1, 200)
    assert choice.regime is Regime.INSUFFICIENT
    told = refused(choice, plan_and_drops(EX1, 200).kept_share)
    assert isinstance(told, InfeasibleQuery | Refused)
    assert "needs 250 of work per unit of time with its best plan ((A B) C); 200 available" in told.message
    assert "keeps about 70.6% of the results" in told.remedy


# What is refused.

A, B = WindowStream("A", 1, rows=1), WindowStream("B", 1, rows=1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: WindowStream("A", -1, rows=1), "the rate of stream 'A' is -1"),
        (lambda: WindowStream("A", math.nan, rows=1), "the rate of stream 'A' is nan"),
        (lambda: WindowStream("A", 1, rows=0), "the window of stream 'A' is 0 rows"),
        (lambda: WindowStream("A", 1, length=-2), "the window of stream 'A' is -2 length"),
        (lambda: Selection("s", "A", 1.5), "the factor of selection 's' is 1.5"),
        (lambda: window_query((A, B), (("A", "B", -0.1),)), "the factor of A and B is -0.1"),
        (lambda: window_query((A, B), (("A", "B", 0.1), ("B", "A", 0.2))), "'B' and 'A' have two predicates"),
        (lambda: window_query((A, B), (("A", "X", 0.1),)), "a predicate names 'X', which is no stream"),
        (
            lambda: window_query((A, WindowStream("C", 1))),
            "stream 'C' is joined but has no window: an unbounded join needs unbounded memory",
        ),
        (lambda: window_query((A, A)), "'A' is the name of two streams"),
        (lambda: window_query((WindowStream("T", rows=9, is_table=True),)), "every input is a table"),
        (lambda: optimise(EX1, 0), "there is 0 of time per unit of time"),
        (lambda: capacity(1, 0, 0.1, EX1), "there is -9 of time"),
        (lambda: Bounds(least={"A": 1.5}).check(EX1), "the minimum of 'A' is 1.5"),
        (lambda: Bounds(weights={"A": 2}).check(EX1), "weights with windows of arrivals"),
        (
            lambda: Bounds(SURVIVORS).check(window_query((A, WindowStream("B", 1, length=5)))),
            "windows of survivors are defined for windows of rows, and B has one of time",
        ),
        (lambda: check_plan(tree_of("(A B)"), EX1), r"the plan \(A B\) is none of this query"),
        (lambda: tree_of("((A B) C"), "is no plan"),
        (lambda: best_plan(generated_query(15, 0)), "the best of all plans of 15 streams takes too long"),
        (lambda: all_plans(generated_query(9, 0)), "all plans of 9 streams are too many"),
        (lambda: price_method(priced(tree_of("((A B) C)"), EX1), 20, {"A": 1.0, "B": 1.0}), "need .*, available 20"),
    ],
)
def test_what_is_refused(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


def test_all_or_nothing_streams_are_filled_up_to_their_bounds():
    with pytest.raises(MinimumRatesInfeasible):
        knapsack({"A": 10}, {"A": 1}, 4, {"A": Fraction(1, 2)})
    assert knapsack({"A": 10, "B": 10}, {"A": 0, "B": 0}, 5) == {"A": 0.25, "B": 0.25}
