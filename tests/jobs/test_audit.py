"""Audit of a real archive: each damage, planted on a copy, is found and named by cell and file."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from tests.support.archives.copies import SPAN, copied
from tests.support.archives.damages import bring_back
from tests.support.archives.small_archive import HOUR_US, SmallArchive, generation_of, random_batch
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.hands import archive_job
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.jobs.audit.bytes import byte_findings
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.audit.second_log import log_findings
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import fold_into_ledger
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import FILES_ID, digest_of


@pytest.fixture
def archive(five_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(five_slots_built, tmp_path)


def found(archive: SmallArchive, *, deep: bool = False) -> dict[Flaw, list[Finding]]:
    by_kind: dict[Flaw, list[Finding]] = {}
    for one in audit(archive.job, deep=deep).findings:
        by_kind.setdefault(one.kind, []).append(one)
    return by_kind


def a_file(archive: SmallArchive) -> tuple[FileFact, Path]:
    """The file with the most rows."""
    fact = max(archive.snapshot().files, key=lambda file: (file.rows, file.path))
    return fact, Path(archive.job.location.child(fact.path))


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> int:
    """Replace a data file by a changed one, as somebody would who means harm; its size now."""
    table = change(pq.ParquetFile(path).read())
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    pq.write_table(table, path, compression="zstd")
    return path.stat().st_size


def edit_log(archive: SmallArchive, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the log says of a file; the newest entry's digest is made to fit."""
    entries = sorted(Path(archive.job.location.uri, "_delta_log").glob("*.json"))
    for entry in entries:
        edit_entry(entry, lambda action: change(action["add"]) if action.get("add", {}).get("path") == path else None)
    adds = pa.table(DeltaTable(archive.job.location.uri).get_add_actions(flatten=True))
    digest = digest_of(zip(adds.column("path").to_pylist(), adds.column("size_bytes").to_pylist(), strict=True))
    edit_entry(entries[-1], set_digest(digest))


def edit_entry(entry: Path, change: Callable[[dict[str, Any]], None]) -> None:
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for action in lines:
        change(action)
    entry.write_text("\n".join(json.dumps(line, separators=(",", ":")) for line in lines))


def set_digest(digest: int) -> Callable[[dict[str, Any]], None]:
    def edit(action: dict[str, Any]) -> None:
        if action.get("txn", {}).get("appId") == FILES_ID:
            action["txn"]["version"] = digest

    return edit


