"""Every record of a batch is judged, and none vanishes without a count."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.side_rows import quarantined_rows
from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.indexing.core.definition import Policy, Verdict
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.slots import iso, moment
from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.jobs.audit.side_tables import side_table_findings
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.sql.opening import open_session
from tidewheel.sql.reader import Reader
from tidewheel.storage.ledger_store import all_receipts, ledger_of

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4


Raw = tuple[str | None, int, int | None, int | None]


def write_raw(archive: SmallArchive, slot: int, rows: list[Raw]) -> None:
    """Rows of (key, body, inserted, expires), moments in seconds after the slot's start."""

    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else moment(archive.axis.start_us(slot) + seconds * 1_000_000)

    times = pa.timestamp("us", "UTC")
    table = pa.table(
        {
            "key": pa.array([row[0] for row in rows], pa.string()),
            "body": pa.array([row[1] for row in rows], pa.int64()),
            "ins": pa.array([at(row[2]) for row in rows], times),
            "until": pa.array([at(row[3]) for row in rows], times),
        }
    )
    path = archive.folder / "source" / f"{slot}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


BAD: list[tuple[str, Raw]] = [
    ("null_key", (None, 1, 0, 90)),
    ("null_expiry", ("a", 2, 0, None)),
    ("future", ("a", 3, 61, 90)),
    ("null_insertion", ("a", 4, None, 90)),
    ("expired_on_arrival", ("a", 5, 30, 30)),
    ("too_long", ("a", 6, 0, SPAN * 60 + 1)),
]


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    return SmallArchive(tmp_path, generation_of(span=SPAN), SPAN).create()


def slot_receipt(archive: SmallArchive, slot: int, **confirmed: Any) -> SlotReceipt:
    receipt = update(archive.job, [slot], **confirmed).receipt
    assert receipt is not None
    return receipt.slots[0]


def test_every_broken_rule_is_quarantined_with_its_name_and_the_rest_is_stored(archive: SmallArchive) -> None:
    good: list[Raw] = [("a", 10, 0, 61), ("b", 11, 59, 59 + SPAN * 60)]
    short: list[Raw] = [("c", 12, 0, 60)]
    write_raw(archive, 3, [row for _, row in BAD] + good + short)
    receipt = slot_receipt(archive, 3)
    assert (receipt.rows_in, receipt.stored, receipt.short_lived) == (len(BAD) + 3, 2, 1)
    assert receipt.quarantined == len(BAD)
    record = ledger_of(archive.snapshot()).records[3]
    rows = quarantined_rows(archive.job.location, [(3, record.attempt)])
    assert sorted((row["rule"], json.loads(row["record"])["body"]) for row in rows) == sorted(
        (rule, row[1]) for rule, row in BAD
    )


@pytest.mark.parametrize(("rule", "row"), BAD)
def test_a_rejected_rule_refuses_the_run_and_changes_nothing(
    archive: SmallArchive, rule: str, row: tuple[str | None, int, int | None, int | None]
) -> None:
    rejects: dict[str, Any] = {rule: Verdict.REJECT}
    archive.policy = replace(Policy(), **rejects)
    write_raw(archive, 0, [("a", 10, 0, 61), row])
    with pytest.raises(InvalidInput, match=rule):
        update(archive.job, [0])
    assert archive.snapshot().version == 0
    assert QUARANTINE.open(archive.job.location) is None


@pytest.mark.parametrize("verdict", [Verdict.STORE, Verdict.QUARANTINE, Verdict.REJECT])
def test_what_came_late_is_stored_unless_the_policy_says_otherwise(archive: SmallArchive, verdict: Verdict) -> None:
    archive.policy = Policy(late=verdict)
    write_raw(archive, 1, [("a", 1, -1, 130), ("a", 2, 0, 130)])
    if verdict is Verdict.REJECT:
        with pytest.raises(InvalidInput, match="late"):
            update(archive.job, [1])
        return
    receipt = slot_receipt(archive, 1)
    assert (receipt.stored, receipt.quarantined) == ((2, 0) if verdict is Verdict.STORE else (1, 1))


