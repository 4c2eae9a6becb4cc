"""Files of partials and answers that another program joined: nothing of them is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import answers, event, query_of
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.refresh import Refresh

SELECT = 'select = "sum(v) as total"'
TERMS = 'slide = "1m"\nrevise = "5m"\nkeep = "1h"'
# Of a tree each; records of a window are in several files that are joined.
QUERIES = [
    query_of("all", f"{SELECT}\nwindow = '10m'\n{TERMS}"),
    query_of("large", f"{SELECT}\nwindow = '11m'\nwhere = 'v > 1'\ngroup_by = ['k']\n{TERMS}"),
]


@pytest.mark.parametrize("stays_open", [False, True])
def test_parts_that_stand_in_several_places_of_a_file_are_read_whole(tmp_path: Path, stays_open: bool) -> None:
    archive = LocalArchive(tmp_path).create()
    kept = Refresh(archive.job, QUERIES, planner="No Share")
    for slot in range(10):
        archive.update({slot: [event(slot, 2**slot)]})
        kept.run()
    for kind in ("partials", "answers"):
        DeltaTable(f"{tmp_path}/table.{kind}").optimize.compact()
    assert parts_stand_apart(archive)
    archive.update({10: [event(10, 2**10)]})
    (kept if stays_open else Refresh(archive.job, QUERIES)).run()
    found = answers(archive, QUERIES[0], minutes=True), answers(archive, QUERIES[1], minutes=True)
    assert [found[0][at,]["total"] for at in (10, 11)] == [2**10 - 1, 2**11 - 2]
    assert [found[1][at, "a"]["total"] for at in (10, 11)] == [2**10 - 2, 2**11 - 2]


def parts_stand_apart(archive: LocalArchive) -> bool:
    snapshot = derived_job(archive.job, "partials").snapshot()
    for file in snapshot.files:
        parts = rows_of(snapshot.location, [file], file_schema(snapshot)).to_table().column("part").to_pylist()
        if parts != sorted(parts):
            return True
    return False
