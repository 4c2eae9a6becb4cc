"""Answers of one version add up, beside forgets and kills: what groups say is what the total says."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import audit_is_clean, event, query_of, refresh
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.forget import forget
from tidewheel.indexing.core.slots import micros
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.queries.standing.query import Query
from tidewheel.storage.snapshot import open_snapshot

# Everything is young, so that every answer is corrected.
TERMS = 'window = "3m"\nslide = "1m"\nrevise = "2h"\nkeep = "3h"'
TOTAL = query_of("total", f'select = "sum(v) as s"\n{TERMS}')
BY_KEY = query_of("by_key", f'select = "sum(v) as s"\ngroup_by = ["k"]\n{TERMS}')
BY_BOTH = query_of("by_both", f'select = "sum(v) as s"\ngroup_by = ["r", "k"]\n{TERMS}')
QUERIES = [TOTAL, BY_KEY, BY_BOTH]
POINTS = ("files_written", "ready_to_commit", "committed", "partials_committed", "answers_committed")


def sums(archive: LocalArchive, version: int) -> dict[str, dict[int, int]]:
    """By query, the sum of each report over its groups, as one version of the answers has them."""
    snapshot = open_snapshot(archive.job.location.derived("answers"), version)
    stored = rows_of(snapshot.location, snapshot.files, file_schema(snapshot)).to_table().to_pylist()
    return {query.name: added_up(query, stored) for query in QUERIES}


def added_up(query: Query, rows: list[dict[str, Any]]) -> dict[int, int]:
    column, found = answer_columns(query).get("s", ("", ""))[0], defaultdict[int, int](int)
    for row in rows:
        if row["part"] == query.part and row[column]:
            found[micros(row["window_end"])] += int(row[column])
    return dict(found)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))])
def test_groups_add_up_to_the_total_in_every_version(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    archive = LocalArchive(tmp_path, span=60).create()
    for slot in range(7):
        archive.update({slot: [event(slot, chance.randrange(1, 99), k, lives=50) for k in "abcdefgh"]})
        if slot % 3 == 2:
            forget(archive.job, keys=[("abcdefgh"[slot // 3],)])
        if slot % 3 == 0:
            monkeypatch.setenv(VARIABLE, chance.choice(POINTS))
            with pytest.raises(FailPointReached):
                refresh(archive.job, QUERIES)
            monkeypatch.delenv(VARIABLE)
        elif slot:
            refresh(archive.job, QUERIES)
    forget(archive.job, keys=[("h",)])
    refresh(archive.job, QUERIES)
    newest = derived_job(archive.job, "answers").snapshot().version
    for version in range(1, newest + 1):
        by_query = sums(archive, version)
        assert by_query["by_key"] == by_query["by_both"] == by_query["total"], (seed, version)
    assert audit_is_clean(archive)


def test_a_forget_is_one_version_of_the_answers(tmp_path: Path) -> None:
    """Older answers lose the key's rows in it as well, and it is a forget: no undo goes back over it."""
    archive = LocalArchive(tmp_path, span=60).create()
    old = query_of("old", 'select = "sum(v) as s"\ngroup_by = ["k"]\nwindow = "1m"\nrevise = "2m"\nkeep = "1h"')
    for slot in range(6):
        archive.update({slot: [event(slot, 1, "a", lives=20), event(slot, 2, "gone", lives=20)]})
        if slot in (1, 5):
            refresh(archive.job, [old, TOTAL])
    before = derived_job(archive.job, "answers").snapshot().version
    forget(archive.job, keys=[("gone",)])
    done = refresh(archive.job, [old, TOTAL])
    assert done.answers is not None
    assert done.answers.version == before + 1 == derived_job(archive.job, "answers").snapshot().version
    assert done.answers.receipt is not None
    assert (done.answers.receipt.operation.value, len(done.answers.receipt.slots) > 6) == ("forget", True)
    assert done.answers_erased == 3
    assert audit_is_clean(archive)