def test_a_life_too_long_is_capped_never_prolonged(archive: SmallArchive) -> None:
    archive.policy = Policy(too_long=Verdict.CAP)
    write_raw(archive, 0, [("a", 1, 5, 10_000), ("b", 2, 5, 70)])
    outcome = update(archive.job, [0])
    assert outcome.receipt is not None
    assert outcome.receipt.capped_rows == 1
    fact = archive.snapshot().files
    rows = {
        row["body"]: row["valid_until"]
        for file in fact
        for row in pq.ParquetFile(archive.folder / "table" / file.path).read().to_pylist()
    }
    assert rows == {1: moment((5 + SPAN * 60) * 1_000_000), 2: moment(70 * 1_000_000)}


def test_a_record_without_an_expiry_is_not_capped(archive: SmallArchive) -> None:
    archive.policy = Policy(too_long=Verdict.CAP)
    endless: list[Raw] = [(*row[:3], None) for _, row in BAD if row[3] is not None]
    write_raw(archive, 0, [*endless, ("a", 2, 0, None)])
    receipt = slot_receipt(archive, 0)
    assert (receipt.stored, receipt.quarantined) == (0, receipt.rows_in)


def test_late_and_dead_on_arrival_are_counted(archive: SmallArchive) -> None:
    write_raw(archive, 10, [("a", 1, 0, 120)])
    update(archive.job, [10])
    # A backfill of slot 8: one record still alive at the end of slot 10, one that is not; one late by event time.
    write_raw(archive, 8, [("a", 2, 0, 200), ("b", 3, 0, 100), ("c", 4, -30, 190)])
    receipt = slot_receipt(archive, 8)
    assert (receipt.stored, receipt.dead_on_arrival) == (2, 1)
    assert [row[3] for row in archive.content()] == [2, 4, 1]


def test_a_replay_replaces_what_was_quarantined(archive: SmallArchive) -> None:
    write_raw(archive, 0, [("a", 1, 0, None), ("b", 2, 0, 90)])
    slot_receipt(archive, 0)
    first = ledger_of(archive.snapshot()).records[0].attempt
    write_raw(archive, 0, [("a", 1, 0, 95), ("b", 2, 0, 90)])
    assert slot_receipt(archive, 0).quarantined == 0
    second = ledger_of(archive.snapshot()).records[0].attempt
    assert first != second
    assert quarantined_rows(archive.job.location, [(0, second)]) == []


def test_forget_sweeps_the_quarantine_too(archive: SmallArchive) -> None:
    write_raw(archive, 0, [("a", 1, 0, None), ("b", 2, 0, None), ("b", 3, 0, 90)])
    slot_receipt(archive, 0)
    audited = archive.job.snapshot()
    receipts = list(all_receipts(audited))
    forget(archive.job, keys=[("b",)])
    # An audit that began before it and looks now finds nothing missing.
    assert side_table_findings(archive.job, audited, receipts) == []
    table = QUARANTINE.open(archive.job.location)
    assert table is not None
    assert [json.loads(row["record"])["key"] for row in pa.table(table.to_pyarrow_table()).to_pylist()] == ["a"]
    receipt = slot_receipt(archive, 0)
    assert (receipt.forgotten, receipt.quarantined, receipt.stored) == (2, 1, 0)


def test_no_read_of_a_moment_shows_what_was_forgotten_since(archive: SmallArchive) -> None:
    for slot in range(3):
        write_raw(archive, slot, [("a", slot, 0, 230), ("b", slot, 0, 230)])
        update(archive.job, [slot])
    place, clock = archive.folder / "table", archive.job.clock
    with Reader.open(place, now_us=clock) as reader:
        asked = {slot: archive.axis.end_us(slot) for slot in range(3)}
        assert [len(reader.scan(as_of_us=at).rows()) for at in asked.values()] == [2, 4, 6]
        forget(archive.job, keys=[("b",)])
        write_raw(archive, 3, [])
        update(archive.job, [3])
        for slot in (0, 1):
            with pytest.raises(InvalidInput, match="still holds what was forgotten in version 4") as refused:
                reader.scan(as_of_us=asked[slot])
            assert f"from {iso(asked[2])} on" in refused.value.remedy
        assert sorted(row[:2] for row in reader.scan(as_of_us=asked[2]).rows()) == [("a", 0), ("a", 1), ("a", 2)]
        with pytest.raises(InvalidInput, match="forgotten in version 4"):
            open_session({"small": archive.job.location}, now_us=clock, as_of_us=asked[0])


