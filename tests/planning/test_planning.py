"""What holds of every planner: partitions, bounds, the optimum by enumeration, chance that repeats."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from tests.support.models.planning import chance, loom_of, members, numbered, numbers, random_windows
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.planning.effort import counted_weave
from tidewheel.queries.literature.planning.incremental_weave import PlanPoint, expected_cost, is_drifted, rewoven
from tidewheel.queries.planning.catalogue import PLANNERS, planner_named
from tidewheel.queries.planning.certificate import certificate
from tidewheel.queries.planning.cost_model import PanesModel, three_levels
from tidewheel.queries.planning.loom import Loom, partition_of
from tidewheel.queries.planning.matching import heaviest_matching
from tidewheel.queries.planning.omega_model import omega_model
from tidewheel.queries.planning.omegas import OMEGAS, Form, true_operand_rate
from tidewheel.queries.planning.planners.random_plans import random_partition
from tidewheel.queries.planning.planners.subset_dp import optimum
from tidewheel.queries.planning.planners.weave_share import weave_share
from tidewheel.queries.planning.workload import Request, Workload
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.windows import Window

MODELS = [PanesModel, three_levels, *(omega_model(name, form) for name in OMEGAS for form in Form)]
RATES = ["1/2", "1", "5", "20"]


def random_loom(draw: random.Random, size_max: int, **options: Any) -> Loom:
    windows = random_windows(draw, draw.randint(1, size_max), **options)
    return Loom(numbered(windows, draw.choice(RATES)), PanesModel)


def partitions(size: int) -> Iterator[list[list[int]]]:
    if not size:
        yield []
        return
    for smaller in partitions(size - 1):
        for at in range(len(smaller)):
            yield [*smaller[:at], [*smaller[at], size - 1], *smaller[at + 1 :]]
        yield [*smaller, [size - 1]]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_every_plan_is_a_partition(model: object) -> None:
    draw = random.Random(61)
    for _ in range(3):
        windows = random_windows(draw, 7, slide_max=5)
        loom = Loom(numbered(windows, draw.choice(RATES)), model)  # type: ignore[arg-type]
        for planner in PLANNERS:
            plan = planner.plan(loom, chance())
            assert sorted(name for tree in plan.trees for name in tree) == [str(at) for at in range(7)], planner.name


def test_weaving_never_costs_more_than_not_sharing() -> None:
    draw = random.Random(62)
    for _ in range(300):
        loom = random_loom(draw, 9, offsets=draw.random() < 0.5)
        alone, woven = (planner_named(name).plan(loom, chance()).cost for name in ("No Share", "Weave Share"))
        assert woven <= alone
        assert certificate(loom.workload).least_cost <= woven


def test_the_optimum_is_that_of_all_partitions() -> None:
    draw = random.Random(63)
    for _ in range(60):
        loom = random_loom(draw, 6, offsets=True)
        cheapest = min(
            loom.cost_of(loom.tree(part) for part in partition) for partition in partitions(len(loom.singles))
        )
        assert loom.cost_of(optimum(loom, chance())) == cheapest


def test_greedy_against_the_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    """The literature proves a quarter of the savings under conditions; random workloads are far from it."""
    draw = random.Random(64)
    worst: Fraction | float = Fraction(1)
    dearest: Fraction | float = Fraction(1)
    optimal, size = 0, 500
    for _ in range(size):
        loom = random_loom(draw, 7)
        alone = planner_named("No Share").plan(loom, chance()).cost
        found, best = (planner_named(name).plan(loom, chance()).cost for name in ("Weave Share", "Optimum"))
        proof = certificate(loom.workload)
        assert alone - found >= proof.savings_share * (alone - best)
        optimal += found == best
        dearest = max(dearest, found / best)
        if best < alone:
            worst = min(worst, (alone - found) / (alone - best))
    with capsys.disabled():
        print(f"\n{optimal} of {size} optimal, cost at most {float(dearest):.3f}, savings at least {float(worst):.3f}")
    assert dearest < Fraction(11, 10)
    assert worst > Fraction(1, 2)


def test_theorem_of_a_quarter() -> None:
    draw = random.Random(65)
    met = 0
    for _ in range(400):
        slides = [draw.randint(1, 20) for _ in range(draw.randint(2, 6))]
        loom = Loom(numbered([Window(slide, slide) for slide in slides], Fraction(draw.randint(1, 12), 8)))
        if certificate(loom.workload).has_quarter:
            met += 1
            alone = planner_named("No Share").plan(loom, chance()).cost
            found, best = (planner_named(name).plan(loom, chance()) for name in ("Weave Share", "Optimum"))
            assert 4 * (alone - found.cost) >= alone - best.cost
            # The theorem's third condition follows from the others.
            assert 2 * (len(slides) - len(found.trees)) >= len(slides) - len(best.trees)
    assert met > 50


def test_weaving_with_equal_edges_first_changes_nothing() -> None:
    """Where equal edges always gain by sharing, they are the first to be woven anyway."""
    draw = random.Random(66)
    for _ in range(100):
        loom = random_loom(draw, 9, slide_max=4)
        literal, _ = counted_weave(loom)
        assert members(literal) == members(weave_share(loom, chance()))


def test_the_ways_to_weave_differ_by_probes_alone() -> None:
    loom = Loom(numbered(random_windows(random.Random(67), 30), 3))
    trees, probes = counted_weave(loom)
    assert members(trees) == members(weave_share(loom, chance()))
    assert sorted(probes, key=lambda way: -probes[way]) == [
        "naive",
        "Cost Lookup",
        "Edges Bitmap",
        "smaller probes larger",
    ]


def test_pairs_are_the_best_pairs() -> None:
    draw = random.Random(68)
    for _ in range(100):
        loom = random_loom(draw, 6, offsets=True)
        costs = [
            loom.cost_of(loom.tree(part) for part in partition)
            for partition in partitions(len(loom.singles))
            if all(len(part) <= 2 for part in partition)
        ]
        assert planner_named("Pairing").plan(loom, chance()).cost == loom.model.shown(min(costs))


def test_matchings_are_the_heaviest() -> None:
    draw = random.Random(69)
    for _ in range(400):
        size = draw.randint(0, 9)
        weights = [[0] * size for _ in range(size)]
        for first in range(size):
            for second in range(first):
                weight = draw.choice([0, draw.randint(-3, 6), draw.randint(1, 40)])
                weights[first][second] = weights[second][first] = weight
        mates = heaviest_matching(weights)
        matched = [(first, mate) for first, mate in enumerate(mates) if mate is not None]
        assert all(mates[mate] == first and weights[first][mate] > 0 for first, mate in matched)
        assert sum(weights[first][mate] for first, mate in matched) == 2 * _heaviest(weights, frozenset(range(size)))


def _heaviest(weights: list[list[int]], free: frozenset[int]) -> int:
    if len(free) < 2:
        return 0
    first, *others = sorted(free)
    best = _heaviest(weights, free - {first})
    for other in others:
        if weights[first][other] > 0:
            best = max(best, weights[first][other] + _heaviest(weights, free - {first, other}))
    return best


def test_runs_are_the_best_runs_and_the_first_may_end_for_nothing() -> None:
    draw = random.Random(70)
    for _ in range(60):
        windows = random_windows(draw, 6)
        loom = Loom(numbered(windows, 2))
        runs = [
            loom.cost_of(loom.tree(part) for part in partition)
            for partition in partitions(6)
            if all(part[-1] - part[0] == len(part) - 1 for part in partition)
        ]
        assert planner_named("Contiguous").plan(loom, chance()).cost == loom.model.shown(min(runs))


def test_chance_repeats_by_its_seed() -> None:
    loom = Loom(numbered(random_windows(random.Random(71), 12), 3))
    for name in ("Random", "Random partition", "LS-R-2x"):
        plans = [numbers(planner_named(name).plan(loom, chance(seed))) for seed in (5, 5, 6, 7, 8)]
        assert plans[0] == plans[1]
        assert len({str(plan) for plan in plans}) > 1 or name == "LS-R-2x"
    assert len(random_partition(loom, lambda _: 0)) == 1


def test_queries_come_and_go() -> None:
    first = [["0", "1"]]
    grown = loom_of([[16, 4], [10, 5], [8, 4]], "6/5")
    trees = rewoven(grown, first)
    assert members(trees) == [[0, 1, 2]]
    assert grown.model.shown(grown.cost_of(trees)) == Fraction(22, 5)
    points = [PlanPoint(2, Fraction(18, 5))]
    assert expected_cost(points, 3) == Fraction(27, 5)
    assert not is_drifted(points, PlanPoint(3, Fraction(22, 5)), Fraction(1, 5))
    assert is_drifted(points, PlanPoint(3, Fraction(7)), Fraction(1, 5))
    assert is_drifted(points, PlanPoint(3, Fraction(22, 5)), Fraction(0))


def test_a_query_leaves() -> None:
    left = Loom(_named({"1": [9, 3], "2": [4, 2], "3": [12, 4], "4": [6, 3]}, "3/2"))
    trees = rewoven(left, [["0", "2", "3"], ["1", "4"]])
    assert partition_of(trees) == ((0, 3), (1, 2))
    assert left.model.shown(left.cost_of(trees)) == Fraction(43, 6)


def test_a_tree_whose_bond_left_is_shattered() -> None:
    left = Loom(_named({"0": [4, 3], "1": [5, 3]}, "3/5"))
    trees = rewoven(left, [["0", "1", "2"]])
    assert len(trees) == 2
    assert left.model.shown(left.cost_of(trees)) == Fraction(16, 5)


def _named(queries: dict[str, list[int]], rate: str) -> Workload:
    # Whole ranges and no offsets, or all of one slide: where windows begin makes no difference.
    return Workload(
        tuple(Request(name, Window(length, slide)) for name, (length, slide) in queries.items()), Fraction(rate)
    )


def test_trees_that_did_not_change_are_kept() -> None:
    windows = random_windows(random.Random(72), 40, slide_max=12)
    before = planner_named("Weave Share").plan(Loom(numbered(windows, 3)), chance())
    loom = Loom(numbered([*windows, Window(24, 12)], 3))
    after = partition_of(rewoven(loom, before.trees))
    old = {tuple(int(name) for name in tree) for tree in before.trees}
    assert len(old - set(after)) <= 2


def test_operands_counted_one_by_one() -> None:
    draw = random.Random(73)
    for _ in range(100):
        windows = random_windows(draw, 3, slide_max=8, offsets=True)
        workload = numbered(windows, 1)
        loom = Loom(workload)
        tree = loom.tree(range(3))
        model = loom.model.shown(tree.cost) - 1
        true = true_operand_rate(workload, tree.members)
        rate: Any = loom.rate(tree)
        assert abs(true - model) < 3 * rate
        if all(window.length % window.slide == 0 for window in windows):
            assert true == model
    thirteen = numbered([Window(13, 4)], 1)
    assert true_operand_rate(thirteen, [0]) == Fraction(7, 4)
    plan = build_shared_plan([Window(13, 4)])
    assert sum(plan.count(Window(13, 4), at) for at in (4,)) == 7


def test_what_makes_no_workload_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rates are 0 or more"):
        numbered([Window(4, 2)], -1)
    with pytest.raises(InvalidInput, match="'a' is there twice"):
        Workload((Request("a", Window(4, 2)), Request("a", Window(6, 2))), Fraction(1))
    with pytest.raises(InvalidInput, match="microseconds and records cannot share"):
        numbered([Window(4, 2), Window(4, 2, unit="records")], 1)
    with pytest.raises(InvalidInput, match="there are No Share, Shared"):
        planner_named("Best")
    with pytest.raises(InvalidInput, match="use Settle"):
        optimum(Loom(numbered([Window(slide, slide) for slide in range(1, 17)], 1)), chance())
