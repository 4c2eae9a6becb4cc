"""Lists stand by time whatever brought their values late, who shares their partials and how these are folded."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tests.support.archives.refreshed_archive import answers, audit_is_clean, query_of, refresh
from tidewheel.local.answers.ways import way_of
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.queries.standing.query import Query

SEED = 20261119
SLOTS = 9
ENDS = ", first_n(v, 2) as begun, last_n(v, 2) as ended"  # no technique of inverses folds these
TERMS = 'window = "3m"\nslide = "1m"\nrevise = "9m"\nkeep = "1h"\n'
GROUPED = 'group_by = ["k"]\n'
WAYS = ("", "sql", "Panes", "FlatFAT", "TwoStacks", "DABA", "FlatFIT", "Panes (Inv)", "SlickDeque (Inv)")


def listed(name: str, way: str, more: str) -> Query:
    ends = "" if way.endswith("(Inv)") else ENDS
    return query_of(name, f'select = "concatenate(v, 99) as listed{ends}"\n{TERMS}technique = "{way}"\n{more}')


def some_events(chance: random.Random, slot: int) -> list[Event]:
    """Records of a slot and late ones of the three before, some at the same time; all live to the end."""
    moments = [MINUTE_US * chance.randint(max(0, slot - 3), slot) + chance.randint(0, 2) for _ in range(4)]
    return [Event(chance.choice("ab"), chance.randint(1, 9), at, (SLOTS + 4) * MINUTE_US) for at in moments]


def oracle(batches: dict[int, list[Event]], at: int, key: str | None, timed: bool) -> dict[str, list[int]]:
    """Of the records of a window, by time and then by value."""
    end_us, begin_us = at * MINUTE_US, (at - 3) * MINUTE_US
    placed = (
        (event.t_us if timed else slot * MINUTE_US, event.v)
        for slot, events in batches.items()
        for event in events
        if key in (None, event.k)
    )
    values = [value for time_us, value in sorted(one for one in placed if begin_us <= one[0] < end_us)]
    return {"listed": values, "begun": values[:2], "ended": values[-2:]}


def said(found: dict[tuple[Any, ...], dict[str, Any]], names: Iterable[str]) -> dict[tuple[Any, ...], Any]:
    return {key: {name: row[name] for name in names} for key, row in found.items() if row["rows"]}


@pytest.mark.parametrize("time", ["t", ""])
def test_every_way_lists_by_time(tmp_path: Path, time: str) -> None:
    chance = random.Random(SEED)
    archive = LocalArchive(tmp_path, span=20).create()
    more = f'time = "{time}"\nlate = "3m"\n' if time else ""
    queries = [
        listed(f"{name}_{number}", way, more + groups)
        for number, way in enumerate(WAYS)
        for name, groups in (("all", ""), ("each", GROUPED))
    ]
    assert {way_of(query) for query in queries} == {way or "kernels" for way in WAYS}
    batches: dict[int, list[Event]] = {}
    for slot in range(SLOTS):
        batches[slot] = some_events(chance, slot)
        archive.update({slot: batches[slot]})
        if slot in (4, SLOTS - 1):
            refresh(archive.job, queries)
    assert audit_is_clean(archive)
    for query in queries:
        names = [one.name for one in query.outputs]
        keys = ("a", "b") if query.groups else (None,)
        wanted = {
            (at, *([key] if key else [])): {name: lists[name] for name in names}
            for at in range(1, SLOTS + 1)
            for key in keys
            if (lists := oracle(batches, at, key, bool(time)))["listed"]
        }
        assert said(answers(archive, query, minutes=True), names) == wanted, query.name


def test_queries_of_other_groups_share_lists(tmp_path: Path) -> None:
    """Where groups are rolled up, lists of several are one."""
    archive = LocalArchive(tmp_path, span=20).create()
    batches = {slot: some_events(random.Random(slot), slot) for slot in range(SLOTS)}
    for slot, events in batches.items():
        archive.update({slot: events})
    queries = [listed("all", "", ""), listed("each", "", GROUPED)]
    refresh(archive.job, queries)
    assert len(kept_trees(derived_job(archive.job, "partials")).trees) == 1
    found = said(answers(archive, queries[0], minutes=True), ("listed",))
    assert found == {(at,): {"listed": oracle(batches, at, None, timed=False)["listed"]} for at in range(1, SLOTS + 1)}


def test_lists_that_an_earlier_program_folded_are_folded_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They held no times. Answers that say the same stay as they were given."""
    archive = LocalArchive(tmp_path, span=20).create()
    for slot in range(SLOTS):
        archive.update({slot: some_events(random.Random(slot), slot)})
    query, total = listed("all", "", ""), query_of("total", f'select = "sum(v) as s"\n{TERMS}time = "t"\n')
    with monkeypatch.context() as patch:
        patch.setattr("tidewheel.queries.standing.tree.HOLDING_MORE", {})
        refresh(archive.job, [query, total])
    before = answers(archive, query)
    done = refresh(archive.job, [query, total])
    (tree,) = (one for one in kept_trees(derived_job(archive.job, "partials")).trees if not one.time)
    assert [(one.slot, one.tree, one.why) for one in done.stale] == [
        (slot, tree.name, "no partials yet") for slot in range(SLOTS)
    ]
    assert answers(archive, query) == before
    assert refresh(archive.job, [query, total]) == Refreshed((), ())
