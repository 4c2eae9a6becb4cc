"""The laws that every operation declares: who declares too much is found out here."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tests.support.models.query_operations import CASES, CONCATENATION, Case
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import AlgebraClass, Column, Operation
from tidewheel.queries.operations import chosen, divisors, extremes, lists, logic
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.operations.wide import load_wide, store_wide

SEED = 20261119


@pytest.fixture(params=CASES, ids=lambda case: f"{case.name}-{case.draw.__name__}")
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def sample(case: Case, count: int = 12) -> list[Any]:
    chance = random.Random(SEED)
    lifted = [accumulator for accumulator in case.accumulators(chance, count) if accumulator is not None]
    folded = [case.operation.fold(case.accumulators(chance, 3)) for _ in range(count // 2)]
    return lifted + [accumulator for accumulator in folded if accumulator is not None]


def test_combine_is_associative(case: Case) -> None:
    join = case.operation.join
    for x, y, z in product(sample(case), repeat=3):
        assert case.same(join(join(x, y), z), join(x, join(y, z))), (x, y, z)


def test_the_identity_changes_nothing(case: Case) -> None:
    identity = case.operation.identity
    for x in sample(case):
        assert case.operation.join(identity, x) == x == case.operation.join(x, identity)


def test_commutative_says_what_is(case: Case) -> None:
    join = case.operation.join
    asymmetric = [pair for pair in product(sample(case, 30), repeat=2) if join(*pair) != join(*reversed(pair))]
    assert bool(asymmetric) != case.operation.commutative, asymmetric[:1]


def test_a_selection_returns_one_of_its_operands(case: Case) -> None:
    both = [(case.operation.join(x, y), x, y) for x, y in product(sample(case, 30), repeat=2)]
    if case.operation.selection:
        assert all(chosen_one is x or chosen_one is y for chosen_one, x, y in both)
    else:
        assert any(joined not in (x, y) for joined, x, y in both)


def test_idempotent_says_what_is(case: Case) -> None:
    changed = [x for x in sample(case, 30) if case.operation.join(x, x) != x]
    assert bool(changed) != case.operation.idempotent, changed[:1]


def test_the_oldest_can_be_taken_away(case: Case) -> None:
    evict = case.operation.evict_oldest
    if evict is None:
        assert case.operation.algebra_class in (AlgebraClass.SEL, AlgebraClass.GEN)
        return
    assert case.operation.algebra_class is AlgebraClass.INV
    for x, y in product(sample(case), repeat=2):
        assert evict(case.operation.combine(x, y), x) == y, (x, y)


def test_what_is_stored_is_loaded_again(case: Case) -> None:
    for x in sample(case):
        stored = case.operation.store(x)
        assert len(stored) == len(case.operation.columns)
        assert case.operation.load(stored) == x


def test_classes_are_those_of_the_literature() -> None:
    named = {operation.name: operation.algebra_class.value for operation in (case.operation for case in CASES)}
    assert {name for name, found in named.items() if found == "SEL"} == {
        "max", "min", "arg_max", "arg_min", "arg_max_by_arrival", "first", "last", "first_by_arrival",
        "last_by_arrival", "bool_and", "bool_or",
    }  # fmt: skip
    assert {name for name, found in named.items() if found == "GEN"} == {
        "bit_and", "bit_or", "gcd", "first_n(3)", "last_n(3)", "distinct(1000000)", "matrix_product", "product",
    }  # fmt: skip


def test_an_inverse_takes_the_older_side_away() -> None:
    """With the other side, a window over a non-commutative operation would lose its newest part."""
    assert CONCATENATION.evict_oldest is not None
    assert CONCATENATION.evict_oldest(("a", "b", "c"), ("a",)) == ("b", "c")


@pytest.mark.parametrize("operation", [divisors.GCD, logic.BIT_OR, logic.BIT_AND], ids=lambda op: op.name)
def test_not_invertible_does_not_mean_selection(operation: Operation) -> None:
    assert operation.combine(12, 18) not in (12, 18)


def test_ties_are_broken_the_same_way_everywhere() -> None:
    older, newer = (5, 1, "a"), (5, 2, "b")
    for operation in (chosen.ARG_MAX, chosen.ARG_MIN):
        assert operation.combine(older, newer) is newer is operation.combine(newer, older)
    assert chosen.ARG_MIN.combine((5, 1, "a"), (4, 0, "b")) == (4, 0, "b")
    assert extremes.MAX.combine(5, 5) == 5


def test_an_inverse_needs_an_identity() -> None:
    with pytest.raises(InvalidInput, match="give it an identity"):
        Operation("half", abs, max, (Column("x", "T0"),), evict_oldest=min)


def test_the_same_operation_is_the_same_value() -> None:
    """Aggregates share accumulators by comparing operations."""
    assert whole_sum(2) == whole_sum(2) != whole_sum(3)
    assert lists.last_n(3).operations == lists.last_n(3).operations


def test_wide_numbers_are_stored_in_one_way_and_loaded_in_any() -> None:
    chance = random.Random(SEED)
    for _ in range(200):
        number = chance.randint(-1, 1) * chance.getrandbits(chance.randint(1, 4000))
        entries = store_wide(number, -68)
        assert load_wide(entries, -68) == number
        split = [(bucket, part) for bucket, units in entries for part in (units - 5, 5)]
        assert load_wide(chance.sample(split, len(split)), -68) == number
        assert all(0 < abs(units) < 10**38 and bucket % 3 == -68 % 3 for bucket, units in entries)
