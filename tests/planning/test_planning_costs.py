"""Cost models: against trees carried out by hand, against what techniques count, and ours against the optimum."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from statistics import mean
from typing import Any

import pytest

from tests.support.models.planning import chance, numbered, pages, random_windows
from tidewheel.queries.choice import technique_named
from tidewheel.queries.literature.planning.grouped_model import grouped_model
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.oracle import window_fold
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.measured_model import Constants, measured_model
from tidewheel.queries.planning.omegas import OMEGAS, Form, true_operand_rate
from tidewheel.queries.planning.phases import phases_of
from tidewheel.queries.planning.planners.settle import searched
from tidewheel.queries.planning.population import Detail, Estimate, Fragments, Sample, SampleRow
from tidewheel.queries.planning.workload import Request, Workload
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.technique import Technique
from tidewheel.queries.techniques.slick_deque_non_inv import SlickDequeNonInv
from tidewheel.queries.windows import Window

SUM_TREE, GROUPED_TREE = pages("trees_carried_out.json")["vectors"]


def test_one_tree_carried_out() -> None:
    windows = [Window(*pair) for pair in SUM_TREE["windows"]]
    workload, values = numbered(windows, 1), SUM_TREE["values"]
    loom, plan = Loom(workload), build_shared_plan(windows)
    assert (plan.period, list(plan.edges)) == (SUM_TREE["period"], SUM_TREE["edges"])
    assert loom.rate(loom.tree([0, 1])) == Fraction(SUM_TREE["edge_rate"])
    assert true_operand_rate(workload, [0, 1]) == Fraction(SUM_TREE["operands"])
    assert sum(Fraction(one.length, one.slide) for one in windows) == Fraction(SUM_TREE["omega"])
    partials: Counter[int] = Counter()
    for at, value in enumerate(values):
        partials[plan.number_of(at)] += value
    assert [partials[number] for number in sorted(partials)] == SUM_TREE["partials"]
    for window, answers in zip(windows, SUM_TREE["answers"], strict=True):
        for report, answer in answers.items():
            run = plan.run(window, int(report))
            assert sum(partials[number] for number in range(run.first, run.end)) == answer
            assert (
                window_fold(
                    whole_sum(),
                    [(at, (value,)) for at, value in enumerate(values)],
                    int(report) - window.length,
                    int(report),
                )
                == answer
            )
            assert int(report) < window.length or run.count == SUM_TREE["whole"]


def test_predicates_and_groups() -> None:
    rows = [SampleRow(at, _holding(value), {"k": key}) for at, value, key in GROUPED_TREE["rows"]]
    windows = [Window(*pair) for pair in GROUPED_TREE["windows"]]
    asked = zip("AB", windows, GROUPED_TREE["predicates"], GROUPED_TREE["groups"], strict=True)
    requests = tuple(Request(name, window, where, frozenset(groups)) for name, window, where, groups in asked)
    sample, table = Sample(rows, length=8), _table(windows)
    assert {str(number): sorted(found, reverse=True) for number, found in table.items()} == {
        number: sorted(map(tuple, found), reverse=True) for number, found in GROUPED_TREE["table"].items()
    }
    for bit, (window, answers) in enumerate(zip(windows, GROUPED_TREE["answers"], strict=True)):
        for report, groups in answers.items():
            assert _answer(windows, table, bit, window, int(report)) == [tuple(group) for group in groups]
    kept = Detail(frozenset(GROUPED_TREE["predicates"]), frozenset("k"))
    fragments = Fragments(frozenset().union(*map(phases_of, windows)), Fraction(2))
    entries = [sample.entries(kept, one.predicate, fragments) for one in requests]
    assert entries == [Fraction(figure) for figure in GROUPED_TREE["entries"]]
    loom = Loom(Workload(requests, Fraction(1)), grouped_model(sample))
    assert [single.cost for single in loom.singles] == [Fraction(figure) for figure in GROUPED_TREE["alone"]]
    assert loom.tree([0, 1]).cost == Fraction(GROUPED_TREE["together"])
    assert loom.gain(*loom.singles) == Fraction(GROUPED_TREE["gain"])


def _holding(value: int) -> frozenset[str]:
    return frozenset({"v >= 4"}) if value >= 4 else frozenset()


def _table(windows: list[Window]) -> dict[int, list[tuple[Any, ...]]]:
    plan, sums = build_shared_plan(windows), Counter[Any]()
    counts: Counter[Any] = Counter()
    for at, value, key in GROUPED_TREE["rows"]:
        entry = plan.number_of(at), f"{int(value >= 4)}1", key
        sums[entry] += value
        counts[entry] += 1
    found: dict[int, list[tuple[Any, ...]]] = {}
    for (number, signature, key), total in sums.items():
        found.setdefault(number, []).append((signature, key, total, counts[number, signature, key]))
    return found


def _answer(windows: list[Window], table: Any, bit: int, window: Window, report: int) -> list[tuple[Any, ...]]:
    run = build_shared_plan(windows).run(window, report)
    sums: dict[Any, Any] = {}
    for number in range(run.first, run.end):
        for signature, key, total, count in table.get(number, []):
            if signature[bit] == "1":
                group = key if GROUPED_TREE["groups"][bit] else ""
                before = sums.get(group, (0, 0))
                sums[group] = before[0] + total, before[1] + count
    return [(group, *values) for group, values in sorted(sums.items())]


def test_published_omegas() -> None:
    rate, windows = Fraction(1, 2), frozenset({Window(32, 2), Window(16, 4), Window(2, 2)})  # 16, 8 and 1 partials
    shown = {name: float(forms[Form.PUBLISHED](rate, windows)) for name, forms in OMEGAS.items()}
    assert shown == pytest.approx(
        {
            "Panes": 16 + 4 + 1,
            "FlatFAT": 3 + 15 / 16 + 2 + 7 / 8,  # and nothing for one partial
            "FlatFIT": 9,
            "SlickDeque (Inv)": 3,  # its text says twice that, its plots do not
            "SlickDeque (Non-Inv)": 2 - 2 / 16 + 3 + 1.718281828,
        }
    )


TECHNIQUES = {
    "Panes": (whole_sum(), 0.05),
    "FlatFAT": (whole_sum(), 0.05),
    "FlatFIT": (whole_sum(), 0.05),
    "SlickDeque (Inv)": (whole_sum(), 1e-9),
    "SlickDeque (Non-Inv)": (MAX, 0.05),
}


@pytest.mark.parametrize("name", TECHNIQUES)
def test_predicted_operations_are_those_that_techniques_count(name: str) -> None:
    operation, error_max = TECHNIQUES[name]
    draw, errors = random.Random(91), []
    for _ in range(25):
        slides = draw.choices([1, 2, 3, 4, 6, 12], k=draw.randint(1, 8))
        windows = frozenset(Window(slide * draw.randint(2, 12), slide) for slide in slides)
        plan = build_shared_plan(sorted(windows))
        predicted = float(OMEGAS[name][Form.EXACT](Fraction(len(plan.edges), plan.period), windows))
        counted = _counted(technique_named(name)(operation, plan.counts), plan, draw)
        errors.append(abs(predicted - counted) / counted)
    assert mean(errors) < error_max, errors


def _counted(technique: Technique, plan: SharedPlan, draw: random.Random) -> float:
    """Operations per edge; of the monotone deque also the comparisons of its walk to the answers."""
    edges = [turn * plan.period + edge for turn in range(60) for edge in plan.edges]
    compared = 0
    for place, at in enumerate(edges):
        if place == len(edges) // 4:
            technique.calls, compared = 0, 0
        technique.insert(draw.randrange(10**6))
        counts = {plan.count(window, at) for window in plan.due(at)}
        technique.query_many(counts)
        if isinstance(technique, SlickDequeNonInv) and counts:
            passed = [number for number, _ in technique.nodes if number <= technique.newest - min(counts)]
            compared += len(counts) + len(passed)
    return (technique.calls + compared) / (len(edges) - len(edges) // 4)


ESTIMATE = Estimate({"tcp": 0.6, "large": 0.1, "night": 0.3}, {"src": 2000, "dst": 500, "port": 60, "country": 30})
# Of no machine: with these, trees differ enough in cost for planners to differ.
CONSTANTS = Constants(300, 0, 4e6, 40, 6, 300, 5, 0, 120)


def random_requests(draw: random.Random, size: int) -> Workload:
    requests = []
    for at in range(size):
        slide = draw.choice([300, 600, 900, 1800, 3600])
        columns = frozenset(column for column in sorted(ESTIMATE.distinct) if draw.random() < 0.3)
        where = draw.choice(["", "", "tcp", "large", "night"])
        requests.append(
            Request(str(at), Window(slide * draw.randint(1, 24), slide, draw.choice([0, 0, 60])), where, columns)
        )
    return Workload(tuple(requests), Fraction(draw.choice([50, 500, 5000])))


def test_settling_is_within_a_percent_of_the_optimum() -> None:
    """Exact by construction up to 12; here its search is compared, on 11 and 12 queries that differ in kind."""
    draw = random.Random(92)
    for _ in range(6):
        loom = Loom(random_requests(draw, draw.randint(9, 11)), measured_model(ESTIMATE, CONSTANTS))
        best = planner_named("Optimum").plan(loom, chance()).cost
        found = min(loom.cost_of(trees) for trees in searched(loom))
        assert best <= planner_named("Settle").plan(loom, chance()).cost <= best * 1.01
        assert best <= found * (1 + 1e-12)
        assert found <= best * 1.01


def test_settling_beats_weaving_by_the_measured_cost() -> None:
    draw, ratios = random.Random(93), []
    for _ in range(6):
        loom = Loom(random_requests(draw, 60), measured_model(ESTIMATE, CONSTANTS))
        names = ("Weave Share", "TriWeave", "Insert-then-Weave", "Shared", "No Share")
        costs = {name: float(planner_named(name).plan(loom, chance()).cost) for name in names}
        settled = float(planner_named("Settle").plan(loom, chance()).cost)
        assert settled <= min(costs.values()) * (1 + 1e-12), costs
        assert settled < costs["TriWeave"]
        ratios.append(costs["Weave Share"] / settled)
    assert mean(ratios) > 1.001, ratios


def test_estimates_are_near_samples() -> None:
    draw = random.Random(94)
    rows = [
        SampleRow(at, frozenset({"tcp"} if draw.random() < 0.6 else ()), {"src": draw.randrange(20)})
        for at in range(4000)
    ]
    estimate, sample = Estimate({"tcp": 0.6}, {"src": 20}), Sample(rows, 4000)
    fragments = Fragments(frozenset({(25, 0)}), Fraction(25))
    for predicates in (frozenset({"tcp"}), frozenset({"tcp", ""}), frozenset({""})):
        kept = Detail(predicates, frozenset({"src"}))
        assert estimate.share(predicates) == pytest.approx(float(sample.share(predicates)), rel=0.03)
        for asked in (None, *predicates):
            exact = float(sample.entries(kept, asked, fragments))
            assert estimate.entries(kept, asked, fragments) == pytest.approx(exact, rel=0.03)


def test_windows_of_any_model_plan_alike_twice() -> None:
    windows = random_windows(random.Random(95), 20)
    plans = [planner_named("Settle").plan(Loom(numbered(windows, 3)), chance()) for _ in range(2)]
    assert plans[0] == plans[1]
