"""The columns of a batch are asserted exactly; new ones come in only where the policy says so."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Schema

from tests.support.archives.columns import column
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of, random_batch
from tidewheel.commits.accounting import bare_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.clock import now_us
from tidewheel.commits.commit import commit_schema
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.core.definition import ArchiveFile, Policy
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Deed
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.location import Location

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    archive = SmallArchive(tmp_path, generation_of("round_robin", 1, 2)).create()
    archive.update({0: [Record(0, 2, "a", 1), Record(0, 3, "b", 2)]})
    return archive


def unschooled(archive: SmallArchive, **policy: Any) -> ArchiveJob:
    """The job without a schema in its archive file: the source speaks for itself."""
    file: ArchiveFile = replace(
        archive.file, source=replace(archive.file.source, schema=""), policy=replace(Policy(), **policy)
    )
    return replace(archive.job, file=file)


def change(archive: SmallArchive, slot: int, to: pa.Table) -> None:
    pq.write_table(to, archive.folder / "source" / f"{slot}.parquet")


def batch(archive: SmallArchive, slot: int) -> pa.Table:
    return archive.table_of([Record(slot, slot + 2, "c", 3)])


@pytest.mark.parametrize("drift", ["missing", "renamed", "widened", "narrowed", "text", "new"])
def test_drift_is_refused_with_both_schemas_and_changes_nothing(archive: SmallArchive, drift: str) -> None:
    table = batch(archive, 1)
    body = table.column("body")
    at = table.schema.get_field_index("body")
    drifted = {
        "missing": table.drop_columns(["body"]),
        "renamed": table.rename_columns(["key", "Body2", "ins", "until"]),
        "widened": table.set_column(at, "body", body.cast(pa.decimal128(20, 0))),
        "narrowed": table.set_column(at, "body", body.cast(pa.int32())),
        "text": table.set_column(at, "body", body.cast(pa.string())),
        "new": table.append_column("extra", pa.array([7], pa.int64())),
    }[drift]
    change(archive, 1, drifted)
    with pytest.raises(InvalidInput, match=r"archive: .*\n.*batch: "):
        update(unschooled(archive), [1])
    assert archive.snapshot().version == 1
    archive.check()


def test_a_new_column_comes_in_where_the_policy_says_so(archive: SmallArchive) -> None:
    change(archive, 1, batch(archive, 1).append_column("extra", pa.array([7], pa.int64())))
    outcome = update(unschooled(archive, new_column="add"), [1])
    assert outcome.version == 2, "one commit brings the column and the batch"
    assert [field.name for field in archive.snapshot().columns] == ["key", "body", "ins", "until", "extra"]
    # Rows that were there keep their hash: rewriting them beside the new column must conserve every cell.
    change(archive, 2, batch(archive, 2).append_column("extra", pa.array([8], pa.int64())))
    update(unschooled(archive, new_column="add"), [2])
    assert sorted(row[3] for row in archive.content()) == [2, 3, 3]


def with_extra(archive: SmallArchive, slot: int) -> None:
    change(archive, slot, batch(archive, slot).append_column("extra", pa.array([slot], pa.int64())))


def extras(archive: SmallArchive) -> list[tuple[int, str, int | None]]:
    """(slot, key, extra) of every record, as a reader sees them."""
    with Reader.open(archive.folder / "table", now_us=archive.job.clock) as reader:
        return reader.sql("select ins_slot, key, extra from live order by 1, 2").rows()


def widened_in_two_commits(archive: SmallArchive) -> None:
    """What an update that brought a column was before it was one commit."""
    snapshot = archive.snapshot()
    receipt = bare_receipt(archive.job, state_of(snapshot), Deed.WIDEN, "20260101T000000-old", "new columns: extra")
    fields = snapshot.schema.fields
    commit_schema(snapshot, receipt, Schema([*fields[:4], column("extra", "long"), *fields[4:]]))


@pytest.mark.parametrize("by", ["an update of today", "two commits"])
def test_batches_without_an_added_column_read_as_null(archive: SmallArchive, by: str) -> None:
    if by == "two commits":
        widened_in_two_commits(archive)
    with_extra(archive, 2)
    job = unschooled(archive, new_column="add")
    update(job, [2])
    change(archive, 1, batch(archive, 1))
    update(job, [1])
    update(unschooled(archive, new_column="reject"), [0])
    assert extras(archive) == [(0, "b", None), (1, "c", None), (2, "c", 2)]
    change(archive, 1, batch(archive, 1).drop_columns(["body"]))
    with pytest.raises(InvalidInput, match="body is missing"):
        update(job, [1])
    assert audit(archive.job).findings == ()


def test_slots_with_and_without_a_new_column_come_in_one_run(archive: SmallArchive) -> None:
    change(archive, 1, batch(archive, 1))
    with_extra(archive, 2)
    change(archive, 3, batch(archive, 3))
    update(unschooled(archive, new_column="add"), [1, 2, 3])
    assert extras(archive) == [(2, "c", 2), (3, "c", None)]
    change(archive, 2, batch(archive, 2).drop_columns(["until"]))
    with pytest.raises(InvalidInput, match="until is missing"):
        update(unschooled(archive, new_column="add"), [2, 3])


def test_a_new_column_of_two_types_in_one_run_is_refused(archive: SmallArchive) -> None:
    with_extra(archive, 1)
    change(archive, 2, batch(archive, 2).append_column("extra", pa.array(["x"])))
    with pytest.raises(InvalidInput, match="extra is bigint in one slot of the batch and string in another"):
        update(unschooled(archive, new_column="add"), [1, 2])
    assert archive.snapshot().version == 1


@pytest.mark.parametrize("in_commits", [1, 2])
def test_an_undo_leaves_the_column_there_empty(archive: SmallArchive, in_commits: int) -> None:
    if in_commits == 2:
        widened_in_two_commits(archive)
    with_extra(archive, 1)
    update(unschooled(archive, new_column="add"), [1])
    archive.now_us = now_us()
    undo(archive.job, to_version=1)
    archive.check()
    assert extras(archive) == [(0, "a", None), (0, "b", None)]
    update(unschooled(archive, new_column="add"), [1])
    assert extras(archive)[-1] == (1, "c", 1)
    assert audit(archive.job).findings == ()


@pytest.mark.parametrize("strategy", ["rebuild", "expire_rebuild", "no_rebuild"])
def test_whatever_an_update_takes_out_a_new_column_is_one_commit(tmp_path: Path, strategy: str) -> None:
    """Files dropped, replaced and rewritten in some sub-indices, of two generations, others staying beside them."""
    chance = random.Random(7)
    archive = SmallArchive(tmp_path, generation_of("round_robin", 2, 3, strategy, runs_max=3)).create()
    for slot in range(5):
        archive.update({slot: random_batch(chance, slot, 4)})
    archive.migrated_to(generation_of("round_robin", 1, 2, strategy))
    migrate(ArchiveJob(archive.job.location, clock=archive.job.clock), archive.generation, relocate=False)
    archive.update({5: random_batch(chance, 5, 4)})
    version = archive.snapshot().version
    for number, slots in enumerate(([3], [6], [7, 5])):
        batches = {slot: random_batch(chance, slot, 4) for slot in slots}
        for slot, records in batches.items():
            table = archive.table_of(records)
            change(archive, slot, table.append_column(f"extra{number}", pa.array([slot] * len(table), pa.int64())))
        outcome = update(unschooled(archive, new_column="add"), slots, confirmed=EVERYTHING)
        archive.oracle.update(batches)
        version += 1
        assert outcome.version == version
        archive.check()
    assert audit(archive.job).findings == ()


def test_overtaken_by_another_new_column_the_work_is_done_again(archive: SmallArchive) -> None:
    """The place of a column is part of a row's hash: files written for another place must not be committed."""
    with_extra(archive, 1)
    change(archive, 2, batch(archive, 2).append_column("other", pa.array([9], pa.int64())))
    overtaken = iter([True])

    def progress(step: str) -> None:
        if step == "writing" and next(overtaken, False):
            update(unschooled(archive, new_column="add"), [2])

    outcome = update(replace(unschooled(archive, new_column="add"), progress=progress), [1])
    assert outcome.tries == 2
    assert [field.name for field in archive.snapshot().columns][4:] == ["other", "extra"]
    assert audit(archive.job).findings == ()


