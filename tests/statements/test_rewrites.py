"""Rewrites give plans with the same answers at every tick; those that would not are not offered."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest

from tests.support.models.statement_plans import Builder, built, random_history, random_notation
from tidewheel.queries.literature.patterns.generated_streams import query_plan
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.history import History, Update, history
from tidewheel.queries.statements.labels import Pattern, label
from tidewheel.queries.statements.legality import faults
from tidewheel.queries.statements.oracle import Oracle, contents
from tidewheel.queries.statements.plan import (
    Distinct,
    Fold,
    GroupBy,
    Join,
    Negation,
    Operator,
    Project,
    Relation,
    RelationJoin,
    Select,
    TimeWindow,
    Union,
    operators,
    window,
)
from tidewheel.queries.statements.rewrites.search import RULES, closure, edge_counts, rewrites, simplified
from tidewheel.queries.statements.statement import Statement

A, B, C = (window(name, 6, "k", "v") for name in "ABC")
AB, AC = (("A.k", "B.k"),), (("A.k", "C.k"),)


def _answers(plan: Operator, came: History, until: int) -> list[Counter[frozenset[tuple[str, object]]]]:
    return [contents(rows, plan.columns) for rows in Oracle(plan, came).answers(until)]


def _rules(plan: Operator) -> set[str]:
    return {one.rule for one in rewrites(plan)}


def _wrapped(chance: Random, plan: Operator) -> Operator:
    """Return the plan with operators above it that rules move: a selection, a projection, δ, an unchanging NRR."""
    for _ in range(chance.randint(1, 3)):
        columns = plan.columns
        some = tuple(chance.sample(columns, chance.randint(1, len(columns))))
        ways: list[Operator] = [
            Select(plan, (Comparison(chance.choice(columns), ">", 0),)),
            Project(plan, some),
            Distinct(plan, chance.choice((some, columns))),
        ]
        if not any(isinstance(one, RelationJoin) for one in operators(plan)):
            is_retroactive = chance.random() < 0.3
            relation = Relation("U", ("id", "name"), is_retroactive, changes=is_retroactive)
            ways.append(RelationJoin(plan, relation, ((columns[0], "U.id"),)))
        plan = chance.choice(ways)
    return plan


def _check(seeds: range, steps: int) -> Counter[str]:
    """Walk random rewrites of random plans; return how often each rule was applied."""
    applied: Counter[str] = Counter()
    for seed in seeds:
        chance = Random(seed)
        first = _wrapped(chance, Builder().plan(random_notation(chance, 2, "WWWWCS")))
        if any(faults(Statement(first))):
            continue
        plan, came = first, random_history(chance, first, 10)
        for _ in range(steps):
            options = sorted(rewrites(plan), key=repr)
            if not options:
                break
            rare = min(applied[one.rule] for one in options)
            chosen = chance.choice([one for one in options if applied[one.rule] == rare])
            applied[chosen.rule] += 1
            plan = chosen.plan
        assert _answers(plan, came, 16) == _answers(first, came, 16), (seed, plan)
    return applied


def test_random_rewrites_keep_every_answer() -> None:
    applied = _check(range(120), steps=5)
    assert set(applied) == {name for name, _ in RULES}, applied


@pytest.mark.nightly
def test_thousands_of_random_rewrites_keep_every_answer() -> None:
    _check(range(1000, 5000), steps=8)


@pytest.mark.parametrize(
    ("rule", "plan"),
    [
        ("R1", Select(Join(A, B, AB), (Comparison("A.v", ">", 0),))),
        ("R1", Select(A, (Comparison("A.v", ">", 0),))),
        ("R2", Project(Join(A, B, AB), ("A.k",))),
        ("R3", Join(Join(A, B, AB), C, AC)),
        ("R4", Distinct(Join(A, B, AB), ("A.k", "B.k"))),
        ("R4", Distinct(Join(A, B, AB), ("A.k", "A.v", "B.k", "B.v"))),
        ("R5", Join(Negation(A, C, AC), B, AB)),
        ("R6", Distinct(Negation(A, C, AC), ("A.k",))),
        ("R7", RelationJoin(Select(A, (Comparison("A.v", ">", 0),)), Relation("N", ("id",)), (("A.k", "N.id"),))),
        ("R8", RelationJoin(Join(A, B, AB), Relation("N", ("id",), changes=False), (("A.k", "N.id"),))),
    ],
)
def test_each_rule_applies(rule: str, plan: Operator) -> None:
    assert rule in _rules(plan)


@pytest.mark.parametrize(
    ("rule", "plan"),
    [
        ("R1", Select(built("C5"), (Comparison("A.v", ">", 0),))),
        ("R1", Select(Negation(A, C, AC, bag=True), (Comparison("A.v", ">", 0),))),
        ("R4", Distinct(Join(A, B, AB), ("A.v", "B.v"))),
        ("R5", Join(Negation(A, C, AC, bag=True), B, AB)),
        ("R5", Join(Negation(A, C, AC), B, (("A.v", "B.v"),))),
        ("R6", Distinct(Negation(A, C, AC, bag=True), ("A.k",))),
        ("R6", Distinct(Negation(A, C, AC), ("A.v",))),
        ("R8", RelationJoin(Join(A, B, AB), Relation("N", ("id",)), (("A.k", "N.id"),))),
        ("R7", Select(RelationJoin(A, Relation("N", ("id",)), (("A.k", "N.id"),)), (Comparison("N.id", ">", 0),))),
    ],
)
def test_each_condition_holds_a_rule_back(rule: str, plan: Operator) -> None:
    assert rule not in _rules(plan)


def test_a_group_by_stays_at_its_root() -> None:
    """R9."""
    plan = GroupBy(Select(Join(A, B, AB), (Comparison("A.v", ">", 0),)), ("A.k",), (Fold("count"),))
    for one in closure(plan):
        assert isinstance(one, GroupBy)
        assert sum(isinstance(below, GroupBy) for below in operators(one)) == 1


def test_joins_below_a_union_keep_their_columns_places() -> None:
    plan = Union(Join(A, B, AB), Join(window("D", 6, "k", "v"), window("E", 6, "k", "v"), (("D.k", "E.k"),)))
    assert all(one.columns == plan.columns for one in closure(plan))


# The cases for which the conditions are there.


def _counts(*counts: int) -> History:
    """Return rows of one value at tick 1: so many in A, B and C."""
    streams = dict(zip("ABC", counts, strict=True))
    return history({name: [(1, ("x", place)) for place in range(count)] for name, count in streams.items()})


def test_pulling_a_bag_difference_up_is_wrong_in_15_of_64_cases() -> None:
    wrong: Counter[bool] = Counter()
    for counts in product(range(4), repeat=3):
        for bag in (True, False):
            below = Join(Negation(A, C, AC, bag), B, AB)
            above = Negation(Join(A, B, AB), C, AC, bag)
            one, other = (Oracle(plan, _counts(*counts)).answers(1)[1] for plan in (below, above))
            wrong[bag] += len(one) != len(other)
    assert wrong == {True: 15, False: 0}


def test_distinct_of_a_bag_difference_is_no_difference_of_distincts() -> None:
    came = _counts(2, 0, 1)
    outside = Distinct(Negation(A, C, AC, bag=True), ("A.k",))
    inside = Negation(Distinct(A, ("A.k",)), C, AC, bag=True)
    assert [len(Oracle(plan, came).answers(1)[1]) for plan in (outside, inside)] == [1, 0]


def test_a_changing_nrr_is_read_when_the_row_comes() -> None:
    relation = Relation("N", ("id", "name"))
    came = history(
        {"A": [(1, ("a", 0))], "B": [(5, ("a", 0))]},
        [Update("N", 0, ("a", "X")), Update("N", 3, ("a", "X"), leaves=True), Update("N", 3, ("a", "Y"))],
    )
    on = (("A.k", "N.id"),)
    top, pushed = RelationJoin(Join(A, B, AB), relation, on), Join(RelationJoin(A, relation, on), B, AB)
    names = [
        {row.values[plan.columns.index("N.name")] for row in Oracle(plan, came).answers(5)[5]} for plan in (top, pushed)
    ]
    assert names == [{"Y"}, {"X"}]


# What the search prefers.


def test_the_negation_is_pulled_above_the_join() -> None:
    below = Join(Negation(A, C, AC), B, AB)
    found = simplified(below)
    assert isinstance(found, Negation)
    assert (edge_counts(below), edge_counts(found)) == ((2, 0), (1, 1))
    assert below in closure(found)


def test_both_plans_of_query_4_are_in_one_closure() -> None:
    up, down = query_plan("Q4", 9), query_plan("Q4 join up", 9)
    assert up in closure(down)
    assert down in closure(up)
    assert simplified(down) in closure(up)


def test_a_relation_stays_below_a_negation() -> None:
    relation = RelationJoin(Select(A, (Comparison("A.v", ">", 0),)), Relation("N", ("id",)), (("A.k", "N.id"),))
    plan = Negation(relation, C, AC)
    for one in closure(plan):
        for below in operators(one):
            if isinstance(below, RelationJoin):
                assert label(below.input).pattern is not Pattern.STR


def test_a_closure_is_bounded_and_begins_with_the_plan() -> None:
    joins = Join(Join(Join(A, B, AB), C, AC), TimeWindow(window("D", 6, "k").input, 6), (("A.k", "D.k"),))
    found = closure(joins, most=40)
    assert (found[0], len(found), len(set(found))) == (joins, 40, 40)
