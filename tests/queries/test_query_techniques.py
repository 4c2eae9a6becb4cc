"""Which technique is chosen, what is refused in which words; invariants, stored state, late records."""

from __future__ import annotations

import random

import pytest

from tests.support.models.query_operations import CASES, CONCATENATION, MATRIX_PRODUCT
from tests.support.models.query_streams import random_records, random_windows
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.queries.choice import TECHNIQUES, choose, fitting, technique_named
from tidewheel.queries.literature.incremental import Incremental
from tidewheel.queries.operations.divisors import GCD
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.slicing import Slicing
from tidewheel.queries.technique import ANY_CLASS, Technique
from tidewheel.queries.techniques.daba import DABA
from tidewheel.queries.techniques.flat_fit import FlatFIT
from tidewheel.queries.techniques.naive import Naive
from tidewheel.queries.techniques.slick_deque_inv import SlickDequeInv
from tidewheel.queries.techniques.slick_deque_non_inv import SlickDequeNonInv
from tidewheel.queries.windows import Window

SUM = whole_sum()


@pytest.mark.parametrize(
    ("operation", "counts", "bounded", "expected"),
    [
        (SUM, [4], False, "Panes"),
        (GCD, [2, 3, 4], True, "Panes"),
        (SUM, [5], True, "SlickDeque (Inv)"),
        (SUM, [3, 900], False, "SlickDeque (Inv)"),
        (MAX, [5], True, "DABA"),
        (MAX, [5], False, "SlickDeque (Non-Inv)"),
        (MAX, [5, 6], True, "SlickDeque (Non-Inv)"),
        (GCD, [5], False, "FlatFIT"),
        (GCD, [5], True, "DABA"),
        (GCD, [5, 6], False, "FlatFIT"),
        (GCD, [5, 6], True, "FlatFAT"),
    ],
)
def test_the_technique_is_chosen_by_the_algebra(operation, counts, bounded, expected) -> None:
    technique = choose(operation, counts, bounded_latency=bounded)
    assert technique.name == expected
    assert technique in fitting(operation, counts)


def test_every_technique_fits_where_the_literature_says() -> None:
    several, one = ([3, 4], [4])
    names = {
        (operation.name, len(counts)): [technique.name for technique in fitting(operation, counts)]
        for operation in (SUM, MAX, GCD)
        for counts in (one, several)
    }
    assert names == {
        ("sum", 1): ["Panes", "Panes (Inv)", "FlatFAT", "B-Int", "TwoStacks", "DABA", "FlatFIT", "SlickDeque (Inv)"],
        ("sum", 2): ["Panes", "FlatFAT", "B-Int", "FlatFIT", "SlickDeque (Inv)"],
        ("max", 1): ["Panes", "FlatFAT", "B-Int", "TwoStacks", "DABA", "FlatFIT", "SlickDeque (Non-Inv)"],
        ("max", 2): ["Panes", "FlatFAT", "B-Int", "FlatFIT", "SlickDeque (Non-Inv)"],
        ("gcd", 1): ["Panes", "FlatFAT", "B-Int", "TwoStacks", "DABA", "FlatFIT"],
        ("gcd", 2): ["Panes", "FlatFAT", "B-Int", "FlatFIT"],
    }


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_techniques_are_found_by_name(technique: type[Technique]) -> None:
    assert technique_named(technique.name) is technique is technique_named(technique.__name__)


def refusal(make) -> str:
    with pytest.raises(InvalidInput) as refused:
        make()
    return refused.value.message


def test_what_a_technique_would_get_wrong_is_refused() -> None:
    inverse = "needs an operation with an inverse;"
    selection = "technique SlickDeque (Non-Inv) needs a selection-type operation;"
    for name in ("SlickDeque (Inv)", "Panes (Inv)"):
        make = technique_named(name)
        found = refusal(lambda make=make: make(MAX, [5]))
        assert found == f"technique {name} {inverse} 'max' has none (use SlickDeque (Non-Inv))"
        assert refusal(lambda make=make: make(GCD, [5])) == f"technique {name} {inverse} 'gcd' has none (use FlatFIT)"
    assert refusal(lambda: SlickDequeNonInv(GCD, [3])) == f"{selection} 'gcd' is not"
    assert refusal(lambda: SlickDequeNonInv(SUM, [3])) == f"{selection} 'sum' is not"


@pytest.mark.parametrize("name", ["Panes (Inv)", "TwoStacks", "DABA"])
def test_several_ranges_are_refused_where_one_is_answered(name: str) -> None:
    make = technique_named(name)
    text = f"technique {name} answers one range only; this plan needs 3, 4, 5 partials"
    assert refusal(lambda: make(SUM, [4, 3, 5])) == text
    assert "this plan needs 3, 5 partials" in refusal(lambda: make(SUM, [5]).query(3))


def test_ranges_outside_the_window_are_refused() -> None:
    for technique in TECHNIQUES:
        operation = MAX if technique is SlickDequeNonInv else SUM
        made = technique(operation, [5])
        assert refusal(lambda made=made: made.query(6)) == "range of 6 partials exceeds the stored window of 5"
        assert refusal(lambda made=made: made.query_many([6])) == "range of 6 partials exceeds the stored window of 5"
        assert refusal(lambda made=made: made.query(0)) == "range of 0 partials"
        assert "without a count" in refusal(lambda technique=technique, op=operation: technique(op, []))
    assert refusal(lambda: SlickDequeInv(SUM, [5]).query(3)) == "range of 3 partials was not declared"
    assert refusal(lambda: technique_named("FlatFit")) == "unknown technique 'FlatFit'"
    assert "not first-in first-out" in refusal(lambda: choose(MAX, [5], lifetimes=True))


