"""What was forgotten and is still in partials or answers is told, and is red once a refresh is overdue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import TOTAL, audit_is_clean, event, query_of, refresh
from tidewheel.commits.operations.forget import forget
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.rules.health import PendingErasure
from tidewheel.indexing.rules.pending_erasure import pending_erasure
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.queries.standing.query import Query
from tidewheel.storage.ledger_store import all_receipts, ledger_of

OLD = query_of("old", 'select = "sum(v) as s"\ngroup_by = ["k"]\nwindow = "1m"\nrevise = "2m"\nkeep = "1h"')
LIVE_WINDOW = query_of(
    "live_window",
    'select = "count(*) as n"\ngroup_by = ["k"]\nwindow = "1m"\ncounts = "live"\nrevise = "1m"\nkeep = "1h"',
)
RARE = query_of(
    "rare", 'select = "count(*) as n"\ngroup_by = ["k"]\nwindow = "1m"\nslide = "4m"\nrevise = "0m"\nkeep = "1h"'
)


def fed(folder: Path, queries: list[Query]) -> LocalArchive:
    archive = LocalArchive(folder, span=30).create()
    for slot in range(8):
        archive.update(
            {slot: [event(slot, 1, "a", lives=20), *([event(slot, 2, "gone", lives=20)] if slot < 6 else ())]}
        )
        if slot in (5, 7):
            refresh(archive.job, queries)
    return archive


def pending(archive: LocalArchive) -> PendingErasure | None:
    source = archive.job.snapshot()
    partials, answers = (ledger_of(derived_job(archive.job, kind).snapshot()) for kind in DERIVED_KINDS)
    receipts = [receipt for _, receipt in all_receipts(source)]
    return pending_erasure(source.definition.key, ledger_of(source), partials, answers, lambda: receipts)


@pytest.mark.parametrize("query", [TOTAL, OLD, LIVE_WINDOW], ids=lambda one: one.name)
def test_an_erasure_waits_until_a_refresh_went_through(query: Query, tmp_path: Path) -> None:
    archive = fed(tmp_path, [query])
    assert pending(archive) is None
    forget(archive.job, keys=[("gone",)])
    held = pending(archive)
    assert held is not None
    assert held.since_us == archive.now_us
    refresh(archive.job, [query])
    assert pending(archive) is None
    assert audit_is_clean(archive)


def test_what_no_answer_looks_at_any_more_is_erased_too(tmp_path: Path) -> None:
    """Partials outlive their windows: of what is alive, as long as that is; of rare reports, by a slide."""
    queries = [LIVE_WINDOW, RARE]
    archive = fed(tmp_path, queries)
    before = bytes_of(archive)
    assert b"gone" in before
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, queries)
    assert b"gone" not in bytes_of(archive)


def bytes_of(archive: LocalArchive) -> bytes:
    """All keys that the newest versions of partials and answers hold."""
    from tidewheel.local.rows import file_schema, rows_of

    found = []
    for kind in DERIVED_KINDS:
        snapshot = derived_job(archive.job, kind).snapshot()
        rows = rows_of(snapshot.location, snapshot.files, file_schema(snapshot)).to_table()
        found.append(str(rows.to_pylist()).encode())
    return b"".join(found)


def test_the_oldest_forget_tells_how_long_it_waits(tmp_path: Path) -> None:
    archive = fed(tmp_path, [TOTAL])
    forget(archive.job, keys=[("gone",)])
    first_us = archive.now_us
    archive.now_us += MINUTE_US
    forget(archive.job, keys=[("a",)])
    held = pending(archive)
    assert held is not None
    assert held.since_us == first_us


def test_a_later_batch_of_the_slot_is_no_erasure(tmp_path: Path) -> None:
    archive = fed(tmp_path, [TOTAL])
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, [TOTAL])
    archive.update({7: [event(7, 9, "a", lives=20)]})
    archive.now_us += 10 * MINUTE_US
    assert pending(archive) is None
