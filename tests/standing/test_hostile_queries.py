"""Odd expressions in every clause of a query file: each is refused with its fault, or answered; nothing ends in 70."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import asked_archive
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.local.standing.compile import understood
from tidewheel.queries.standing.query import QueryText
from tidewheel.queries.standing.query_file import read_query_file

EXPRESSIONS = (
    "()", "null", "v", "k", "x", "t", "*", "''", "[]", "{}", "map{}", "{'a': ()}", "[()]", "(1, 2)", "(v, k)", "(())",
    "x'00'", "'a'::variant", "v::bit", 'k as ""', 'k as "a b"', "sum(v)", "count(*)", "count(())", "max(())", "[v]",
    "first(null)", "max(null)", "list(v)", "max([v])", "max({'a': v})", "collect_distinct([v], 10)", "interval 1 day",
    "1e400", "v::hugeint", "v::uhugeint", "v * v", "1 / 0", "k[1:2]", "case when true then v end", "'x'::json", "-v",
    "v::decimal(38, 10)", "try(v)", "union_value(a := v)", "v::enum('a')", "k collate nocase", "k collate nope",
    "t at time zone 'x'", "v::time_ns", "make_timestamp_ns(v)", "x::float", "'a'::uuid", "approx_quantile(v, 2)",
    "kll_quantile(v, -1)", "first_n(v, 99999999999999999999)", "concatenate(k, 0)", "last_n(v, 1.5)", "avg(t)",
    "geometric_mean(k)", "sum(interval 1 day)", "arg_max(v)", "arg_max(v, k, x)", "count(v, k)", "sum(distinct v)",
    "sum(v order by k)", "first(v) filter (where sum(v) > 1)", "stddev()", "grouping(v)", "lambda x: x", "y -> y",
    '"call 0"', "records.v", "main.records.v", "v.a", "(v).a", "?", "$a", "@v", "#1", "date '2020-99-99'",
    "median(v)", "'a' || null", "t + interval 1 month", "histogram(v)", "v::nope", "v::int[3]", "struct_pack()",
    "row()", "() is null", "v::geometry", "x::decimal(4, 2)", "k::blob", "t::time", "t::timetz", "t::timestamp_s",
    "[v]::int[1]", "error(k)", "v / 2 / 3", "x > 'nan'", "substring(k, -5, 99999999999)", "repeat(k, 3)", "chr(0)",
    "k || chr(0)", "'\\ud800'", "9" * 60, "((((((((v))))))))", "v --", "v /*", "v;", "v)", "(v", "'", '"',
    "k AS z AS y", "a" * 300,
)  # fmt: skip
CLAUSES = (
    ("group_by", "{}"), ("group_by", "{} as z"), ("select", "{}"), ("select", "{} as z, count(*) as n"),
    ("where", "{}"), ("where", "({}) is null"), ("having", "{}"), ("having", "({}) is null"), ("order_by", "{}"),
    ("select", "max({}) as z"), ("select", "count({}) as z, collect_distinct({}, 10) as y"),
    ("select", "first({}) as z"), ("select", "count(*) filter (where {}) as z"), ("select", "arg_max({}, v) as z"),
    ("select", "last_n({}, 2) as z"),
)  # fmt: skip
LIFE = {"of": "m", "select": "count(*) as n", "window": "2m", "slide": "1m", "revise": "5m", "keep": "1h"}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    return asked_archive(tmp_path)


def cases(seed: int, share: float) -> list[str]:
    """Query files with one odd clause each."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    return [
        query(f"q{number}", clause, form.replace("{}", one))
        for number, (one, (clause, form)) in enumerate((one, two) for one in EXPRESSIONS for two in CLAUSES)
        if chance.random() < share
    ]


def query(name: str, clause: str, text: str) -> str:
    values: dict[str, Any] = {"name": name, **LIFE, clause: [text] if clause == "group_by" else text}
    values |= {"limit": 2} if clause == "order_by" else {}
    return "[[query]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def texts(files: Sequence[str]) -> list[QueryText]:
    return [text for number, file in enumerate(files) for text in read_query_file(file, f"{number}.toml")]


def understood_of(archive: LocalArchive, files: Sequence[str]) -> list[str]:
    """The files without faults. An error of the program raises."""
    snapshot = archive.job.snapshot()
    found = understood(texts(files), snapshot, "t")
    good = {one.name for one in found.queries}
    assert all(fault.wrong and fault.remedy for fault in found.faults)
    assert len(good | found.at_fault) == len(files)
    return [file for file in files if texts([file])[0].name in good]


def test_odd_clauses_are_refused_or_understood(archive: LocalArchive) -> None:
    for empty in ("() as z", "{} as z", "struct_pack() as z"):
        assert understood_of(archive, [query("z", "group_by", empty)]) == []
    seed = random.randrange(10**6)
    files = cases(seed, 0.08)
    good = understood_of(archive, files)
    assert 0 < len(good) < len(files)


@pytest.mark.nightly
def test_odd_clauses_that_are_understood_are_answered(archive: LocalArchive) -> None:
    """The refresh answers, or says whose records cannot be folded; one archive of partials meets them all."""
    good = understood_of(archive, cases(0, 1))
    assert len(good) > 100
    queries = archive.folder / "archives" / "queries" / "m.toml"
    for start in range(0, len(good), 25):
        queries.write_text("\n".join(good[start : start + 25]))
        done = CliRunner().invoke(main, ["refresh", "m"])
        assert done.exit_code in (0, 2), done.output
        for file in good[start : start + 25]:
            name = texts([file])[0].name
            asked = CliRunner().invoke(main, ["ask", "m", name, "--json"])
            assert asked.exit_code in (0, 2), (file, asked.output)
