"""A query with faults is its own affair: other files, queries and archives go on, and it stays what it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.asked_archive import asked_archive, events
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.sql.statements.select_parser import Refused, SelectParser


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    return asked_archive(tmp_path)


def write(archive: LocalArchive, name: str, text: str) -> Path:
    path = archive.folder / "archives" / "queries" / f"{name}.toml"
    path.write_text(text)
    return path


def query(select: str, name: str = "", of: str = "m", more: str = "") -> str:
    named = f'name = "{name}"\n' if name else ""
    life = 'slide = "1m"\nrevise = "5m"\nkeep = "1h"\n'
    return f'[[query]]\n{named}of = "{of}"\nselect = "{select}"\nwindow = "1m"\n{life}{more}'


def run(*words: str) -> Any:
    done = CliRunner().invoke(main, list(words), env={"COLUMNS": "400"})
    return done.exit_code, " ".join(done.output.split())


def test_every_fault_of_a_query_is_told_at_once(archive: LocalArchive) -> None:
    write(archive, "bad", query("sum(nothing) as s", more='where = "v >"\ngroup_by = ["srcip"]\nfoo = 1\nlate = "x"\n'))
    code, told = run("query", "check", "m")
    assert code == 2
    assert "bad.toml has 5 faults" in told
    for line, wrong in ((3, "nothing"), (8, "syntax error"), (9, "srcip"), (10, "unknown key foo"), (11, "a duration")):
        assert f"bad.toml:{line} [query]" in told
        assert wrong in told


ANOTHER = query("count(*) as n", of="other", more="x = 1\n")


@pytest.mark.parametrize("text", ["[query", query("sum(nothing) as s"), ANOTHER])
def test_other_queries_are_answered(archive: LocalArchive, text: str) -> None:
    write(archive, "bad", text)
    mine = text != ANOTHER
    code, told = run("refresh", "m")
    assert (code, "answers at version 1" in told, "bad.toml" in told) == (2 if mine else 0, True, mine)
    code, told = run("ask", "m", "total", "--json")
    assert code == 0
    assert '"total": "45"' in told
    assert ("tidewheel query check m" in told) == mine
    assert run("query", "list", "m")[0] == run("query", "explain", "m", "by_key")[0] == 0
    with pytest.raises(InvalidInput, match=r"bad\.toml"):
        tidewheel.open("m").queries.check()


@pytest.mark.parametrize("broken", ["[[query", None])
def test_a_query_that_was_broken_stays_what_it_was(archive: LocalArchive, broken: str | None) -> None:
    path = archive.folder / "archives" / "queries" / "m.toml"
    good = path.read_text()
    assert run("refresh", "m")[0] == 0
    path.write_text(broken or good.replace("max(v)", "max(nothing)"))
    archive.update({6: events(6)})
    code, told = run("refresh", "m")
    assert code == 2
    assert "m.toml" in told
    assert "answers by_key 1970-01-01T00:06Z missing" in told
    code, told = run("ask", "m", "by_key", "--json")
    assert code == 0
    assert '"most": 7' in told
    path.write_text(good)
    assert run("refresh", "m") == (0, "nothing is stale")


@pytest.mark.parametrize(
    ("whole", "slipped"),
    [
        (None, ""),
        (None, "# mended soon\n"),
        ("[[query]]", "[[qeury]]"),
        ('name = "total"', 'nam = "total"'),
        ('name = "total"', "name = 5"),
        ('name = "total"\nof = "m"', 'name = "total"\nof = "mm"'),
    ],
)
def test_a_slip_in_what_a_query_is_called_or_asks_loses_no_answer(
    archive: LocalArchive, whole: str | None, slipped: str
) -> None:
    path = archive.folder / "archives" / "queries" / "m.toml"
    good = path.read_text()
    assert run("refresh", "m")[0] == 0
    path.write_text(good.replace(whole, slipped) if whole else slipped)
    code, told = run("refresh", "m")
    assert code == 2
    assert "m.toml" in told
    assert '"total": "45"' in run("ask", "m", "total", "--json")[1]
    assert "total" in run("query", "list", "m")[1]
    path.write_text(good)
    assert run("refresh", "m") == (0, "nothing is stale")


def test_two_queries_of_one_name_are_both_at_fault_and_nothing_is_lost(archive: LocalArchive) -> None:
    assert run("refresh", "m")[0] == 0
    path = write(archive, "second", query("min(v) as least", name="total"))
    code, told = run("refresh", "m")
    assert code == 2
    assert told.count("two queries are named total") == 2
    assert "second.toml:2" in told
    assert "m.toml:2" in told
    assert '"total": "45"' in run("ask", "m", "total", "--json")[1]
    path.unlink()
    assert run("refresh", "m") == (0, "nothing is stale")


@pytest.mark.parametrize("shared", [False, True])
def test_records_that_cannot_be_folded_keep_no_other_query_from_its_answers(
    archive: LocalArchive, shared: bool
) -> None:
    """Who shares a tree with a query whose records cannot be folded does so no longer."""
    groups = "" if shared else 'group_by = ["r"]\n'
    write(archive, "over", query("sum(v * 4000000000000000000) as s", more=groups))
    for again in (False, True):
        code, told = run("refresh", "m")
        assert code == 2
        assert "cannot be folded for over: Out of Range Error: Overflow" in told
        assert "Their answers stay as they were" in told
        assert ("answers at version" in told, "nothing else is stale" in told) == (not again, again)
        assert '"total": "45"' in run("ask", "m", "total", "--json")[1]
        assert run("query", "list", "m")[0] == 0
    write(archive, "over", query("sum(v) as s", more=groups))
    assert run("refresh", "m")[0] == 0


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (query("count(*) as n", of="m.answers"), 'no query stands on them; ask the archive, "m"'),
        (query("count(*) as n", of="nobody"), "there is no archive file of that name; the archives here are m"),
        (query("max(v) as rows"), "a column named rows, as every answer has one; give it another name with AS"),
        (query('count(*) as \\"Call 0\\"'), "a column named call 0, as every answer has one"),
        (query("count(*) as n", more='group_by = ["k as window_end"]\n'), "a column named window_end, as every"),
        (query("median(v) as n"), "operation 'median' is holistic"),
        (query("count(*) as n").replace('window = "1m"', 'window = "500d"'), "the longest window is 400d"),
        (query("count(*) as n").replace('slide = "1m"', 'slide = "7s"\ncounts = "live"'), "1m long; give a multiple"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_the_way_out(archive: LocalArchive, text: str, wrong: str) -> None:
    write(archive, "bad", text)
    code, told = run("query", "check", "m")
    assert code == 2
    assert wrong in told


def test_division_by_zero_and_nan_are_what_the_records_say(archive: LocalArchive) -> None:
    """Of floating point both are values: NaN inputs are passed over. A remainder by zero is an error of its query."""
    write(archive, "odd", query("sum(x / 0) as s, sum(x) as t, count(x) as n, count(*) / 0 as d"))
    assert run("refresh", "m")[0] == 0
    (row,) = json.loads(run("ask", "m", "odd", "--json")[1])["answers"]
    assert (row["n"], row["complete"]) == (2, 1.0)
    write(archive, "odd", query("sum(v % 0) as s"))
    code, told = run("refresh", "m")
    assert code == 2
    assert "Division by zero" in told


def test_what_is_done_about_several_queries_is_said_once() -> None:
    failed = tuple(InvalidInput(f"query {name} cannot be answered", "mend its select") for name in "ab")
    wrong = Refreshed((), (), failed=failed).wrong
    assert wrong is not None
    assert (wrong.remedy, wrong.message.count("cannot be answered")) == ("mend its select", 2)


def test_a_column_that_is_a_word_of_sql_is_told_to_stand_in_quotes() -> None:
    parser = SelectParser({"at": "TIMESTAMPTZ", "order": "BIGINT", "k": "VARCHAR"})
    with pytest.raises(Refused) as refused:
        parser.expressions("select", "max(at), sum(order)")
    assert refused.value.remedy.endswith('stands in double quotes: "at", "order"')
    with pytest.raises(Refused) as refused:
        parser.expressions("select", 'max("at"), sum(k')
    assert "as DuckDB would take it" in refused.value.remedy
    assert len(parser.expressions("select", 'max("at"), sum("order")')) == 2
