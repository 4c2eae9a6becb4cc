"""Answers are kept as long as they are to be and no longer, whatever the clocks do; what is undone harms no others."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tests.support.archives.refreshed_archive import refresh
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.core.definition import Clock
from tidewheel.local.standing.ask import ask
from tidewheel.local.standing.compile import understood
from tidewheel.local.standing.explain import explained
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file

QUERY = """
[[query]]
name = "{name}"
of = "m"
select = "{select}"
window = "2m"
revise = "5m"
keep = "10m"
time = "t"
{more}
"""


def queries(archive: LocalArchive, select: str = "sum(v) as total", **more: str) -> list[Query]:
    names = more or {"one": ""}
    text = "".join(QUERY.format(name=name, select=select, more=line) for name, line in names.items())
    return understood(parse_query_file(text, "m.toml"), archive.job.snapshot()).sound()


def event(slot: int, x: float = 0.5) -> Event:
    return Event("a", 1, slot * MINUTE_US + 1, (slot + 4) * MINUTE_US + 1, x=x)


def test_an_undone_slot_lowers_nothing_outside_its_windows(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    asked = queries(archive)
    for slot in range(6):
        archive.update({slot: [event(slot)]})
    refresh(archive.job, asked)
    before = ask(archive.job, asked[0], None, None, None)
    archive.update({6: [event(6)]})
    refresh(archive.job, asked)
    undo(archive.job)
    refresh(archive.job, asked)
    after = ask(archive.job, asked[0], None, None, None)
    assert after.drop_columns(["revision", "source_version"]) == before.drop_columns(["revision", "source_version"])
    assert after.column("complete").to_pylist()[1:] == [1.0] * 5
    archive.update({6: [event(6)], 7: [event(7)]})
    refresh(archive.job, asked)
    undo(archive.job)
    archive.update({8: [event(8)]})  # 6 and 7 are undone, and lie in the windows of slot 8 and of none before 6
    refresh(archive.job, asked)
    told = ask(archive.job, asked[0], None, None, None)
    assert told.column("complete").to_pylist()[1:6] == [1.0] * 5
    assert told.column("complete").to_pylist()[-1] < 1


def walled(folder: Path, now_slot: int) -> LocalArchive:
    """An archive on the wall clock with slots 0 to 5."""
    archive = LocalArchive(folder, now_us=now_slot * MINUTE_US, clock=Clock.WALL).create()
    for slot in range(6):
        archive.update({slot: [event(slot)]})
    return archive


def ends(answers: pa.Table) -> list[int]:
    return [int(one) // MINUTE_US for one in answers.column("window_end").cast(pa.int64()).to_pylist()]


def test_a_forced_slot_of_the_future_takes_no_answer_before_its_time(tmp_path: Path) -> None:
    archive = walled(tmp_path, 6)
    asked = queries(archive)
    refresh(archive.job, asked)
    assert ends(ask(archive.job, asked[0], None, None, None)) == [1, 2, 3, 4, 5, 6]
    archive.update({100: [event(100)]})
    refresh(archive.job, asked)
    assert ends(ask(archive.job, asked[0], None, None, None))[:6] == [1, 2, 3, 4, 5, 6]
    archive.now_us = 13 * MINUTE_US
    refresh(archive.job, asked)
    assert ends(ask(archive.job, asked[0], None, None, None))[:3] == [4, 5, 6]


def test_what_is_past_its_keep_is_not_told_though_nothing_came_since(tmp_path: Path) -> None:
    archive = walled(tmp_path, 6)
    asked = queries(archive)
    refresh(archive.job, asked)
    archive.now_us = 13 * MINUTE_US
    assert ends(ask(archive.job, asked[0], None, None, None)) == [4, 5, 6]
    archive.now_us = 16 * MINUTE_US
    assert ends(ask(archive.job, asked[0], None, None, None)) == []


def test_explain_says_that_every_report_is_older_than_keep(tmp_path: Path) -> None:
    archive = walled(tmp_path, 100)
    asked = queries(archive)
    refresh(archive.job, asked)
    told = explained(archive.job, asked, "one")
    assert told.reasons == {"the newest report, of 1970-01-01T00:06:00Z, is older than keep = 10m": 6}


@pytest.mark.parametrize("seed", [1])
def test_a_geometric_mean_has_the_same_digits_however_it_is_folded(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    archive = LocalArchive(tmp_path).create()
    ways = {"kernels": "kernels", "joined": "sql", "slid": "FlatFIT"}
    asked = queries(archive, "geometric_mean(x) as g", **{name: f'technique = "{way}"' for name, way in ways.items()})
    for slot in range(40):
        archive.update({slot: [event(slot, x=chance.lognormvariate(0, 3)) for _ in range(5)]})
    refresh(archive.job, asked)
    told = [ask(archive.job, query, None, None, None).column("g").to_pylist() for query in asked]
    assert len(told[0]) > 5
    assert told[0] == told[1] == told[2], f"seed {seed}"
