"""Query texts of the literature become plans, or are refused; what they become gives the literature's answers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.support.models.planning import pages
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.history import Arrival, History
from tidewheel.queries.statements.legality import Illegal
from tidewheel.queries.statements.oracle import Oracle
from tidewheel.queries.statements.plan import CountWindow, TimeWindow, windows
from tidewheel.queries.statements.plan_text import plan_text
from tidewheel.queries.statements.statement import Output
from tidewheel.queries.statements.texts.aurora import read_boxes
from tidewheel.queries.statements.texts.cougar import read_cougar
from tidewheel.queries.statements.texts.cql import read_cql
from tidewheel.queries.statements.texts.gsql import read_merge
from tidewheel.queries.statements.texts.streaquel import read_loop

SCHEMAS: dict[str, Any] = {"S": ["a", "k"], "T": ["b", "k"], "U": ["k"], "N": ["k", "name"], "R": ["k", "name"]}


def titles(text: str) -> list[str]:
    """Return the operators of the plan of a text, without their classes."""
    lines = plan_text(read_cql(text, SCHEMAS).statement.plan).splitlines()
    return [re.sub(r"  (MON|WKS|WK|STR).*", "", line).lstrip("├└│ ") for line in lines]


JOIN = "FROM S [RANGE 1 minute{0}], T [RANGE 1 minute{0}] WHERE S.k = T.k"


def test_the_thesis_examples() -> None:
    last = read_cql(f"SELECT Wstream(*) [ROWS 10] {JOIN.format('')}", SCHEMAS).statement
    assert (last.output, last.rows) == (Output.WSTREAM, 10)
    assert [(one.length, one.internal) for one in windows(last.plan) if isinstance(one, TimeWindow)] == [(60, True)] * 2
    restored = read_cql(f"SELECT Rstream-restore(*) {JOIN.format(' SLIDE 10 sec')}", SCHEMAS).statement
    assert (restored.output, restored.restore, restored.slides) == (Output.RSTREAM, True, (10,))
    nested = read_cql("SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM S[RANGE 6 sec SLIDE 6 sec]", SCHEMAS)
    assert (nested.outer, nested.statement.rows, nested.statement.slides) == ("sum", 10, (6,))
    assert nested.statement.plan.title == "group by (): sum(S.a)"
    with pytest.raises(Illegal, match="Wstream cannot be combined with restore"):
        read_cql("SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM S[RANGE 6 sec EXTERNAL SLIDE 6 sec]", SCHEMAS)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("SELECT DISTINCT k FROM S [ROWS 5] x", ["δ x.k", "count window 5", "stream S as x"]),
        ("SELECT a FROM S [PARTITION BY k ROWS 2] WHERE a > 3 AND k <> 'z'",
         ["π S.a", "σ S.a > 3 and S.k <> 'z'", "count window 2 per S.k", "stream S"]),
        ("SELECT * FROM S [NOW]", ["window 1", "stream S"]),
        ("SELECT * FROM S [UNBOUNDED] WHERE a < -2", ["σ S.a < -2", "stream S"]),
        ("SELECT k, COUNT(*), MAX(a) FROM S [RANGE 2 hours] GROUP BY k",
         ["group by S.k: count(), max(S.a)", "window 7200", "stream S"]),
        ("SELECT * FROM S [RANGE 5], U [RANGE 6], T [RANGE 7] WHERE S.k = T.k AND U.k = T.k AND S.a < T.b",
         ["σ S.a < T.b", "⋈ T.k = U.k", "⋈ S.k = T.k", "window 5", "stream S", "window 7", "stream T", "window 6",
          "stream U"]),
        ("SELECT Istream(*) FROM S [RANGE 5], NRR(N) WHERE S.k = N.k",
         ["⋈NRR N on S.k = N.k", "window 5", "stream S"]),
        ("SELECT Dstream(*) FROM S [RANGE 5], REL(R) WHERE R.k = S.k", ["⋈R R on S.k = R.k", "window 5", "stream S"]),
        ("SELECT * FROM S [RANGE 5] WHERE a = 1 AND NOT EXISTS (SELECT * FROM T [RANGE 6] WHERE T.k = S.k AND T.b > 2)",
         ["▷ NOT EXISTS S.k = T.k", "σ S.a = 1", "window 5", "stream S", "σ T.b > 2", "window 6", "stream T"]),
        ("SELECT k FROM S [RANGE 5] EXCEPT ALL SELECT k FROM T [RANGE 6];",
         ["− EXCEPT ALL S.k = T.k", "π S.k", "window 5", "stream S", "π T.k", "window 6", "stream T"]),
        ("SELECT k FROM S [RANGE 5] UNION ALL SELECT k FROM U [RANGE 5]",
         ["∪", "π S.k", "window 5", "stream S", "window 5", "stream U"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_texts_become_plans(text: str, plan: list[str]) -> None:
    assert titles(text) == plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM S [RANGE 5], T [RANGE 5]", "a join without an equality"),
        ("SELECT * FROM S [RANGE 5], T [RANGE 5] WHERE k = 1", "several columns are named k"),
        ("SELECT z FROM S [RANGE 5]", "no column is named z"),
        ("SELECT * FROM X [RANGE 5]", "no stream or relation is named X"),
        ("SELECT * FROM NRR(N)", "a query text without a stream"),
        ("SELECT a, COUNT(*) FROM S [RANGE 5] GROUP BY k", "S.a beside aggregates"),
        ("SELECT * FROM S [RANGE 5] WHERE NOT EXISTS (SELECT * FROM T [RANGE 5] WHERE b = 1)", "NOT EXISTS without an"),
        ("SELECT * FROM S [RANGE 5] EXCEPT ALL SELECT k FROM U [RANGE 5]", "EXCEPT ALL of 2 and 1 columns"),
        ("SELECT * FROM S [RANGE x]", "has 'x' where a number is expected, at character 24"),
        ("SELECT * FROM S [RANGE 5", "has the end where ] is expected"),
        ("SELECT * FROM S [RANGE 5] WHERE a", "has the end where a comparison is expected"),
        ("SELECT * FROM S [RANGE 5] LIMIT 3", "has '3' where the end is expected"),
        ("SELECT * FROM S ~", "'~' in a query text"),
        ("SELECT DISTINCT k FROM S [RANGE 5 INTERNAL]", "INTERNAL window not allowed"),
        ("SELECT Wstream-restore(*) [ROWS 3] FROM S [RANGE 5]", "Wstream cannot be combined with restore"),
        (
            "SELECT * FROM S [RANGE 5 SLIDE 2], T [RANGE 5 SLIDE 3] WHERE S.k = T.k",
            "SLIDE differs between windows (2 vs 3)",
        ),
        ("SELECT * FROM S, T WHERE S.k = T.k", "Unbounded stream S in join/negation without window"),
        ("SELECT * FROM S [RANGE 5], NRR(N)", "relation N without an equality"),
    ],
)
def test_texts_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        read_cql(text, SCHEMAS)


def test_a_text_gives_the_literatures_answers() -> None:
    page = pages("update_patterns/tv01_four_queries.json")
    schemas = {name: ["name", "value"] for name in page["streams"]}
    arrivals = sorted(
        (
            Arrival(link, ts, (name, value))
            for link, rows in page["streams"].items()
            for name, (ts, value) in rows.items()
        ),
        key=lambda one: one.ts,
    )
    text = """SELECT L1.name FROM L1 [RANGE 6], L3 [RANGE 6] WHERE L1.value = L3.value
              AND NOT EXISTS (SELECT * FROM L2 [RANGE 6] WHERE L2.value = L1.value)"""
    answers = Oracle(read_cql(text, schemas).statement.plan, History(tuple(arrivals))).answers(15)
    for at, *_, rows in page["vectors"][0]["rows"]:
        assert Counter(row.values[0] for row in answers[at]) == Counter(name[:2] for name in rows)


# The others.


def test_a_merge_of_streams() -> None:
    found = read_merge("MERGE x.ts : y.ts : U.ts FROM S x, T y, U", {**SCHEMAS, "U": ["b", "k"]})
    assert plan_text(found.statement.plan).count("stream") == 3
    with pytest.raises(InvalidInput, match=r"a merge by x\.ts, y\.k"):
        read_merge("MERGE x.ts : y.k FROM S x, T y", SCHEMAS)
    with pytest.raises(InvalidInput, match="no stream is named Z"):
        read_merge("MERGE Z.ts : S.ts FROM Z, S", SCHEMAS)


def test_a_sensors_query_every_so_often() -> None:
    schemas = {"R": ["floor", "getTemp"]}
    for where in ("R.floor = 3 AND $every(60)", "$every(60) AND R.floor = 3"):
        plan = read_cougar(f"SELECT AVG(R.s.getTemp()) FROM R WHERE {where};", schemas).statement
        assert (plan.slides, plan_text(plan.plan).splitlines()[1][2:16]) == ((60,), "σ R.floor = 3 ")
    plain = read_cougar("SELECT MAX(R.s.getTemp()) FROM R WHERE $every(5) GROUP BY R.floor", schemas).statement
    assert plain.plan.title == "group by R.floor: max(R.getTemp)"
    with pytest.raises(InvalidInput, match=r"0 times \$every"):
        read_cougar("SELECT * FROM R", schemas)


@pytest.mark.parametrize(
    ("loop", "kind", "length", "first"),
    [
        ("for (t = ST; t < ST + 50; t++) { WindowIs(S, t - 4, t); }", "sliding", 5, [(96, 100), (97, 101)]),
        ("for (t = ST + 9; t < ST + 50; t += 10) { WindowIs(S, t - 9, t) }", "sliding", 10, [(100, 109), (110, 119)]),
        ("for (t = ST; t > ST - 3; t--) { WindowIs(S, t - 4, t); }", "sliding backward", 5, [(96, 100), (95, 99)]),
        ("for (t = ST; ; t++) { WindowIs(S, ST, t); }", "landmark", None, [(100, 100), (100, 101)]),
        ("for (t = ST; t < ST + 1; t++) { WindowIs(S, ST - 8, ST); }", "fixed", None, [(92, 100)]),
        (
            "for (t = ST; t > ST - 9; t -= 3) { WindowIs(S, t, ST); }",
            "landmark, backward",
            None,
            [(100, 100), (97, 100)],
        ),
        (
            "for (t = ST; t < ST + 9; t += 3) { WindowIs(S, t, 20); }",
            "shrinking",
            None,
            [(100, 120), (103, 120)],
        ),
        ("for (t = ST; t > ST - 9; t--) { WindowIs(S, 0, t + 9); }", "shrinking", None, [(100, 109), (100, 108)]),
    ],
)
def test_loops_over_windows(loop: str, kind: str, length: int | None, first: list[tuple[int, int]]) -> None:
    found = read_loop(loop)
    assert (found.kind, found.range) == (kind, length)
    assert list(found.windows(100, 1))[: len(first)] == first
    assert found.runs is None or len(list(found.windows(100, 0))) == found.runs


def test_a_loop_that_is_none() -> None:
    with pytest.raises(InvalidInput, match=r"'\*' where t\+\+ is expected"):
        read_loop("for (t = ST; t < ST + 5; t * 2) { WindowIs(S, t, t); }")


def test_boxes() -> None:
    text = "Aggregate(sum(a), Size 10, Advance 5, By k)(Filter(a > 3 AND k = 'x')(BSort(Slack 2)(S)))"
    found = read_boxes(text, SCHEMAS)
    assert (found.slack, found.statement.slides) == ({"S": 2}, (5,))
    assert found.statement.plan.title == "group by S.k: sum(S.a)"
    joined = read_boxes("Map(a, b)(Join(S.k = T.k, Size 10)(S, T))", SCHEMAS)
    assert [one.length for one in windows(joined.statement.plan) if isinstance(one, TimeWindow)] == [11, 11]
    assert joined.statement.plan.columns == ("S.a", "T.b")
    union = read_boxes("Union()(Map(k)(S), Map(k)(T))", SCHEMAS).statement.plan
    assert (union.title, any(isinstance(one, CountWindow) for one in windows(union))) == ("∪", False)
    assert read_boxes("Aggregate(count(*), Size 4)(S)", SCHEMAS).statement.slides == (4,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Resample(Size 3)(S, T)", "box Resample is not read as a plan"),
        ("Connection()(S)", "box Connection is not read as a plan"),
        ("Split()(S)", "boxes are filter, map, union"),
        ("BSort(Slack 2)(Map(a)(S))", "BSort over a box"),
        ("Join(S.a < T.b, Size 3)(S, T)", "a join by S.a < T.b"),
        ("Filter(a > 1)(X)", "no stream is named X"),
        ("Aggregate(median(a), Size 3)(S)", "where an aggregate is expected"),
    ],
)
def test_boxes_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        read_boxes(text, SCHEMAS)