def test_timestamps_without_a_zone_are_read_as_utc(archive: SmallArchive) -> None:
    table = batch(archive, 1)
    for name in ("ins", "until"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table.column(name).cast(pa.timestamp("us")))
    change(archive, 1, table)
    update(unschooled(archive), [1])
    assert [row[3] for row in archive.content()] == [1, 2, 3]


@pytest.mark.parametrize("name", ["valid_until", "ins_slot", "row_hash", "layout", "g", "__tw_x"])
def test_names_that_the_archive_uses_itself_are_refused(archive: SmallArchive, name: str) -> None:
    change(archive, 1, batch(archive, 1).append_column(name, pa.array([7], pa.int64())))
    with pytest.raises(InvalidInput, match=name):
        update(unschooled(archive, new_column="add"), [1])
    archive.check()


def test_columns_with_names_of_the_archives_own_come_in_under_others(archive: SmallArchive) -> None:
    renamed = {"g": "gravity", "Row_Hash": "their hash".replace(" ", "_"), "a b": "a_b", "absent": "other"}
    file = unschooled(archive, new_column="add").require_file()
    job = replace(archive.job, file=replace(file, source=replace(file.source, rename=renamed)))
    table = batch(archive, 1)
    for name in ("g", "row_hash", "a b"):
        table = table.append_column(name, pa.array([7], pa.int64()))
    change(archive, 1, table)
    update(job, [1])
    assert [field.name for field in archive.snapshot().columns][4:] == ["gravity", "their_hash", "a_b"]
    change(archive, 2, batch(archive, 2).append_column("g", pa.array([7])).append_column("Gravity", pa.array([8])))
    with pytest.raises(InvalidInput, match="the name gravity, which another column has"):
        update(job, [2])
    declared = replace(file.source, schema="key string, body bigint, ins timestamp, until timestamp, g int")
    fresh = replace(file, source=replace(declared, rename=renamed))
    snapshot = create(ArchiveJob(Location.of(archive.folder / "fresh"), fresh))
    assert [field.name for field in snapshot.columns][4:] == ["gravity"]


def test_a_map_is_refused_with_the_way_to_take_it(archive: SmallArchive) -> None:
    tags = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    change(archive, 1, batch(archive, 1).append_column("tags", tags))
    with pytest.raises(InvalidInput, match=r"tags map<string,bigint>[\s\S]*map_entries\(\)"):
        update(unschooled(archive, new_column="add"), [1])
    archive.check()
