"""The update patterns' test vectors TV1-TV12: every engine that may carry a plan out gives the literature's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.queries.literature.patterns.approach import Approach, Way, approach_named
from tidewheel.queries.literature.patterns.chunks import Chunks
from tidewheel.queries.literature.patterns.engine import Engine, played
from tidewheel.queries.literature.patterns.operators.bag_difference import Policy
from tidewheel.queries.literature.patterns.reports import output_window, report
from tidewheel.queries.literature.patterns.view import Life
from tidewheel.queries.literature.state.records import FOREVER, Record
from tidewheel.queries.literature.synopses.values import SUM
from tidewheel.queries.statements.history import Arrival, Update
from tidewheel.queries.statements.labels import Pattern, output_label
from tidewheel.queries.statements.legality import Illegal
from tidewheel.queries.statements.plan import (
    CountWindow,
    Distinct,
    Fold,
    GroupBy,
    Join,
    Negation,
    Operator,
    Relation,
    RelationJoin,
    Stream,
    TimeWindow,
)
from tidewheel.queries.statements.statement import Output

FOLDER = "update_patterns"
FOUR = pages(f"{FOLDER}/tv01_four_queries.json")
NAMES = (
    "NT", "NT(10 chains)", "DIRECT", "UPA(10)", "UPA(50, unsorted)", "UPA(3, sorted)", "UPA(10, negative)"
)  # fmt: skip
APPROACHES: list[Approach] = [*map(approach_named, NAMES), replace(approach_named("UPA(10)"), directory=False)]


def engines(plan: Operator, **options: Any) -> list[Engine]:
    """Return an engine of every approach that may carry the plan out."""
    found = []
    for approach in APPROACHES:
        try:
            found.append(Engine(plan, approach, **options))
        except Illegal:
            assert approach.way is Way.DIRECT
    return found


def window(name: str, length: int, *fields: str, internal: bool = False) -> TimeWindow:
    return TimeWindow(Stream(name, fields), length, internal)


# TV1, TV2, TV4, TV6: Q1 to Q4 over the same three streams.


def arrivals_of_four() -> list[Arrival]:
    found = [
        Arrival(stream, ts, (name, value))
        for stream, tuples in FOUR["streams"].items()
        for name, (ts, value) in tuples.items()
    ]
    return sorted(found, key=lambda one: one.ts)


def link(number: int, *, internal: bool = False) -> TimeWindow:
    return window(f"L{number}", FOUR["window"], "name", "value", internal=internal)


def on_value(left: int, right: int) -> tuple[tuple[str, str]]:
    return ((f"L{left}.value", f"L{right}.value"),)


def q1(*internal: str) -> Operator:
    return Join(link(1, internal="L1" in internal), link(2, internal="L2" in internal), on_value(1, 2))


def q3(*, bag: bool = False) -> Operator:
    return Negation(link(1), link(2), on_value(1, 2), bag)


Q4_UP = Negation(Join(link(1), link(3), on_value(1, 3)), link(2), on_value(1, 2))
Q4_JOIN_UP = Join(q3(), link(3), on_value(1, 3))
PLANS: list[tuple[int, Operator]] = [
    (1, q1()), (2, Distinct(link(1), ("L1.value",))), (2, Distinct(link(1), ("L1.value",), counters=True)),
    (3, q3()), (5, Q4_UP), (5, Q4_JOIN_UP),
]  # fmt: skip


def names(rows: Iterable[Record], columns: tuple[str, ...]) -> list[str]:
    """Return each row as its tuples' names one after the other, or its value."""
    places = [place for place, column in enumerate(columns) if column.endswith(".name")] or [0]
    return sorted("".join(row.values[place] for place in places) for row in rows)


@pytest.mark.parametrize(("column", "plan"), PLANS, ids=lambda value: getattr(value, "title", value))
def test_four_queries(column: int, plan: Operator) -> None:
    (vector,) = FOUR["vectors"]
    for engine in engines(plan):
        answers = played(engine, arrivals_of_four(), (), 15)
        assert [names(answers[row[0]], plan.columns) for row in vector["rows"]] == [
            row[column] for row in vector["rows"]
        ]


def test_bag_difference_of_the_third_query() -> None:
    (vector,) = FOUR["vectors"]
    for policy in Policy:
        for found in engines(q3(bag=True)):
            engine = Engine(found.plan, replace(found.approach, policy=policy))
            answers = played(engine, arrivals_of_four(), (), 15)
            for at, *_, counts, _ in vector["rows"]:
                held = Counter(row.values[1] for row in answers[at])
                assert [held["x"], held["y"]] == counts


def lives_of_q1() -> Iterable[list[Life]]:
    for engine in engines(q1(), logs=True):
        played(engine, arrivals_of_four(), (), 20)
        yield engine.view.lives


