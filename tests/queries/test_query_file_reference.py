"""The table of a query file's fields, and what is made from it: the page, and the schema for editors."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator, ValidationError

from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Absent
from tidewheel.queries.aggregates import MAKERS
from tidewheel.queries.standing.query_fields import FIELDS
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.queries.standing.query_reference import query_file_reference
from tidewheel.queries.standing.query_schema import query_file_schema
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query

ROOT = Path(__file__).parent.parent.parent
COLUMNS = {
    "flow_start": "TIMESTAMP WITH TIME ZONE",
    "src_ip": "VARCHAR",
    "protocol": "VARCHAR",
    "plan": "VARCHAR",
    "bytes": "BIGINT",
}
EXAMPLES = re.findall(r"```toml\n(.*?)```", query_file_reference(), re.DOTALL)
FILES = [path.read_text() for path in sorted((ROOT / "archives" / "queries").glob("*.toml"))]


def test_every_field_takes_its_own_example_and_default() -> None:
    for field in FIELDS:
        field.kind.check(field.example)
        if not isinstance(field.default, Absent):
            field.kind.check(field.default)
        # An empty text says nothing: its note says what it means.
        assert (field.default is Absent.DECIDED_BY_RULE) <= bool(field.default_note), field.place
        assert field.kind.schema, field.place


def test_the_reference_page_is_up_to_date() -> None:
    assert (ROOT / "docs/query-file.md").read_text(encoding="utf-8") == query_file_reference(), "make docs"


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_on_the_page_are_good(text: str) -> None:
    parser = SelectParser(COLUMNS)
    for one in parse_query_file(text, "q.toml"):
        query, faults = read_query(parser, one)
        assert query, faults


def test_the_fault_on_the_page_is_a_real_one() -> None:
    (shown,) = re.findall(r"^    q\.toml:5 (.*)$", query_file_reference(), re.MULTILINE)
    with pytest.raises(InvalidInput) as refused:
        parse_query_file('[query]\nof = "n"\nselect = "count(*)"\nwindow = "1h"\nslide = 5\n', "q.toml")
    assert f"q.toml:5 {shown}" in refused.value.message


def test_the_page_names_every_aggregate() -> None:
    page = query_file_reference()
    assert all(f"`{name}(" in page for name in MAKERS if name != "count_rows")


def checked(text: str) -> None:
    Draft7Validator(query_file_schema()).validate(plain(tomllib.loads(text)))


def plain(value: Any) -> Any:
    """As editors see it: moments are strings to a JSON schema."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def test_the_schema_is_a_schema() -> None:
    Draft7Validator.check_schema(query_file_schema())
    shown = CliRunner().invoke(main, ["query", "schema"])
    assert json.loads(shown.stdout) == json.loads(json.dumps(query_file_schema()))


@pytest.mark.parametrize("text", [*EXAMPLES, *FILES])
def test_the_schema_takes_good_files(text: str) -> None:
    checked(text)


@pytest.mark.parametrize(
    "wrong",
    [
        'colour = "red"', "slide = 5", 'slide = "5 parsecs"', "limit = 0", 'counts = "some"', 'group_by = "src"',
        'where = ""', 'name = "Top Talkers"', "test = [{rows = []}]",
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_parser_refuses(wrong: str) -> None:
    text = f'[query]\nof = "n"\nselect = "count(*)"\nwindow = "1h"\n{wrong}\n'
    with pytest.raises(ValidationError):
        checked(text)
    if "test" not in wrong:  # tests are looked at when they are played
        with pytest.raises(InvalidInput):
            parse_query_file(text, "q.toml")


@pytest.mark.parametrize("missing", ["of", "select", "window"])
def test_the_schema_wants_what_is_required(missing: str) -> None:
    given = {"of": '"n"', "select": '"count(*)"', "window": '"live"'}
    lines = "\n".join(f"{key} = {value}" for key, value in given.items() if key != missing)
    with pytest.raises(ValidationError):
        checked(f"[query]\n{lines}\n")
