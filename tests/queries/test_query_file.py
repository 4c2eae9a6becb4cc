"""Query files: all faults at once with their lines; SQL taken apart by DuckDB's parser; what cannot be asked."""

from __future__ import annotations

import pytest

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Fault
from tidewheel.queries.standing.query import Call, Counts, Named, Query, QueryText
from tidewheel.queries.standing.query_file import misfits, parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query

COLUMNS = {
    "src": "VARCHAR",
    "bytes": "BIGINT",
    "protocol": "VARCHAR",
    "at": "TIMESTAMPTZ",
    "x": "DOUBLE",
    "price": "DECIMAL(10,2)",
    "ok": "BOOLEAN",
}
MINUTE_US = 60_000_000
GOOD = """
[query]
of = "netflow"
select = "sum(bytes)/count(*) as mean, count(*) filter (where x > 1) as big, arg_max(src, bytes) as who, sum(bytes)"
where = "protocol = 'tcp'"
group_by = ["src", "lower(protocol) as p"]
having = "mean > 1 and sum(price) > 3"
order_by = "mean desc, count(x)"
limit = 10
window = "6h"
slide = "5m"
"""


def one(text: str, name: str = "archives/queries/top.toml") -> QueryText:
    (text_of,) = parse_query_file(text, name)
    return text_of


def read(text: str) -> tuple[Query | None, list[Fault]]:
    return read_query(SelectParser(COLUMNS), one(text))


def query(select: str, more: str = "") -> str:
    return f'[query]\nof = "netflow"\nselect = """{select}"""\nwindow = "1h"\n{more}'


def test_a_good_file_is_taken_apart() -> None:
    text = one(GOOD)
    assert (text.name, text.of, text.limit) == ("top", "netflow", 10)
    assert (text.terms.window_us, text.terms.slide_us) == (360 * MINUTE_US, 5 * MINUTE_US)
    assert text.terms.counts is Counts.ARRIVED
    found, faults = read(GOOD)
    assert faults == []
    assert found is not None
    assert found.calls == (
        Call("sum", ("bytes",), ("BIGINT",)),
        Call("count_rows"),
        Call("count", ("CASE WHEN (x > 1) THEN 1 END",), ("INTEGER",)),
        Call("arg_max", ("src", "bytes"), ("VARCHAR", "BIGINT")),
        Call("sum", ("price",), ("DECIMAL(10,2)",)),
        Call("count", ("x",), ("DOUBLE",)),
    )
    assert found.outputs == (
        Named("mean", '("call 0" / "call 1")', "DOUBLE"),
        Named("big", '"call 2"', "BIGINT"),
        Named("who", '"call 3"', "VARCHAR"),
        Named("sum_bytes", '"call 0"', "DECIMAL(38,0)"),
    )
    assert found.groups == (Named("src", "src", "VARCHAR"), Named("p", "lower(protocol)", "VARCHAR"))
    assert found.having == '((mean > 1) AND ("call 4" > 3))'
    assert found.order_by == 'mean DESC NULLS LAST, "call 5" ASC NULLS LAST'
    assert Query.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("select", "wrong"),
    [
        ("median(x)", "operation 'median' is holistic"),
        ("sum(random())", "random gives another result on each call"),
        ("count(*) as n, now() as t", "now gives another result on each call"),
        ("sum(nope)", 'column "nope" not found'),
        ("src", "no aggregate"),
        ("sum(x) + bytes", 'column "bytes" not found'),
        ("sum(sum(x))", "sum of an aggregate"),
        ("count(distinct src)", "count(distinct ...)"),
        ("count_distinct(src)", "count_distinct without a limit"),
        ("count_distinct(src, bytes)", "count_distinct with the limit bytes"),
        ("max(x) over ()", "a window function"),
        ("sum((select 1))", "a subquery"),
        ("1; drop table x", "the query cannot be run"),
        ("sum(bytes) from live", "not expressions alone"),
        ("sum(src)", "sum of a text, date or time"),
        ("bool_and(bytes)", "bool_and of a whole number"),
        ("entropy(x)", "unknown aggregate 'entropy'"),
        ("arg_max(src)", "arg_max with 1 arguments"),
        ("sum(x order by price)", "an order inside sum"),
        ("count(*) as a, sum(x) as A", "two columns named a"),
        ("count(*) as n, *", "a star"),
        ("sum(?)", "a parameter"),
        ("sum(", "the query cannot be run"),
    ],
)
def test_what_cannot_be_selected_says_why(select: str, wrong: str) -> None:
    _, faults = read(query(select))
    assert len(faults) == 1, faults
    assert wrong in faults[0].wrong
    assert faults[0].line == 3
    assert faults[0].remedy


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ('where = "sum(x) > 1"', "an aggregate"),
        ('where = "bytes + 1"', "a BIGINT, not a condition"),
        ('where = "nope = 1"', 'column "nope" not found'),
        ('group_by = ["lower(src)"]', "lower(src) has no name"),
        ('group_by = ["src", "SRC"]', "two columns named src"),
        ('group_by = ["count(*) as n"]', "holds an aggregate"),
        ('having = "bytes > 1"', 'column "bytes" not found'),
        ('having = "n"', "not a condition"),
        ('order_by = "nope"\nlimit = 1', 'column "nope" not found'),
        ('order_by = "n; drop table x"\nlimit = 1', "the query cannot be run"),
        ('order_by = "n limit 1"\nlimit = 1', "not an order"),
    ],
)
def test_other_sql_is_judged_as_well(more: str, wrong: str) -> None:
    _, faults = read(query("count(*) as n", more))
    assert len(faults) == 1, faults
    assert wrong in faults[0].wrong
    assert faults[0].line == 5


