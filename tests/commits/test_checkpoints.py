"""Checkpoints that many processes write at once: every one of them is whole, and a broken one does not stay."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.commits import checkpoints
from tidewheel.commits.checkpoints import checkpoint_fault, write_checkpoint
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

PROCESSES = 8
VERSIONS = 5
ROUNDS = 8


def table_of_versions(folder: Path) -> BuiltTable:
    table = BuiltTable.create(folder, [column("key", "string")], ["key"], file_rows_max=2)
    for version in range(VERSIONS):
        rows = [table.row(version, (version + 3) * HOUR_US, key=f"{version} {n}" * 20) for n in range(40)]
        table.append(rows, watermark=version)
    return table


def write_and_read(path: str, files: list[int], start: object) -> None:
    """Write the checkpoint of every version, whatever is there, and read it, as often as said; exit code 0: whole."""
    start.wait()  # type: ignore[attr-defined]
    location = Location.of(path)
    # What is looked at is a moment from before anybody wrote: the worst of all.
    checkpoints.is_there = lambda location, version: False
    for _ in range(ROUNDS):
        for version, count in enumerate(files):
            write_checkpoint(location, opened(location, version))
            assert checkpoint_fault(location, version, count) == ""
            assert len(open_snapshot(location, version).files) == count
            assert len(open_snapshot(location).files) == files[-1]


def opened(location: Location, version: int) -> DeltaTable:
    return DeltaTable(location.delta_uri, version=version, storage_options=location.storage_options)


def written_by_eight(location: Location) -> None:
    """Eight processes write and read the checkpoints of all versions of a table at once; all are whole in the end."""
    files = [len(open_snapshot(location, version).files) for version in range(VERSIONS + 1)]
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(PROCESSES)
    writers = [context.Process(target=write_and_read, args=(location.uri, files, start)) for _ in range(PROCESSES)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert [writer.exitcode for writer in writers] == [0] * PROCESSES
    for version, count in enumerate(files):
        assert checkpoint_fault(location, version, count) == ""


def test_eight_processes_write_the_same_checkpoints(tmp_path: Path) -> None:
    written_by_eight(table_of_versions(tmp_path).location)


def test_a_checkpoint_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    table = table_of_versions(tmp_path)
    for _ in range(2):
        write_checkpoint(table.location, table.snapshot.table)
        [path] = (tmp_path / "_delta_log").glob("*.checkpoint.parquet")
        moment_ns = path.stat().st_mtime_ns
    assert path.stat().st_mtime_ns == moment_ns


@pytest.mark.parametrize("how", ["cut", "empty", "fewer files"])
def test_a_checkpoint_that_is_not_whole_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    table = table_of_versions(tmp_path)
    before = table.snapshot.files
    snapshot_table = table.snapshot.table

    def damaged(location: Location, version: int, files: int) -> str:
        [path] = (tmp_path / "_delta_log").glob("*.checkpoint.parquet")
        content = path.read_bytes()
        if how == "fewer files":
            rows = pq.read_table(path)
            added = [at for at, add in enumerate(rows.column("add").to_pylist()) if add is not None]
            pq.write_table(rows.take([at for at in range(len(rows)) if at != added[0]]), path)
        else:
            path.write_bytes(content[: len(content) // 2] if how == "cut" else b"")
        return checkpoint_fault(location, version, files)

    monkeypatch.setattr(checkpoints, "checkpoint_fault", damaged)
    write_checkpoint(table.location, snapshot_table)
    assert not list((tmp_path / "_delta_log").glob("*checkpoint*"))
    assert table.snapshot.files == before