def test_without_the_refusal_the_answers_would_be_wrong() -> None:
    class Forced(SlickDequeNonInv):
        classes = ANY_CLASS

    forced, naive, answers = Forced(GCD, [3]), Naive(GCD, [3]), []
    for partial in (12, 18, 8, 27):
        forced.insert(partial)
        naive.insert(partial)
        answers.append((forced.query(3), naive.query(3)))
    assert answers == [(12, 12), (12, 6), (12, 2), (18, 1)]


def test_a_range_can_be_added_to_running_answers() -> None:
    technique = SlickDequeInv(CONCATENATION, [5])
    for letter in "abcdefg":
        technique.insert((letter,))
    technique.add_count(3)
    technique.insert(("h",))
    assert technique.query_many([3, 5]) == {3: tuple("fgh"), 5: tuple("defgh")}


def test_the_invariants_of_daba_are_looked_at() -> None:
    def damaged(what: str, value) -> DABA:
        technique = DABA(SUM, [4], checked=True)
        for partial in (6, 5, 0, 1, 3):
            technique.insert(partial)
        setattr(technique, what, value)
        return technique

    for what, value, text in [
        ("b", 9, "out of order"),
        ("l", 2, "out of balance"),
        ("folds", [7] * 5, "is not that of"),
    ]:
        with pytest.raises(Damaged, match=text):
            damaged(what, value).check()
        with pytest.raises(Damaged):
            damaged(what, value).insert(1)


def test_the_invariants_of_flat_fit_are_looked_at() -> None:
    def damaged(slots: str, slot: int, value: int) -> FlatFIT:
        technique = FlatFIT(SUM, [5], checked=True)
        for partial in (6, 5, 1, 3, 2, 9):
            technique.insert(partial)
            technique.query(5)
        getattr(technique, slots)[slot] = value
        return technique

    for slots, slot, value, text in [("next", 1, 1, "jumps past"), ("partials", 2, 99, "does not hold the fold")]:
        with pytest.raises(Damaged, match=text):
            damaged(slots, slot, value).check()
        with pytest.raises(Damaged):
            damaged(slots, slot, value).insert(1)


def test_flat_fit_walks_when_a_slide_was_not_asked_about() -> None:
    """The scan counts on single steps, which is so only if every slide had its answer."""
    chance = random.Random(5)
    for _ in range(200):
        n = chance.randint(1, 6)
        technique, naive = FlatFIT(CONCATENATION, [n], checked=True), Naive(CONCATENATION, [n])
        for number in range(30):
            technique.insert((number,))
            naive.insert((number,))
            for _ in range(chance.choice([0, 1, 1, 1, 2])):
                assert technique.query(n) == naive.query(n)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_a_stored_state_carries_on(technique: type[Technique]) -> None:
    """At every record another process takes over; and what is rebuilt from the last partials answers the same."""
    for seed, case in enumerate(CASES):
        chance = random.Random(seed)
        plan = build_shared_plan(random_windows(chance, one_range=seed % 2 == 0), chance.choice(list(Slicing)))
        if case.rounds or technique not in fitting(case.operation, {count for count in plan.counts if count}):
            continue
        records = random_records(chance, case, "dense", 0, 30)
        whole = Incremental(plan, case.operation, 0, technique)
        carried = Incremental(plan, case.operation, 0, technique)
        for at, inputs in records:
            state = carried.state()
            carried.add(at, *inputs)  # what happens to the old one later does not reach the state
            carried = Incremental(plan, case.operation, 0, technique)
            carried.restore(state)
            assert carried.add(at, *inputs) == whole.add(at, *inputs), (seed, case.name)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_a_state_is_rebuilt_from_the_last_partials(technique: type[Technique]) -> None:
    operation = MAX if technique is SlickDequeNonInv else SUM
    counts = [4] if technique.one_count_only else [2, 3, 4]
    running, chance = technique(operation, counts), random.Random(1)
    partials = [chance.randrange(100) for _ in range(40)]
    for number, partial in enumerate(partials, 1):
        running.insert(partial)
        rebuilt = technique(operation, counts)
        for kept in partials[max(0, number - 4) : number]:
            rebuilt.insert(kept)
        assert rebuilt.query_many(counts) == running.query_many(counts)


def test_a_record_of_the_open_fragment_is_not_late() -> None:
    machine = Incremental(build_shared_plan([Window(10, 5)]), SUM, 0)
    assert [(answer.report, answer.accumulator) for answer in machine.add(7, 1)] == [(5, 0)]
    assert machine.add(5, 2) == []
    with pytest.raises(InvalidInput, match=r"tuple at time 4 belongs to a closed fragment \(last edge 5\)"):
        machine.add(4, 1)
    assert [(answer.report, answer.accumulator) for answer in machine.advance(15)] == [(10, 3), (15, 3)]


def test_missed_reports_are_all_given() -> None:
    machine = Incremental(build_shared_plan([Window(4, 2)]), MAX, 0)
    machine.add(1, 8)
    assert [(answer.report, answer.accumulator) for answer in machine.advance(9)] == [
        (2, 8),
        (4, 8),
        (6, None),
        (8, None),
    ]


def test_an_operation_that_is_only_associative_is_served() -> None:
    assert choose(MATRIX_PRODUCT, [9]) is FlatFIT
