"""What whoever derives is told of batches: by the right name after a forget and an undo, and given once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.columns import column
from tests.support.archives.local_archive import Event, LocalArchive
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.observe import observe
from tidewheel.commits.operations.undo import undo
from tidewheel.hands import archive_job
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.batches import source_of
from tidewheel.local.derived.put import PartRows, create_derived, definition_of, put
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.location import Location


@pytest.fixture
def archive(tmp_path: Path) -> LocalArchive:
    return LocalArchive(tmp_path).create()


def bring(archive: LocalArchive, *slots: int) -> None:
    """One record in each slot, of a key for each three slots, that lives for two."""
    start_us, life_us = archive.axis.start_us, 2 * archive.axis.interval_us
    archive.update({slot: [Event(f"k{slot % 3}", slot, start_us(slot), start_us(slot) + life_us)] for slot in slots})


def named(archive: LocalArchive, slot: int) -> str:
    return source_of(ledger_of(archive.job.snapshot()).batches.get((slot, "")))


def test_a_batch_that_a_forget_met_comes_back_under_another_name(archive: LocalArchive) -> None:
    """The ledger lets a batch go, and knows it again when somebody asks further back: not as it was before a forget."""
    bring(archive, 1)
    before = named(archive, 1)
    forget(archive.job, keys=[("k1",)])
    after = named(archive, 1)
    bring(archive, 20)
    assert named(archive, 1) == "none"
    observe(archive.job, 30)
    assert named(archive, 1) == after != before


def test_an_undo_tells_of_every_batch_that_counts_again(archive: LocalArchive) -> None:
    """Also of those that were let go before anybody asked for them, and are too old for what is undone."""
    bring(archive, 1, 2)
    bring(archive, 12)
    version = archive.job.snapshot().version
    observe(archive.job, 14)
    bring(archive, 40)
    undo(archive.job, version)
    ledger = ledger_of(archive.job.snapshot())
    assert {slot for slot, _ in ledger.batches} == {1, 2, 12}
    # Which one counts nobody can tell any more: it is one that nobody has seen.
    assert ledger.batches[1, ""] == Batch("", 0)


def derived_from(archive: LocalArchive, horizon: int) -> ArchiveJob:
    source = archive.job.snapshot().definition
    job = archive_job(Location.of(archive.folder / "derived"), clock=lambda: archive.now_us)
    columns = [column("part", "string"), column("total", "long")]
    create_derived(job, columns, definition_of(source, "answers", ["total"], "{}"), horizon)
    return job


def one_row(archive: LocalArchive, slot: int, made_of: str) -> PartRows:
    until_us = archive.axis.start_us(slot + 50)
    rows = pa.table(
        {
            "part": ["sums"],
            "total": [slot],
            "ins_slot": [slot],
            "valid_until": pa.array([until_us], pa.timestamp("us", "UTC")),
        }
    )
    return PartRows(rows, {(slot, "sums"): (made_of,)})


def totals(job: ArchiveJob) -> list[int]:
    snapshot = job.snapshot()
    paths = [snapshot.location.child(fact.path) for fact in snapshot.files]
    return sorted(total for path in paths for total in pq.read_table(path, partitioning=None)["total"].to_pylist())


def test_a_batch_of_a_part_is_not_doubled_by_a_put_that_was_held_up(archive: LocalArchive) -> None:
    """It is given, and too old to be compared: whoever brings it once more, or another one, changes nothing."""
    job = derived_from(archive, horizon=3)
    put(job, one_row(archive, 1, "first"), 1)
    put(job, one_row(archive, 8, "first"), 8)
    late = put(job, one_row(archive, 1, "late"), 8)
    assert late.receipt is None
    assert totals(job) == [1, 8]
    # A first one of a slot that is as old comes as it always did.
    assert put(job, one_row(archive, 2, "first"), 8).receipt is not None
    assert totals(job) == [1, 2, 8]