def test_a_key_a_microsecond_away_is_another_key(archive: SmallArchive) -> None:
    at = moment(archive.axis.start_us(0))
    archive.write(0, [Record(0, 3, "a", 1), Record(0, 3, "b", 2)])
    path = archive.folder / "source" / "0.parquet"
    table = pq.read_table(path)
    moments = pa.array([at.replace(microsecond=1), at.replace(microsecond=2)], pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(table.schema.get_field_index("ins"), "ins", moments), path)
    job = replace(archive.job, file=replace(archive.file, key=("ins",)))
    shutil.rmtree(archive.folder / "table")
    create(job)
    update(job, [0])
    forget(job, keys=[("1970-01-01T00:00:00.000002Z",)])
    update(job, [0])
    assert [row[3] for row in archive_content(job)] == [1]


def archive_content(job: ArchiveJob) -> list[tuple[int, int, str, int]]:
    snapshot = job.snapshot()
    rows: list[tuple[int, int, str, int]] = []
    for fact in snapshot.files:
        parquet = pq.ParquetFile(snapshot.location.child(fact.path))
        rows += [tuple(row.values()) for row in parquet.read(["ins_slot", "exp_slot", "key", "body"]).to_pylist()]
    return rows


def test_a_predicate_forgets_the_records_it_matched_and_no_others(archive: SmallArchive) -> None:
    write_raw(archive, 0, [("a", 1, 0, 200), ("a", 2, 0, 200), ("b", 1, 0, 200)])
    update(archive.job, [0])
    forget(archive.job, where="body = 1")
    assert [(row[2], row[3]) for row in archive.content()] == [("a", 2)]
    receipt = slot_receipt(archive, 0)
    assert (receipt.forgotten, receipt.stored) == (2, 1)
    log = "".join(path.read_text() for path in (archive.folder / "table" / "_delta_log").glob("*.json"))
    assert "body = 1" not in log


@pytest.mark.parametrize("where", ["nothing = 1", "body = ", "count(*) > 1", "1; drop table x"])
def test_a_predicate_that_cannot_be_computed_is_refused(archive: SmallArchive, where: str) -> None:
    write_raw(archive, 0, [("a", 1, 0, 200)])
    update(archive.job, [0])
    with pytest.raises(InvalidInput):
        forget(archive.job, where=where)
    assert archive.snapshot().version == 1


def test_a_shrinking_replay_needs_a_confirmation(archive: SmallArchive) -> None:
    archive.update({0: [Record(0, 3, f"k{i}", i) for i in range(10)]})
    archive.write(0, [Record(0, 3, "k1", 1)])
    with pytest.raises(Refused, match="allow-shrink"):
        update(archive.job, [0])
    (archive.folder / "source" / "0.parquet").unlink()
    with pytest.raises(Refused, match="allow-shrink"):
        update(archive.job, [0])
    archive.check()
    archive.update({0: [Record(0, 3, "k1", 1)]})
    archive.check()


def test_the_future_and_a_jump_need_a_confirmation(tmp_path: Path) -> None:
    from tidewheel.indexing.core.definition import Clock

    wall = SmallArchive(tmp_path / "wall", generation_of(span=SPAN), SPAN, clock=Clock.WALL)
    wall.now_us = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    wall.create()
    now_slot = wall.axis.slot_of(wall.now_us)
    wall.write(now_slot + 5, [])
    with pytest.raises(Refused, match="allow-future"):
        update(wall.job, [now_slot + 5])
    data = SmallArchive(tmp_path / "data", generation_of(span=SPAN), SPAN).create()
    data.update({0: [Record(0, 3, "a", 1)]})
    data.write(SPAN + 1, [])
    with pytest.raises(Refused, match="allow-jump"):
        update(data.job, [SPAN + 1])
    data.check()
