"""The columns of a batch are asserted exactly; new ones come in only where the policy says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives import SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.definition import ArchiveFile, Policy
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.oracle import Record
from tidewheel.jobs.update import update

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    archive = SmallArchive(tmp_path, generation_of("round_robin", 1, 2)).create()
    archive.update({0: [Record(0, 2, "a", 1), Record(0, 3, "b", 2)]})
    return archive


def unschooled(archive: SmallArchive, **policy: str) -> ArchiveJob:
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
    assert outcome.version == 3, "one commit widens the schema, the next brings the batch"
    assert [field.name for field in archive.snapshot().columns] == ["key", "body", "ins", "until", "extra"]
    # Rows that were there keep their hash: rewriting them beside the new column must conserve every cell.
    change(archive, 2, batch(archive, 2).append_column("extra", pa.array([8], pa.int64())))
    update(unschooled(archive, new_column="add"), [2])
    assert sorted(row[3] for row in archive.content()) == [2, 3, 3]


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
