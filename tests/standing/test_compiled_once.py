"""A query text is compiled once: the next command takes it from the answers' definition, by its content."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.asked_archive import QUERIES, asked_archive, copied_archive
from tidewheel.cli import main
from tidewheel.local.standing import compile
from tidewheel.local.standing.stored_queries import kept_queries, with_queries
from tidewheel.queries.standing.query import QueryText
from tidewheel.query_files import QueryFiles
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    asked_archive(folder)
    tidewheel.open(folder / "archives" / "m.toml").queries.refresh()
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The query file of a copy."""
    copied_archive(built, tmp_path, monkeypatch)
    return tmp_path / "archives" / "queries" / "m.toml"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the queries that are compiled from now on."""
    names: list[str] = []

    def told(parser: SelectParser, text: QueryText) -> object:
        names.append(text.name)
        return read_query(parser, text)

    monkeypatch.setattr(compile, "read_query", told)
    return names


def run(*words: str) -> str:
    done = CliRunner().invoke(main, list(words), env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


COMMANDS = (
    ("refresh", "m"), ("query", "list", "m"), ("query", "check", "m"), ("query", "explain", "m", "total"),
    ("ask", "m", "total"), ("status", "m"), ("query", "show", "m", "total"),
)  # fmt: skip


def test_no_command_compiles_what_was_answered(place: Path, compiled: list[str]) -> None:
    for command in COMMANDS:
        run(*command)
    assert compiled == []


def test_only_a_text_that_changed_is_compiled(place: Path, compiled: list[str]) -> None:
    place.write_text("# a comment\n" + place.read_text().replace("max(v)", "min(v)"))
    run("refresh", "m")
    run("refresh", "m")
    assert compiled == ["by_key"]
    place.write_text("# another comment\n" + place.read_text())
    assert "nothing is stale" in run("refresh", "m")
    assert compiled == ["by_key"]


def test_a_digest_tells_queries_archives_and_programs_apart(place: Path) -> None:
    (text, other, _) = tidewheel.open("m").queries.texts()
    assert len({text.digest("a"), other.digest("a"), text.digest("b")}) == 3
    files = QueryFiles.read(place.parent.parent)
    assert files.digest("a") != files.digest("b")
    place.rename(place.with_name("n.toml"))  # a query may be called as its file
    assert QueryFiles.read(place.parent.parent).digest("a") != files.digest("a")
    place.with_name("gone.toml").symlink_to("nowhere")
    assert QueryFiles.read(place.parent.parent).digest("a") == ""


def test_another_column_compiles_anew(place: Path) -> None:
    """A name may mean something else then."""
    snapshot = tidewheel.open("m").snapshot()
    queries = kept_queries(tidewheel.open("m.answers").snapshot().definition.derived)
    texts = tidewheel.open("m").queries.texts()
    assert {query.text for query in queries.queries}.isdisjoint({text.digest("") for text in texts})
    assert all(query.text for query in queries.queries)
    assert compile.basis_of(snapshot) != compile.basis_of(tidewheel.open("m.answers").snapshot())


def test_queries_without_digests_stay_without(place: Path) -> None:
    from dataclasses import replace
    from json import dumps

    queries = tidewheel.open("m").queries.check()
    half = [replace(query, text="") if query.name == "total" else query for query in queries]
    kept = kept_queries(dumps(with_queries({}, half)))
    assert [query.text for query in kept.queries] == [query.text for query in half]
    assert kept.files == ""
    assert kept.by_text().keys() == {query.text for query in half if query.text}


def test_ask_goes_by_what_was_answered_and_says_so(place: Path) -> None:
    place.write_text(QUERIES.replace("sum(v) as total", "sum(v * 2) as total"))
    told = run("ask", "m", "total")
    assert "query files say something else of total than when it was answered last" in told
    assert "tidewheel refresh m" in told
    assert '"total": "45"' in run("ask", "m", "total", "--json")
    assert "something else" not in run("ask", "m", "by_key")
    run("refresh", "m")
    assert "something else" not in run("ask", "m", "total")


def test_ask_works_by_the_path_of_a_table(place: Path) -> None:
    table = str(place.parent.parent.parent / "table")
    assert '"total": "45"' in run("ask", table, "total", "--json")
    place.unlink()
    assert '"total": "45"' in run("ask", table, "total", "--json")
    assert "say something else of total" in run("ask", "m", "total")
