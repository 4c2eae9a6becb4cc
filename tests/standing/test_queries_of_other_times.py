"""Queries that were answered once and cannot be any more: they stay what they were, and keep no other from answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.asked_archive import QUERIES, asked_archive, events, told
from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import ALIVE, BY_KEY, COLUMNS, TOTAL, answers, event, query_of, refresh
from tests.support.services.lacking import environment_without, tidewheel_in
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.queries.standing.query import Call, Named, Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled

OTHERS = [TOTAL, BY_KEY, ALIVE]
LIFE = 'window = "3m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"'
SKETCHED = f'[[query]]\nname = "keys"\nof = "m"\nselect = "approx_count_distinct(k) as n"\n{LIFE}\n'


def once(body: str) -> Query:
    """A query of an archive that had a column more."""
    (text,) = parse_query_file(f'[query]\nname = "once"\nof = "m"\n{LIFE}\n{body}', "q.toml")
    columns = {**COLUMNS, "gone": "TIMESTAMP WITH TIME ZONE"}
    query, faults = read_query(SelectParser(columns), settled(text, MINUTE_US))
    assert query is not None, faults
    return query


SUM = query_of("once", f'select = "sum(v) as s"\n{LIFE}')
LOST = {
    "a column of the select": once('select = "max(gone) as n"'),
    "a column of where": once('select = "count(*) as n"\nwhere = "gone is null"'),
    "a column of group_by": once('select = "count(*) as n"\ngroup_by = ["gone"]'),
    "the time": once('select = "count(*) as n"\ntime = "gone"'),
    "a column of another type": replace(SUM, calls=(Call("sum", ("k",), ("BIGINT",)),)),
    "an aggregate": replace(SUM, calls=(Call("of_tomorrow", ("v",), ("BIGINT",)),)),
    "a function": replace(SUM, outputs=(Named("s", 'of_tomorrow("call 0")', "DECIMAL(38,0)"),)),
    "a function of the records": replace(SUM, calls=(Call("max", ("of_tomorrow(v)",), ("BIGINT",)),)),
    "a type of a group": replace(SUM, groups=(Named("g", "k", "OF_TOMORROW"),)),
    "a type that is not kept any more": replace(SUM, outputs=(Named("s", '"call 0"', "TIME"),)),
    "a technique": replace(SUM, technique="Of Tomorrow"),
}  # fmt: skip


@pytest.mark.parametrize("what", LOST)
def test_what_this_program_or_archive_has_not_stops_no_other_query(tmp_path: Path, what: str) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(4):
        archive.update({slot: [event(slot, slot + 1), event(slot, 10, "b")]})
    for stored in (OTHERS, [*OTHERS, LOST[what]]):
        with_lost = len(stored) > len(OTHERS)
        archive.update({4: [event(4, 5 + with_lost)]})
        if with_lost:
            with pytest.raises(InvalidInput, match="once") as raised:
                refresh(archive.job, stored)
            assert raised.value.remedy
        else:
            refresh(archive.job, stored)
        assert [one["n"] for _, one in sorted(answers(archive, TOTAL).items())] == [2, 4, 6, 6, 5]
    archive.update({5: [event(5, 6)]})
    with pytest.raises(InvalidInput, match="once"):
        refresh(archive.job, [*OTHERS, LOST[what]])
    assert len(answers(archive, TOTAL)) == len(answers(archive, ALIVE)) == 6


def test_a_library_that_is_gone_keeps_only_its_queries_from_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stay with their partials, as the records may be gone; who shared these does so no longer."""
    archive = asked_archive(tmp_path, QUERIES + SKETCHED)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    told("refresh", "m")
    (shared,) = (tree for tree in kept_trees(derived_job(archive.job, "partials")).trees if len(tree.calls) > 2)
    packages = environment_without(tmp_path / "packages", "datasketches")
    for slot in (6, 7):
        archive.update({slot: events(slot)})
        done = tidewheel_in(packages, "refresh", "m", cwd=tmp_path)
        assert done.returncode == 2
        said = " ".join(done.stderr.split())
        assert "approx_count_distinct needs a library that is not installed: datasketches" in said
        assert "pip install 'tidewheel[sketches]'" in said
        assert [len(newest(name)) for name in ("total", "by_key", "alive", "keys")] == [
            slot + 1,
            2 * slot + 2,
            slot + 1,
            6,
        ]
    asked = tidewheel_in(packages, "ask", "m", "keys", "--json", cwd=tmp_path)
    assert '"n": 2' in asked.stdout, asked.stderr
    assert shared in kept_trees(derived_job(archive.job, "partials")).trees
    told("refresh", "m")
    assert [(row["n"], row["complete"], row["revision"]) for row in newest("keys")[2:]] == [(2, 1, 0)] * 6


def newest(name: str) -> list[dict[str, Any]]:
    """All answers of a query, by time."""
    found: list[dict[str, Any]] = told("ask", "m", name, "--last", "99")["answers"]
    return found