def edit_statistics(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def edit(add: dict[str, Any]) -> None:
        statistics = json.loads(add["stats"])
        change(statistics)
        add["stats"] = json.dumps(statistics)

    return edit


def test_a_sound_archive_has_no_findings(archive: SmallArchive) -> None:
    report = audit(archive.job)
    state = archive.snapshot()
    assert report.findings == ()
    assert (report.clean, report.remedy, report.version, report.watermark) == (True, "", 3, 4)
    assert report.rows_checked == sum(file.rows for file in state.files) == len(archive.expected())
    assert (report.files_checked, report.bytes_checked) == (len(state.files), state.bytes)
    assert json.loads(json.dumps(report.to_json()))["clean"] is True


def test_whatever_was_done_to_it_there_are_no_findings(archive: SmallArchive) -> None:
    chance = random.Random(5)
    archive.generation = generation_of(strategy="no_rebuild", g=3, e=1, span=SPAN, dead_share_max=0.6)
    unbound = archive_job(archive.job.location, clock=archive.job.clock)
    migrate(unbound, archive.generation, relocate=False)
    archive.update({5: random_batch(chance, 5, SPAN), 6: random_batch(chance, 6, SPAN)})
    forget(archive.job, keys=[("k1",)])
    archive.update({5: random_batch(chance, 5, SPAN)})
    archive.update({2: random_batch(chance, 2, SPAN)})
    archive.expire(60)
    undo(archive.job)
    archive.now_us += 10 * HOUR_US
    vacuum(archive.job)
    report = audit(archive.job)
    assert report.findings == ()
    assert report.rows_checked > 0


def test_new_columns_do_not_change_the_hash_of_old_rows(archive: SmallArchive) -> None:
    wide = archive.table_of([Record(5, 7, "a", 1)]).append_column("extra", pa.array([7], pa.int64()))
    pq.write_table(wide, archive.folder / "source" / "5.parquet")
    source = replace(archive.file.source, schema="")
    policy = replace(archive.policy, new_column="add")
    job = replace(archive.job, file=replace(archive.file, source=source, policy=policy))
    assert update(job, [5]).receipt is not None
    assert audit(archive.job).findings == ()


def test_a_missing_file_and_what_is_lost_with_it(archive: SmallArchive) -> None:
    fact, path = a_file(archive)
    cells = pq.ParquetFile(path).read(["ins_slot", "exp_slot"]).to_pylist()
    path.unlink()
    report = audit(archive.job, deep=False)
    assert {one.kind for one in report.findings} == {Flaw.MISSING_FILE, Flaw.LOST}
    assert {one.path for one in report.findings} == {fact.path}
    lost = {one.cell for one in report.findings if one.kind is Flaw.LOST}
    assert lost == {(row["ins_slot"], row["exp_slot"]) for row in cells}
    assert bring_back(archive, report).findings == ()
    archive.check()


def test_a_truncated_file(archive: SmallArchive) -> None:
    fact, path = a_file(archive)
    path.write_bytes(path.read_bytes()[: fact.bytes // 2])
    findings = found(archive, deep=True)
    assert findings.keys() == {Flaw.WRONG_SIZE, Flaw.UNREADABLE, Flaw.LOST}
    assert {one.path for ones in findings.values() for one in ones} == {fact.path}
    assert (findings[Flaw.WRONG_SIZE][0].expected, findings[Flaw.WRONG_SIZE][0].found) == (
        fact.bytes,
        fact.bytes // 2,
    )


def test_delta_spark_reads_the_log_as_well(archive: SmallArchive, spark: SparkSession) -> None:
    snapshot = archive.snapshot()
    assert log_findings(spark, snapshot) == []
    left_out = snapshot.files[0]
    snapshot.__dict__["files"] = snapshot.files[1:]
    [found] = log_findings(spark, snapshot)
    assert found.kind is Flaw.OTHER_READERS
    assert (found.expected, found.found) == (len(snapshot.files), len(snapshot.files) + 1)
    assert left_out.path in found.message


def test_a_commit_that_lands_while_an_old_version_is_audited_is_no_finding(
    archive: SmallArchive, spark: SparkSession
) -> None:
    """An archive of weekly batches: delta-spark opens a version older than grace only while it is the newest."""
    old = archive.snapshot()
    for entry in Path(old.location.child("_delta_log")).iterdir():
        os.utime(entry, (0, 0))
    assert log_findings(spark, old) == []
    archive.update({4: [Record(4, 7, "late", 1)]})
    assert archive.snapshot().version > old.version
    assert log_findings(spark, old) == []


@pytest.mark.parametrize("column", ["key", "body", "valid_until"])
def test_a_flipped_bit_in_a_column_that_only_a_deep_audit_reads(archive: SmallArchive, column: str) -> None:
    fact, path = a_file(archive)
    metadata = pq.ParquetFile(path).metadata.row_group(0)
    chunk = next(metadata.column(i) for i in range(8) if metadata.column(i).path_in_schema == column)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size - 2] ^= 1
    path.write_bytes(content)
    assert found(archive) == {}
    for crc in path.parent.glob(".*.crc"):
        crc.unlink()  # the writer's file system may not have left one
    findings = found(archive, deep=True)
    assert findings.keys() <= {Flaw.UNREADABLE, Flaw.CHANGED}
    assert {one.path for ones in findings.values() for one in ones} == {fact.path}


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.999])
def test_a_flipped_bit_anywhere_is_found_by_the_checksums_beside_the_file(archive: SmallArchive, share: float) -> None:
    fact, path = a_file(archive)
    content = bytearray(path.read_bytes())
    at = int(len(content) * share)
    content[at] ^= 16
    path.write_bytes(content)
    findings = byte_findings(archive.job.location, archive.snapshot().files)
    assert [one.path for one in findings] == [fact.path]
    match = re.match(r"bytes (\d+) to (\d+) of", findings[0].message)
    assert match is not None
    assert int(match[1]) <= at <= int(match[2])


