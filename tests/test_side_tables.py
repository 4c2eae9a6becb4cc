"""A side table is a value: one of what was judged and not stored goes through all that the quarantine does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from tests.support.archives import EVERYTHING, HOUR_US, SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.clock import now_us
from tidewheel.commits.forget import forget
from tidewheel.commits.side_tables import SideTable
from tidewheel.commits.undo import undo
from tidewheel.commits.vacuum import vacuum
from tidewheel.commits.written import Written
from tidewheel.indexing.audit import Kind
from tidewheel.indexing.batches import batches_at
from tidewheel.indexing.fates import DEAD_ON_ARRIVAL, SHORT_LIVED
from tidewheel.indexing.oracle import Record
from tidewheel.indexing.receipts import SlotReceipt
from tidewheel.indexing.side_tables import SideBatch, expected_rows, unneeded_batches
from tidewheel.indexing.slots import moment
from tidewheel.jobs.audit import audit
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import all_receipts

SPAN = 4


def as_rows(job: ArchiveJob, written: Written, attempt: str) -> pa.Table:
    """Records with all their columns, as an attempt wrote them."""
    read = [pq.ParquetFile(job.location.child(path)).read() for path in written.aside[2]]
    rows = pa.concat_tables(read).drop_columns(["row_hash"])
    names = {"ins_slot": "slot", "exp_slot": "fate"}
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    came = pa.scalar(moment(job.clock()), pa.timestamp("us", "UTC"))
    rows = rows.append_column("attempt", pa.repeat(pa.scalar(attempt), rows.num_rows))
    return rows.append_column("came_at", pa.repeat(came, rows.num_rows))


NOT_STORED = SideTable(
    name="not_stored",
    places=(2,),
    fates=frozenset({SHORT_LIVED, DEAD_ON_ARRIVAL}),
    came="came_at",
    record="",
    rows=as_rows,
    counted=lambda slot: slot.short_lived + slot.dead_on_arrival,
    kept_us=lambda retention: 3 * retention.grace_us,
)


class Aside:
    """A small archive that keeps what it judged and did not store."""

    def __init__(self, folder: Path) -> None:
        self.archive = SmallArchive(folder, generation_of(span=SPAN), SPAN, now_us=now_us()).create()

    @property
    def job(self) -> ArchiveJob:
        return replace(self.archive.job, side_tables=(NOT_STORED,))

    def update(self, batches: dict[int, list[Record]]) -> SlotReceipt:
        for slot, records in batches.items():
            self.archive.write(slot, records)
        receipt = update(self.job, batches, confirmed=EVERYTHING).receipt
        self.archive.oracle.update(batches)
        assert receipt is not None
        return receipt.slots[0]

    def rows(self) -> Counter[tuple[int, int, str, int]]:
        """What counts there, as (slot, fate, key, body)."""
        snapshot = self.job.snapshot()
        batches = set(batches_at(dict(all_receipts(snapshot)), snapshot.version).items())
        rows = NOT_STORED.read(self.job.location, batches)
        found = rows.to_pylist() if rows is not None else []
        assert all(row["until"] == row["valid_until"] for row in found)
        return Counter((row["slot"], row["fate"], row["key"], row["body"]) for row in found)

    def check(self) -> None:
        self.archive.check()
        assert audit(self.job).findings == ()


@pytest.fixture
def aside(tmp_path: Path, spark: Any) -> Aside:
    aside = Aside(tmp_path)
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "b", 2), Record(5, 5, "c", 3)]})
    return aside


def test_they_are_kept_with_all_their_columns(aside: Aside) -> None:
    late = aside.update({3: [Record(3, 5, "d", 4), Record(3, 6, "e", 5), Record(3, 3, "f", 6)]})
    assert (late.stored, late.short_lived, late.dead_on_arrival) == (1, 1, 1)
    first = {(5, SHORT_LIVED, "b", 2), (5, SHORT_LIVED, "c", 3)}
    assert aside.rows() == Counter(first | {(3, DEAD_ON_ARRIVAL, "d", 4), (3, SHORT_LIVED, "f", 6)})
    aside.check()
    assert not list(Path(aside.job.location.uri).glob("run-*/layout=-1/g=2/**/*.parquet")), "moved, not copied"


def test_a_replay_replaces_them_and_an_undo_brings_them_back(aside: Aside) -> None:
    before = aside.rows()
    aside.archive.now_us = now_us()
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "z", 9)]})
    assert aside.rows() == Counter([(5, SHORT_LIVED, "z", 9)])
    undo(aside.job)
    assert aside.rows() == before
    assert audit(aside.job).findings == ()


def test_a_forget_takes_them_as_well(aside: Aside) -> None:
    outcome = forget(aside.job, keys=[("b",)])
    assert outcome.quarantined_forgotten == 1
    assert aside.rows() == Counter([(5, SHORT_LIVED, "c", 3)])
    forget(aside.job, where="body = 3")
    assert not aside.rows()
    again = aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "b", 2)]})
    assert (again.forgotten, again.short_lived) == (1, 0)


def test_a_vacuum_deletes_what_counts_no_more_and_what_was_kept_long_enough(aside: Aside) -> None:
    aside.archive.now_us = now_us()
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "z", 9)]})
    aside.archive.now_us = now_us() + aside.archive.grace_us + HOUR_US // 100
    first = vacuum(aside.job)
    assert first.side_rows == {"not_stored": 2}, "the batch that was replaced"
    assert aside.rows() == Counter([(5, SHORT_LIVED, "z", 9)])
    aside.archive.now_us += 3 * aside.archive.grace_us
    assert vacuum(aside.job).side_rows == {"not_stored": 1}
    assert audit(aside.job).findings == (), "its receipt counts one, and nobody misses it any more"


@pytest.mark.parametrize(("times", "kind"), [(0, Kind.LOST), (2, Kind.DOUBLED)])
def test_an_audit_counts_them(aside: Aside, times: int, kind: Kind) -> None:
    table = NOT_STORED.open(aside.job.location)
    assert table is not None
    rows = pa.table(table.to_pyarrow_table())
    write_deltalake(table, pa.concat_tables([rows] * times) if times else rows.slice(0, 0), mode="overwrite")
    findings = audit(aside.job).findings
    assert [(one.kind, one.path, one.expected, one.found) for one in findings] == [
        (kind, "_tidewheel/not_stored", 2, 2 * times)
    ]


def test_a_job_that_does_not_know_the_table_leaves_it_alone(aside: Aside) -> None:
    update(aside.archive.job, [5], confirmed=EVERYTHING)
    assert not aside.rows(), "the new batch counts, and set nothing aside"
    aside.update({5: [Record(5, 5, "y", 8)]})
    assert aside.rows() == Counter([(5, SHORT_LIVED, "y", 8)])


def test_what_may_go_follows_from_receipts_and_time() -> None:
    batches = [SideBatch(1, "old", 10, 5), SideBatch(1, "new", 20, 6), SideBatch(2, "only", 5, 7)]
    gone = unneeded_batches(batches, {(1, "new"), (2, "only")}, grace_since_us=15, kept_since_us=6)
    assert [one.attempt for one in gone] == ["old", "only"]
    assert unneeded_batches(batches, {(1, "new"), (2, "only")}, grace_since_us=9, kept_since_us=4) == []
    assert expected_rows([], -1, 0, lambda slot: slot.quarantined) == {}