def called(record: Record) -> str:
    return "".join(record.values[0::2])


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv02_min_exp.json"))
def test_a_composite_ends_with_its_first_part(vector: dict[str, Any]) -> None:
    for lives in lives_of_q1():
        assert [[called(one.record), one.record.ts, one.record.exp] for one in lives] == vector["rows"]


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv04_periodic.json"))
def test_periodic_runs_and_output_windows(vector: dict[str, Any]) -> None:
    for lives in lives_of_q1():
        for run in vector["runs"]:
            now, before = run["at"], run["at"] - 4
            for output in (Output.RSTREAM, Output.ISTREAM, Output.DSTREAM):
                plain = report(lives, before, now, output)
                assert sorted(called(one.record) for one in plain) == run[output]
                if output is not Output.DSTREAM:
                    restored = report(lives, before, now, output, restore=True)
                    assert sorted(called(one.record) for one in restored) == run[f"{output}-restore"]
                    assert [called(one.record) for one in restored if one.restored] == run["short"]
        for at, rows in vector["rows_2"].items():
            assert [called(one) for one in output_window(lives, int(at), rows=2)] == rows
        for length, at, rows in vector["range"]:
            assert [called(one) for one in output_window(lives, at, length=length)] == rows
        (answer,) = [[called(life.record) for life in lives if life.record.is_live(9)]]
        assert answer == vector["answer_at_9"]


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv06_one_external_window.json"))
def test_internal_windows_keep_what_was_produced(vector: dict[str, Any]) -> None:
    plan = q1(*vector["internal"])
    assert output_label(plan).pattern is (Pattern.WK if len(vector["internal"]) == 1 else Pattern.MON)
    for engine in engines(plan, internal=True):
        answers = played(engine, arrivals_of_four(), (), 30)
        for name, born, end in vector["rows"]:
            shown = [now for now, rows in enumerate(answers) if name in names(rows, plan.columns)]
            assert shown == list(range(born, 31 if end is None else end))


# TV5, TV7, TV8.


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv05_aggregates.json"))
def test_four_semantics_of_aggregation(vector: dict[str, Any]) -> None:
    stream = Stream("S", ("a",))
    below = stream if vector["rows"] is None else CountWindow(stream, vector["rows"])
    plan = GroupBy(below, (), (Fold("sum", "S.a"),))
    arrivals = [
        Arrival("S", at, (a,)) for at, a in enumerate(pages(f"{FOLDER}/tv05_aggregates.json")["values"], start=1)
    ]
    for engine in engines(plan, logs=True):
        answers = played(engine, arrivals, (), len(arrivals))
        assert [row.values[0] for rows in answers[1:] for row in rows] == vector["sums"]  # external: the last one
        log = [life.record.values[0] for life in engine.view.lives if life.record.ts > 0 and life.end > life.record.ts]
        assert log == vector["sums"]  # internal: all of them


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv07_chunks.json"))
def test_chunked_sums(vector: dict[str, Any]) -> None:
    chunks, seen, found = Chunks(SUM, vector["length"], vector["slide"]), [], []
    coming = dict(vector["values"])
    for now in range(1, 37):
        if now in coming:
            chunks.add(coming[now])
        if now % vector["slide"] == 0:
            seen.append(chunks.buffer)
            found.append([now, chunks.slide()])
    assert (seen, found) == (vector["chunks"], vector["answers"])


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv08_relations.json"))
def test_relations_that_are_retroactive_or_not(vector: dict[str, Any]) -> None:
    page = pages(f"{FOLDER}/tv08_relations.json")
    relation = Relation("R", ("name",), vector["retroactive"])
    plan = RelationJoin(window("S", page["window"], "name"), relation, (("S.name", "R.name"),))
    arrivals = [Arrival("S", ts, (name,)) for ts, name in page["stream"]]
    updates = [Update("R", at, (name,), sign < 0) for at, name, sign in page["table"]]
    for engine in engines(plan):
        answers = played(engine, arrivals, updates, 11)
        stream = {(0, number): ts for number, (ts, _) in enumerate(page["stream"], start=1)}
        for at, rows in vector["answers"]:
            assert [f"{row.values[0]}@{stream[row.id[:2]]}" for row in answers[at]] == rows


def test_a_key_of_an_nrr_does_not_come_back() -> None:
    plan = RelationJoin(window("S", 5, "k"), Relation("N", ("k",)), (("S.k", "N.k"),))
    engine = Engine(plan, approach_named("UPA(10)"))
    engine.tick(1, (), [Update("N", 1, (7,)), Update("N", 1, (8,))])
    engine.tick(2, (), [Update("N", 2, (7,), True)])
    with pytest.raises(
        Illegal, match=r"Key 7 was deleted from NRR N at 2 and re-inserted at 3; keys may not be re-used\."
    ):
        engine.tick(3, (), [Update("N", 3, (7,))])


# TV12: an aggregate over a join, under negative tuples.


@pytest.mark.parametrize("vector", vectors(f"{FOLDER}/tv12_clocks.json"))
def test_an_aggregate_over_a_join(vector: dict[str, Any]) -> None:
    page = pages(f"{FOLDER}/tv12_clocks.json")
    join = Join(window("A", 6, "k", "v"), window("B", 6, "k"), (("A.k", "B.k"),))
    arrivals = [Arrival("A", ts, (k, v)) for ts, k, v in page["left"]]
    arrivals = sorted([*arrivals, *(Arrival("B", ts, (k,)) for ts, k in page["right"])], key=lambda one: one.ts)
    for engine in engines(GroupBy(join, (), (Fold("max", "A.v"),))):
        answers = played(engine, arrivals, (), 11)
        assert [[row.values[0] for row in answers[at]] for at, _, _ in vector["events"]] == [
            [value] for _, _, value in vector["events"]
        ]
    for engine in engines(join, logs=True):
        played(engine, arrivals, (), 11)
        for at, changes, _ in vector["events"]:
            born = [f"+a{one.record.id[1]}b{one.record.id[3]}" for one in engine.view.lives if one.record.ts == at]
            gone = [f"-a{one.record.id[1]}b{one.record.id[3]}" for one in engine.view.lives if one.end == at]
            assert sorted(born + gone) == sorted(changes)
    assert all(one.exp < FOREVER for one in engine.view)