def test_all_faults_of_a_file_come_at_once() -> None:
    text = """
[[query]]
of = "netflow"
select = "count(*)"
window = "live"
counts = "arrived"
limt = 3
[[query]]
name = "x"
of = "netflow"
window = 3
keep = "1d"
order_by = "n"
"""
    with pytest.raises(InvalidInput) as refused:
        parse_query_file(text, "two.toml")
    assert [(fault.line, fault.place.split(" = ")[0]) for fault in refused.value.values["faults"]] == [
        (2, "[query] name"),
        (6, "[query] counts"),
        (7, "[query] limt"),
        (8, "[query] select"),
        (11, "[query] window"),
        (12, "[query] keep"),
        (13, "[query] order_by"),
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "no query"),
        ("[archive]\nname = 'x'", "unknown section archive"),
        ("query = 3", "not a section"),
        (query("count(*)") + "\n" + "offset = '2h'\nslide = '1h'", "not below the slide"),
        ("[[query]]\nname='a'\nof='n'\nselect='count(*)'\nwindow='1h'\n" * 2, "two queries are named a"),
        (query("count(*)", "window = '500d'").replace('window = "1h"\n', ""), "longer than"),
    ],
)
def test_a_file_that_makes_no_sense(text: str, wrong: str) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        parse_query_file(text, "q.toml")


def test_terms_must_fit_the_slots_of_the_archive() -> None:
    axis = TimeAxis(60 * MINUTE_US, 0)

    def wrong(more: str) -> list[str]:
        return [one_misfit.wrong for one_misfit in misfits(one(query("count(*)", more)).terms, axis)]

    assert wrong("slide = '2h'") == []
    assert "inside which insertion tells no time" in wrong("slide = '5m'")[0]
    assert wrong("slide = '5m'\ntime = 'at'") == []
    assert "known at ends of slots" in wrong("slide = '90m'\ncounts = 'live'\ntime = 'at'")[0]
    assert wrong("slide = '3h'\noffset = '1h'\ncounts = 'live'") == []
