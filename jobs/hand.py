"""Spark as the hand of operations that move rows of the archive's own files: expire, forget, migrate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.procedure import Hits, Lap, Swept, Try
from tidewheel.commits.side_tables.in_use import side_tables
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.work import Work
from tidewheel.indexing.core.cells import HASH_MODULUS, Cell
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import ForgetPlan, MigratePlan, Selection
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.expressions import keyed_digest, long, quoted
from tidewheel.jobs.data.forget_selection import matched
from tidewheel.jobs.data.key_digests import key_digests, record_digests
from tidewheel.jobs.data.predicate import NOTHING_CHANGED, computing
from tidewheel.jobs.data.schema import full_schema_of
from tidewheel.jobs.data.side_sweep import selected_rows
from tidewheel.jobs.data.stored_rows import placed, read_files
from tidewheel.jobs.data.write import write_work
from tidewheel.jobs.process.session import open_session
from tidewheel.storage.snapshot import Snapshot

# Whole records that one predicate may match: their digests ride in the commit.
PREDICATE_RECORDS_MAX = 50_000


class SparkHand:
    """`commits.procedure.Hand` by Spark."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """Write the remaining rows of the files to rewrite, sorted, into the sub-indices where they belong."""
        sources = [change.file for change in plan.rewritten]
        relocates = isinstance(plan, MigratePlan)
        open_session()
        lap("session")
        frames = []
        for number in sorted({file.generation for file in sources}):
            files = [file for file in sources if file.generation == number]
            generation = plan.generation if relocates else one.state.definition.generation(number)
            frames.append(_kept(one.snapshot, plan, files, generation))
        # What a migration writes goes elsewhere: where its sources are tells nothing of that.
        written = write_work(one.job, one.snapshot, one.state, plan, folder, frames, () if relocates else sources)
        lap("write")
        return Work(plan, folder, written, rows_read=sum(file.rows for file in sources))

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        """Return the selected records, by file. Cost: one scan; for a predicate, the files that it hits once more."""
        cells = _matching_cells(snapshot, selection, files)
        digests = _matching_digests(snapshot, selection, sorted(cells)) if selection.where and cells else {}
        return {path: Hits(there, frozenset(digests.get(path, ()))) for path, there in cells.items()}

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        """Return the digests of these keys for tombstones."""
        return frozenset(key_digests(open_session(), snapshot, keys))

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        """Return the digests of these records for tombstones that know them by these columns."""
        return record_digests(open_session(), snapshot, columns, rows)

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        """Remove the selected records from the side tables."""
        snapshot = job.snapshot()
        state = NOTHING_CHANGED if dry_run else "What was stored is forgotten, what lies beside it is not"

        digests, slots = set[str](), set[int]()

        def selected(side: SideTable, rows: pa.Table) -> Iterable[int]:
            found = selected_rows(side, snapshot, selection, rows)
            digests.update(found.values())
            if side.filled:  # what is quarantined is not counted by anybody
                slots.update(rows.column(side.slot).take(pa.array(found, pa.int64())).to_pylist())
            return found

        with computing(selection.where, full_schema_of(snapshot), state):
            swept = [side.sweep(job.location, partial(selected, side), dry_run=dry_run) for side in side_tables(job)]
        if not selection.where:
            return Swept(sum(swept))
        _refuse_many(len(digests))
        return Swept(sum(swept), frozenset(digests), frozenset(slots))


def _kept(snapshot: Snapshot, plan: Plan, files: Sequence[FileFact], generation: Generation) -> DataFrame:
    spark = open_session()
    frame = read_files(spark, snapshot, [file.path for file in files])
    if isinstance(plan, ForgetPlan):
        columns = map(quoted, frame.columns)
        frame = matched(frame, plan.selection, spark, snapshot)
        frame = frame.where(~F.col("__tw_forgotten")).selectExpr(*columns)
    if plan.watermark is not None:
        frame = frame.where(f"exp_slot > {long(plan.watermark)}")
    return placed(frame, generation)


def _matching_cells(
    snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]
) -> Mapping[str, Mapping[tuple[int, int], Cell]]:
    """Return the cells of the records that match, live or dead, by file."""
    hits = _matching(snapshot, selection, [file.path for file in files])
    low, high = F.col("row_hash").bitwiseAND(0xFFFFFFFF), F.shiftright("row_hash", 32)
    groups = hits.groupBy("__tw_path", "ins_slot", "exp_slot")
    cells: dict[str, dict[tuple[int, int], Cell]] = defaultdict(dict)
    sums = groups.agg(F.count("*").alias("rows"), F.sum(low).alias("low"), F.sum(high).alias("high"))
    with computing(selection.where, full_schema_of(snapshot)):
        rows = sums.collect()
    for row in rows:
        cell = Cell(row["rows"], (row["high"] * (1 << 32) + row["low"]) % HASH_MODULUS)
        cells[_relative(snapshot, row["__tw_path"])][row["ins_slot"], row["exp_slot"]] = cell
    return cells


def _matching_digests(snapshot: Snapshot, selection: Selection, paths: list[str]) -> Mapping[str, set[str]]:
    """Return the digests of the records that match, by file."""
    columns = [field.name for field in snapshot.columns]
    digest = f"{keyed_digest(columns, snapshot.definition.salt)} as digest"
    hits = _matching(snapshot, selection, paths).selectExpr("__tw_path", digest).distinct()
    with computing(selection.where, full_schema_of(snapshot)):
        rows = hits.limit(PREDICATE_RECORDS_MAX + 1).collect()
    _refuse_many(len(rows))
    digests: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        digests[_relative(snapshot, row["__tw_path"])].add(row["digest"])
    return digests


def _refuse_many(records: int) -> None:
    if records > PREDICATE_RECORDS_MAX:
        raise InvalidInput(
            f"the predicate matches more than {PREDICATE_RECORDS_MAX} records. Nothing was changed",
            "narrow it and forget in several steps, or forget by key",
        )


def _matching(snapshot: Snapshot, selection: Selection, paths: list[str]) -> DataFrame:
    spark = open_session()
    frame = read_files(spark, snapshot, paths).withColumn("__tw_path", F.col("_metadata.file_path"))
    return matched(frame, selection, spark, snapshot).where("__tw_forgotten")


def _relative(snapshot: Snapshot, path: str) -> str:
    """Return a path of Spark's as the log names it."""
    return unquote(path).rpartition(f"{snapshot.location.root}/")[2]
