"""A side table is a value: one of what was judged and not stored goes through all that the quarantine does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.support.archives.refreshed_archive import refresh
from tests.support.archives.small_archive import HOUR_US, MINUTE_US, SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.clock import now_us
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.observe import observe
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.batches import batches_at
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.side_tables import SideBatch, expected_rows, unneeded_batches
from tidewheel.indexing.rules.findings import Flaw
from tidewheel.jobs.audit.compare import audit
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.snapshot import open_snapshot

SPAN = 4


class Aside:
    """A small archive that keeps what it judged and did not store."""

    def __init__(self, folder: Path) -> None:
        self.archive = SmallArchive(folder, generation_of(span=SPAN), SPAN, now_us=now_us()).create()

    @property
    def job(self) -> ArchiveJob:
        return self.archive.job

    def update(self, batches: dict[int, list[Record]]) -> SlotReceipt:
        receipt = self.archive.update(batches).receipt
        assert receipt is not None
        return receipt.slots[0]

    def rows(self) -> Counter[tuple[int, int, str, int]]:
        """What counts there, as (slot, expiration, key, body)."""
        snapshot = self.job.snapshot()
        batches = set(batches_at(dict(all_receipts(snapshot)), snapshot.version).items())
        rows = UNSTORED_TABLE.read(self.job.location, batches)
        found = [row for row in (rows.to_pylist() if rows is not None else []) if row["exp_slot"] is not None]
        assert all(row["until"] == row["valid_until"] for row in found)
        return Counter((row["ins_slot"], row["exp_slot"], row["key"], row["body"]) for row in found)

    def check(self) -> None:
        self.archive.check()
        assert audit(self.job).findings == ()


@pytest.fixture
def aside(tmp_path: Path, spark: Any) -> Aside:
    aside = Aside(tmp_path)
    aside.update({2: [Record(2, 2, "nobody", 0)]})
    observe(aside.job, 6)
    assert not aside.rows(), "nobody asked for it"
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "b", 2), Record(5, 5, "c", 3)]})
    return aside


def test_they_are_kept_with_all_their_columns(aside: Aside) -> None:
    late = aside.update({3: [Record(3, 5, "d", 4), Record(3, 6, "e", 5), Record(3, 3, "f", 6)]})
    assert (late.stored, late.short_lived, late.dead_on_arrival, late.beside) == (1, 1, 1, 2)
    assert aside.rows() == Counter([(5, 5, "b", 2), (5, 5, "c", 3), (3, 5, "d", 4), (3, 3, "f", 6)])
    aside.check()
    assert not list(Path(aside.job.location.uri).glob("run-*/layout=-1/g=2/**/*.parquet")), "moved, not copied"


def test_a_replay_replaces_them_and_an_undo_brings_them_back(aside: Aside) -> None:
    before = aside.rows()
    aside.archive.now_us = now_us()
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "z", 9)]})
    assert aside.rows() == Counter([(5, 5, "z", 9)])
    undo(aside.job)
    assert aside.rows() == before
    assert audit(aside.job).findings == ()


def test_a_forget_takes_them_as_well(aside: Aside) -> None:
    outcome = forget(aside.job, keys=[("b",)])
    assert outcome.quarantined_forgotten == 1
    assert aside.rows() == Counter([(5, 5, "c", 3)])
    forget(aside.job, where="body = 3")
    assert not aside.rows()
    again = aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "b", 2)]})
    assert (again.forgotten, again.short_lived) == (1, 0)


def test_a_vacuum_deletes_what_counts_no_more_and_what_was_kept_long_enough(aside: Aside) -> None:
    aside.archive.now_us = now_us()
    aside.update({5: [Record(5, 7, "a", 1), Record(5, 5, "z", 9)]})
    aside.archive.now_us = now_us() + aside.archive.grace_us + HOUR_US // 100
    first = vacuum(aside.job)
    assert first.side_rows == {"unstored": 2}, "the batch that was replaced"
    assert aside.rows() == Counter([(5, 5, "z", 9)])
    aside.archive.now_us += SPAN * aside.archive.axis.interval_us
    assert vacuum(aside.job).side_rows == {"unstored": 1}
    assert audit(aside.job).findings == (), "its receipt counts one, and nobody misses it any more"


@pytest.mark.parametrize(("times", "kind"), [(0, Flaw.LOST), (2, Flaw.DOUBLED)])
def test_an_audit_counts_them(aside: Aside, times: int, kind: Flaw) -> None:
    table = UNSTORED_TABLE.open(aside.job.location)
    assert table is not None
    rows = pa.table(table.to_pyarrow_table())
    write_deltalake(table, pa.concat_tables([rows] * times) if times else rows.slice(0, 0), mode="overwrite")
    findings = audit(aside.job).findings
    assert [(one.kind, one.path, one.expected, one.found) for one in findings] == [
        (kind, "_tidewheel/unstored", 2, 2 * times)
    ]


def test_what_may_go_follows_from_receipts_and_time() -> None:
    batches = [SideBatch(1, "old", 10, 5), SideBatch(1, "new", 20, 6), SideBatch(2, "only", 5, 7)]
    gone = unneeded_batches(batches, {(1, "new"), (2, "only")}, grace_since_us=15, kept_since_us=6)
    assert [one.attempt for one in gone] == ["old", "only"]
    assert unneeded_batches(batches, {(1, "new"), (2, "only")}, grace_since_us=9, kept_since_us=4) == []
    assert expected_rows([], -1, 0, lambda slot: slot.quarantined) == {}


def test_the_answers_of_a_refresh_count_them(aside: Aside) -> None:
    body = '[query]\nname = "total"\nof = "small"\nselect = "sum(body) as s"\nwindow = "3m"\nrevise = "3m"\nkeep = "1h"'
    (text,) = parse_query_file(body, "q.toml")
    query, faults = read_query(SelectParser({"key": "VARCHAR", "body": "BIGINT"}), settled(text, MINUTE_US))
    assert query is not None, faults
    stored, _ = answer_columns(query)["s"]
    aside.update({4: [Record(4, 6, "g", 8)], 3: [Record(3, 5, "d", 16), Record(3, 3, "f", 32)]})

    def total() -> tuple[float, int]:
        refresh(aside.job, [query])
        snapshot = open_snapshot(aside.job.location.derived("answers"))
        rows = rows_of(snapshot.location, snapshot.files, file_schema(snapshot)).to_table().to_pylist()
        (row,) = (one for one in rows if one["ins_slot"] == 5)
        return row["complete"], row[stored]

    assert total() == (1, 1 + 2 + 3 + 8 + 16 + 32)
    forget(aside.job, keys=[("f",)])
    assert total() == (1, 1 + 2 + 3 + 8 + 16)
    assert audit(aside.job).findings == ()
