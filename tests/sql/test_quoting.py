"""Whatever people call things, it stays one name or one value."""

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier, quote_list, quote_literal
from tidewheel.sql.engine.templates import render

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
NASTY = (
    "'",
    '"',
    "''",
    "'; DROP TABLE x; --",
    "\\'",
    "$$",
    "{columns}",
    "%s",
    "\n--",
    "/*",
    "é\u0301",
    "\U0001f600",
    "$1",
    "?",
)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(":memory:") as connection:
        yield connection


@given(TEXT)
@example("")
def test_a_value_comes_back_as_it_was(connection, text):
    assert connection.execute(f"SELECT {quote_literal(text)}").fetchall() == [(text,)]


@given(TEXT.filter(bool))
def test_a_name_comes_back_as_it_was(connection, name):
    connection.execute(f"SELECT 1 AS {quote_identifier(name)}")
    assert [column[0] for column in connection.description] == [name]
    connection.fetchall()


@pytest.mark.parametrize("text", NASTY)
def test_known_attacks_stay_text(connection, text):
    name, value = quote_identifier(text), quote_literal(text)
    sql = f"SELECT {name} FROM (SELECT {value} AS {name}) WHERE {name} = {value} AND {name} IN {quote_list([text])}"
    assert connection.execute(sql).fetchall() == [(text,)]


@given(st.lists(TEXT, max_size=5))
def test_a_list_comes_back_as_it_was(connection, values):
    assert connection.execute(f"SELECT {quote_list(values)}::VARCHAR[]").fetchall() == [(values,)]


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63), True, False, None])
def test_plain_values(connection, value):
    assert connection.execute(f"SELECT {quote_literal(value)}").fetchall() == [(value,)]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_sql_cannot_carry_is_refused(text):
    for quote in (quote_identifier, quote_literal):
        with pytest.raises(InvalidInput):
            quote(text)


def test_an_empty_name_is_refused():
    with pytest.raises(InvalidInput):
        quote_identifier("")


def test_a_placeholder_inside_a_value_is_not_filled():
    sql = render("scan", columns=quote_identifier("{where}"), where=quote_literal("{columns}"))
    assert '"{where}"' in sql
    assert "'{columns}'" in sql


def test_comments_do_not_reach_the_statement():
    assert "--" not in render("scan", columns=join(", ", [Sql("a")]), where=Sql("true"))


def test_the_statements_are_files_of_the_package():
    with pytest.raises(FileNotFoundError):
        render("no_such_statement")
