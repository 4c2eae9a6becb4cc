"""Duplicate elimination and negation by themselves, tick by tick: TV10 and TV11."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.queries.literature.patterns.operators.anti_join import AntiJoin
from tidewheel.queries.literature.patterns.operators.bag_difference import BagDifference, Policy
from tidewheel.queries.literature.patterns.operators.counted_distinct import CountedDistinct
from tidewheel.queries.literature.patterns.operators.delta_star import DeltaStar
from tidewheel.queries.literature.patterns.operators.naive_distinct import NaiveDistinct
from tidewheel.queries.literature.patterns.operators.operator import Edge, Working
from tidewheel.queries.literature.state.calendar_queue import CalendarQueue
from tidewheel.queries.literature.state.fifo import Fifo
from tidewheel.queries.literature.state.records import Record, Steps

FOLDER = "update_patterns"


def events(operator: Working, coming: dict[int, list[tuple[int, Record]]], until: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    for now in range(until + 1):
        found += [[now, one] for one in operator.expire(now)]
        for side, record in coming.get(now, ()):
            found += [[now, one] for one in operator.add(side, record, now)]
    return found


def _values(record: Record) -> tuple[Any, ...]:
    return record.values


DISTINCT: dict[str, Callable[[Steps], Working]] = {
    "delta*": lambda steps: DeltaStar(steps, CalendarQueue(steps, 4, 40, "heap"), _values, Edge.NEGATIVE),
    "naive": lambda steps: NaiveDistinct(
        steps, CalendarQueue(steps, 4, 40), CalendarQueue(steps, 4, 40), _values, Edge.NEGATIVE, in_order=False
    ),
    "counters": lambda steps: CountedDistinct(steps, CalendarQueue(steps, 4, 40), _values),
}


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv10_delta_star.json"))
def test_duplicate_elimination(vector: dict[str, Any]) -> None:
    tuples = pages(f"{FOLDER}/tv10_delta_star.json")[vector["tuples"]]
    coming = {ts: [(0, Record((name,), (value,), ts, exp))] for name, value, ts, exp in tuples}
    for way in vector["by"]:
        found = events(DISTINCT[way](Steps()), coming, 40)
        told = [[now, "+-"[one.sign < 0] + (one.values if way == "counters" else one.id)[0]] for now, one in found]
        assert told == vector["events"]


def test_delta_star_stores_at_most_two_records_a_value() -> None:
    operator = DISTINCT["delta*"](Steps())
    for now in range(1, 200):
        operator.expire(now)
        operator.add(0, Record((now,), (now % 7,), now, now + 1 + now * 13 % 40), now)
        assert operator.results is not None
        assert operator.size <= 2 * len(operator.results)
    with pytest.raises(AssertionError, match="negative tuple"):
        operator.remove(0, Record((1,), (1,), 1), 200)


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv11_negation.json"))
def test_negation_by_policy(vector: dict[str, Any]) -> None:
    page = pages(f"{FOLDER}/tv11_negation.json")
    steps = Steps()
    stores, keys = (Fifo(steps), Fifo(steps)), (_values, _values)
    operator = (
        AntiJoin(steps, stores, keys, (Edge.EXP, Edge.NEGATIVE))
        if vector["way"] == "anti-join"
        else BagDifference(steps, stores, keys, Edge.NEGATIVE, Policy(vector["way"]))
    )
    coming: dict[int, list[tuple[int, Record]]] = {}
    for side, name in enumerate(("left", "right")):
        for ts in page[name]:
            coming.setdefault(ts, []).append((side, Record((ts,), ("a",), ts, ts + page["window"])))
    told = [
        f"{'+' if one.sign > 0 else 'x' if one.exp <= now else '-'}{one.id[0]}@{now}"
        for now, one in events(operator, coming, 20)
    ]
    assert told == vector["events"]