@pytest.mark.parametrize("at", range(8))
def test_a_flipped_bit_in_the_header_of_the_checksums_accuses_no_other_file(archive: SmallArchive, at: int) -> None:
    fact, path = a_file(archive)
    beside = path.with_name(f".{path.name}.crc")
    whole = beside.read_bytes()
    for bit in range(8):
        content = bytearray(whole)
        content[at] ^= 1 << bit
        beside.write_bytes(content)
        findings = byte_findings(archive.job.location, archive.snapshot().files)
        assert {one.path for one in findings} <= {fact.path}


def doubled_row(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


@pytest.mark.parametrize("hidden", [False, True], ids=["as is", "with the log made to fit"])
def test_a_doubled_row(archive: SmallArchive, hidden: bool) -> None:
    fact, path = a_file(archive)
    cell = pq.ParquetFile(path).read(["ins_slot", "exp_slot"]).to_pylist()[0]
    size = rewrite(path, doubled_row)
    kinds = {Flaw.DOUBLED}
    if hidden:
        edit_log(archive, fact.path, lambda add: add.update(size=size))
        edit_log(archive, fact.path, edit_statistics(lambda stats: stats.update(numRecords=fact.rows + 1)))
    else:
        kinds |= {Flaw.WRONG_SIZE, Flaw.COUNT}
    findings = found(archive)
    assert findings.keys() == kinds
    assert [(one.cell, one.path) for one in findings[Flaw.DOUBLED]] == [(tuple(cell.values()), fact.path)]


def with_first(name: str, change: Callable[[Any], Any]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        at, values = table.column_names.index(name), table.column(name).to_pylist()
        values[0] = change(values[0])
        return table.set_column(at, table.schema.field(name), pa.array(values, table.schema.field(name).type))

    return edit


@pytest.mark.parametrize(
    ("column", "change", "shallow"),
    [
        ("body", lambda value: value + 1, False),
        ("body", lambda value: None, False),
        ("key", lambda value: "k0" if value != "k0" else "k1", False),
        ("valid_until", lambda value: value.replace(microsecond=999_999 - value.microsecond), False),
        ("row_hash", lambda value: value ^ 1, True),
    ],
    ids=["value", "null", "key", "valid_until", "hash"],
)
def test_a_value_changed_behind_its_back(
    archive: SmallArchive, column: str, change: Callable[[Any], Any], shallow: bool
) -> None:
    fact, path = a_file(archive)
    cell = tuple(pq.ParquetFile(path).read(["ins_slot", "exp_slot"]).to_pylist()[0].values())
    size = rewrite(path, with_first(column, change))
    edit_log(archive, fact.path, lambda add: add.update(size=size))
    # A changed key or end may be a new least or greatest value as well.
    assert found(archive).keys() - {Flaw.STATISTICS} == ({Flaw.CHANGED} if shallow else set())
    changed = found(archive, deep=True)[Flaw.CHANGED]
    assert {(one.cell, one.path) for one in changed} == {(cell, fact.path)}
    assert {one.slots for one in changed} == {(cell[0], cell[0])}


def test_a_row_put_into_another_cell(archive: SmallArchive) -> None:
    fact, path = a_file(archive)
    cell = tuple(pq.ParquetFile(path).read(["ins_slot", "exp_slot"]).to_pylist()[0].values())
    rewrite(path, with_first("exp_slot", lambda slot: slot + 1))
    findings = found(archive, deep=True)
    assert [one.cell for one in findings[Flaw.LOST]] == [cell]
    assert [one.cell for one in findings[Flaw.DOUBLED]] == [(cell[0], cell[1] + 1)]
    assert [(one.cell, one.path) for one in findings[Flaw.MISPLACED]] == [((cell[0], cell[1] + 1), fact.path)]
    assert [one.path for one in findings[Flaw.CHANGED]] == [fact.path], "its own expiry says otherwise"


def test_a_file_under_another_partition(archive: SmallArchive) -> None:
    fact, _ = a_file(archive)
    edit_log(archive, fact.path, lambda add: add["partitionValues"].update(g=str(1 - fact.g)))
    findings = found(archive)
    assert findings.keys() == {Flaw.MISPLACED}
    assert {one.path for one in findings[Flaw.MISPLACED]} == {fact.path}


@pytest.mark.parametrize(
    ("column", "bound", "value"),
    [
        ("key", "minValues", "k9"),
        ("exp_slot", "maxValues", 0),
        ("exp_slot", "maxValues", 99),
        ("ins_slot", "minValues", -5),
    ],
)
def test_bounds_in_the_log_that_are_not_the_files(archive: SmallArchive, column: str, bound: str, value: Any) -> None:
    fact, _ = a_file(archive)
    edit_log(archive, fact.path, edit_statistics(lambda stats: stats[bound].update({column: value})))
    findings = found(archive)
    assert findings.keys() == {Flaw.STATISTICS}
    assert [one.path for one in findings[Flaw.STATISTICS]] == [fact.path]


def test_a_log_entry_gone_from_the_middle(archive: SmallArchive) -> None:
    Path(archive.job.location.uri, "_delta_log", f"{1:020d}.json").unlink()
    findings = found(archive)
    assert findings.keys() == {Flaw.UNREADABLE}
    assert findings[Flaw.UNREADABLE][0].path == "_delta_log"


def test_the_last_log_entry_gone_after_its_receipt_was_folded(archive: SmallArchive) -> None:
    fold_into_ledger(archive.snapshot(), every=1)
    Path(archive.job.location.uri, "_delta_log", f"{3:020d}.json").unlink()
    findings = found(archive)
    assert [one.message for one in findings[Flaw.DAMAGED_LEDGER]] == [
        "the ledger reaches version 3, the log ends at 2: commits were lost"
    ]


def test_a_ledger_that_says_something_else_than_its_receipts(archive: SmallArchive) -> None:
    fold_into_ledger(archive.snapshot(), every=1)
    path = next(Path(archive.job.location.side("ledger")).iterdir())
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["ledger"]["records"][0]["cells"].popitem()
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    findings = found(archive)
    assert findings.keys() == {Flaw.DAMAGED_LEDGER, Flaw.DOUBLED}
    path.write_bytes(b"no gzip")
    assert found(archive).keys() == {Flaw.DAMAGED_LEDGER}


def test_a_commit_that_is_not_ours(archive: SmallArchive) -> None:
    _, path = a_file(archive)
    rows = pq.ParquetFile(path).read().slice(0, 2)
    for name, value in (("layout", 0), ("g", 0), ("e", 0)):
        rows = rows.append_column(name, pa.array([value] * len(rows), pa.int32()))
    write_deltalake(archive.job.location.uri, rows, mode="append")
    findings = found(archive)
    assert {Flaw.FOREIGN, Flaw.DOUBLED} <= findings.keys()
    assert "version 4" in findings[Flaw.FOREIGN][0].message
    new = {file.path for file in archive.snapshot().files if not file.path.startswith("run-")}
    assert {one.path for one in findings[Flaw.FOREIGN] if one.path} == new


def test_a_data_file_of_somebody_else_in_the_folder(archive: SmallArchive) -> None:
    _, path = a_file(archive)
    stray = Path(archive.job.location.uri, "copies", "a.parquet")
    stray.parent.mkdir()
    shutil.copy(path, stray)
    assert [one.path for one in found(archive)[Flaw.FOREIGN]] == ["copies/a.parquet"]


def test_a_table_that_needs_a_newer_reader(archive: SmallArchive) -> None:
    entry = Path(archive.job.location.uri, "_delta_log", f"{0:020d}.json")
    entry.write_text(re.sub(r'"minReaderVersion":1', '"minReaderVersion":2', entry.read_text()))
    assert found(archive).keys() == {Flaw.FORMAT}


def test_no_archive_is_no_finding(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no archive"):
        audit(archive_job(Location.of(tmp_path)))


def test_the_schema_is_ours(archive: SmallArchive) -> None:
    entry = Path(archive.job.location.uri, "_delta_log", f"{0:020d}.json")
    text = entry.read_text()
    assert '\\"name\\":\\"row_hash\\",\\"type\\":\\"long\\"' in text
    entry.write_text(
        text.replace(
            '\\"name\\":\\"row_hash\\",\\"type\\":\\"long\\"', '\\"name\\":\\"row_hash\\",\\"type\\":\\"string\\"'
        )
    )
    findings = found(archive)
    assert "row_hash" in findings[Flaw.FORMAT][0].message
