"""Every technique from a query file, on the queries of demonstration and tutorial: the kernels' answers, or refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import tidewheel
from tests.standing.test_standing_queries_page import PAGE
from tests.support.archives.demo_archive import ROOT, DemoArchive
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.ask import kept_answers
from tidewheel.queries.choice import TECHNIQUES

REFUSALS = (
    "technique SlickDeque (Non-Inv) needs a selection-type operation; ",
    "technique SlickDeque (Inv) needs an operation with an inverse; ",
    "technique Panes (Inv) needs an operation with an inverse; ",
    "windows with individual lifetimes are not first-in first-out; ",
)
# So that what only one class of techniques serves is asked too.
ONE_CLASS = [
    {"name": "sums_by_protocol", "select": "sum(bytes) as bytes, avg(packets) as packets", "group_by": ["protocol"]},
    {
        "name": "peaks_by_protocol",
        "select": "max(bytes) as most, arg_max(src_ip, bytes) as who",
        "group_by": ["protocol"],
    },
]


def asked() -> list[dict[str, Any]]:
    """The queries of the demonstration, of the tutorial, and ours."""
    demo = (ROOT / "tidewheel" / "netflow_queries.toml").read_text()
    tutorial = PAGE.read_text().split("<<'TOML'\n")[1].split("\nTOML")[0]
    queries = [*tomllib.loads(demo)["query"], *tomllib.loads(tutorial)["query"]]
    queries += [{"of": "netflow", "window": "1h", "slide": "10m"} | one for one in ONE_CLASS]
    distinct = {one["name"]: {key: value for key, value in one.items() if key != "test"} for one in queries}
    return [one | {"keep": "400d", "revise": "1d"} for one in distinct.values()]


def toml(queries: list[dict[str, Any]]) -> str:
    return "\n".join(
        "[[query]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in one.items()) for one in queries
    )


def placed(text: str, lines: Iterable[int]) -> set[int]:
    """Which queries of a file have these lines."""
    return {text.split("\n")[:line].count("[[query]]") - 1 for line in lines}


def named(query: dict[str, Any], technique: str, number: int) -> dict[str, Any]:
    return query | {"name": f"{query['name']}_{number}", "technique": technique}


def by_key(table: pa.Table, groups: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Answers by report and group."""
    rows = table.drop_columns(["revision", "source_version"]).to_pylist()
    names = table.column_names[1 : 2 + groups]  # after the window's start
    return {tuple(row[name] for name in names): row for row in rows}


def about(rows: dict[tuple[Any, ...], dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The same, means of floating point to twelve digits."""
    return {
        key: {
            name: pytest.approx(value, rel=1e-12, nan_ok=True) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for key, row in rows.items()
    }


def test_every_technique_gives_the_kernels_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive, queries = DemoArchive(tmp_path), asked()
    archive.feed(16)
    path = tmp_path / "archives" / "queries" / "netflow.toml"
    path.parent.mkdir()
    variants = [(query, named(query, one.name, number)) for query in queries for number, one in enumerate(TECHNIQUES)]
    path.write_text(toml([variant for _, variant in variants]))
    with pytest.raises(InvalidInput) as found:
        tidewheel.open("netflow").queries.check()
    refused = {fault.line: fault.wrong for fault in found.value.values["faults"]}
    served = [variants[number] for number in range(len(variants)) if number not in placed(path.read_text(), refused)]
    assert {one.name for one in TECHNIQUES} == {variant["technique"] for _, variant in served}
    assert all(text.startswith(REFUSALS) for text in refused.values()), refused
    assert (len(variants), len(served)) == (117, 82)
    path.write_text(toml([*queries, *(variant for _, variant in served)]))
    for slots in (0, 2):  # then states go on
        archive.feed(slots)
        done = CliRunner().invoke(main, ["refresh", "netflow"])
        assert done.exit_code == 0, done.output
    opened = tidewheel.open("netflow")
    given = {query.name: kept_answers(opened.job, query) for query in opened.queries.check()}
    for query in queries:
        groups = len(query.get("group_by", ()))
        kernels = about(by_key(given[query["name"]], groups))
        assert len(kernels) >= 2
        for variant in (variant for one, variant in served if one is query):
            assert by_key(given[variant["name"]], groups) == kernels, variant
