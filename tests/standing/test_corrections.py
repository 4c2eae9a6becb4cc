"""What a refresh reads, and which answers it corrects: those that say something else, and none that say the same."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import answers, event, query_of, refresh
from tidewheel.local.derived.batch_reader import reader_of
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.make import BatchFolder
from tidewheel.local.partials.partial_store import digests
from tidewheel.local.partials.stored_trees import kept_trees

BY_KEY = query_of(
    "by_key", 'select = "sum(v) as total"\ngroup_by = ["k"]\nwindow = "2m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"'
)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"a": 5, "b": 7}, {"a": 7, "b": 5}),  # exchanged: every column holds what it held
        ({"a": 5, "b": 7, "c": 1}, {"a": 7, "b": 1, "c": 5}),
        ({"a": 5, "b": 7}, {"a": 5, "c": 7}),
        ({"a": 5, "b": 7}, {"a": 5}),
        ({"a": 5, "b": 7}, {"a": 6, "b": 6}),
        ({"a": 5}, {"a": 5, "b": 0}),
    ],
)
def test_a_replay_is_seen_whatever_it_changes(tmp_path: Path, first: dict[str, int], again: dict[str, int]) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(3):
        archive.update({slot: [event(slot, v, k) for k, v in first.items()]})
    refresh(archive.job, [BY_KEY])
    archive.update({2: [event(2, v, k) for k, v in again.items()]})
    done = refresh(archive.job, [BY_KEY])
    assert [one.slot for one in done.due] == [2]
    found = {key: one["total"] for (at, key), one in answers(archive, BY_KEY, minutes=True).items() if at == 3}
    assert found == {k: first.get(k, 0) + again.get(k, 0) for k in first | again}


def test_a_fragments_digest_tells_which_values_stand_together() -> None:
    found = set()
    for values in permutations([1, 2, 3]):
        rows: dict[str, Any] = {"ins_slot": [7] * 3, "fragment": [1] * 3, "g0": ["a", "b", "c"], "a0": values}
        found.add(digests(pa.table(rows))[7][1])
        assert digests(pa.table({name: column[::-1] for name, column in rows.items()}))[7][1] in found
    assert len(found) == 6


def test_of_a_record_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)]})
    refresh(archive.job, [BY_KEY])
    reader = reader_of(archive.job)
    folder = BatchFolder(derived_job(archive.job, "partials"), reader, [BY_KEY], {}, duckdb.connect(), archive.now_us)
    (tree,) = kept_trees(derived_job(archive.job, "partials")).trees
    asked = folder.columns_asked([tree])
    assert {"k", "v", "ins_slot", "exp_slot"} <= set(asked)
    assert not {"row_hash", "x"} & set(asked)
    rows, _ = folder.read([0], [tree])
    assert rows.column_names == asked


def test_answers_without_rows_are_corrected_by_answers_without_rows(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    picky = query_of(
        "picky", 'select = "sum(v) as total"\ngroup_by = ["k"]\nhaving = "total > 100"\n'
        'window = "2m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"',
    )  # fmt: skip
    for slot in range(3):
        archive.update({slot: [event(slot, 1)]})
    refresh(archive.job, [picky])
    archive.update({2: [event(2, 2)]})
    refresh(archive.job, [picky])
    assert answers(archive, picky) == {}
    archive.update({2: [event(2, 200)]})
    refresh(archive.job, [picky])
    assert [one["total"] for one in answers(archive, picky).values()] == [201]
