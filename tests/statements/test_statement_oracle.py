"""The judge of plans, against answers that the literature gives tick by tick."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.models.planning import vectors
from tidewheel.queries.statements.history import History, Update, history
from tidewheel.queries.statements.oracle import Oracle, Row
from tidewheel.queries.statements.plan import (
    Distinct,
    Join,
    Negation,
    Operator,
    Project,
    Relation,
    RelationJoin,
    TimeWindow,
    window,
)


def _link(name: str, length: int = 6, internal: bool = False) -> TimeWindow:
    return window(name, length, "k", "id", internal=internal)


L1, L2, L3 = (_link(name) for name in ("L1", "L2", "L3"))
BY_L1_L2, BY_L1_L3 = (("L1.k", "L2.k"),), (("L1.k", "L3.k"),)
NRR, REL = Relation("N", ("k",)), Relation("N", ("k",), retroactive=True)
PLANS: dict[str, Operator] = {
    "Q1": Join(L1, L2, BY_L1_L2),
    "Q2": Distinct(L1, ("L1.k",)),
    "Q3": Negation(L1, L2, BY_L1_L2),
    "Q3bag": Project(Negation(L1, L2, BY_L1_L2, bag=True), ("L1.k",)),
    "Q4": Negation(Join(L1, L3, BY_L1_L3), L2, BY_L1_L2),
    "Q4 below": Join(Negation(L1, L2, BY_L1_L2), L3, BY_L1_L3),
    "Q1 internal": Join(_link("L1", internal=True), _link("L2", internal=True), BY_L1_L2),
    "Q1 internal right": Join(L1, _link("L2", internal=True), BY_L1_L2),
    "NRR": RelationJoin(_link("S", 10), NRR, (("S.k", "N.k"),)),
    "REL": RelationJoin(_link("S", 10), REL, (("S.k", "N.k"),)),
    "Q3bag10": Negation(_link("L1", 10), _link("L2", 10), BY_L1_L2, bag=True),
    "Q3 10": Negation(_link("L1", 10), _link("L2", 10), BY_L1_L2),
}


def _history(vector: dict[str, Any]) -> History:
    streams = {
        name: [(ts, (*values, word)) for word, (ts, values) in tuples.items()]
        for name, tuples in vector["streams"].items()
    }
    updates = [Update("N", at, (key,), leaves) for key, at, leaves in vector.get("updates", [])]
    return history(streams, updates)


def _word(plan: Operator, row: Row) -> str:
    """Return a row by the names of its tuples; where the plan keeps none, by its value."""
    named = dict(zip(plan.columns, row.values, strict=True))
    return "".join(str(value) for column, value in named.items() if column.endswith(".id")) or str(row.values[0])


@pytest.mark.parametrize("vector", vectors("statement_answers.json"))
def test_answers_of_the_literature(vector: dict[str, Any]) -> None:
    plan = PLANS[vector["plan"]]
    oracle = Oracle(plan, _history(vector))
    answers = (oracle.internal_answers if vector.get("internal") else oracle.answers)(vector["until"])
    expected: list[str] = []
    for tick, rows in enumerate(answers):
        expected = vector["answers"].get(str(tick), expected)
        assert sorted(_word(plan, row) for row in rows) == sorted(expected), tick
    for word, life in vector.get("lives", {}).items():
        [row] = {row for rows in answers for row in rows if _word(plan, row) == word}
        assert [row.ts, row.exp] == life
