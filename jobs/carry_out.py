"""Carry out a plan up to, and not including, its commit: read, filter, re-cluster, write, check.

What was written is checked before it may be committed: the cells that went in (by the ledger, less what the plan
takes out, plus the batch) must be the cells that came out. In a sub-index of which some files stay, that can be told
where these hold other insertion slots.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from time import monotonic, sleep
from types import MappingProxyType

from py4j.protocol import Py4JJavaError
from pyarrow.fs import FileType
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegralType, StringType, StructField, StructType

from tidewheel.indexing.errors import Damaged, InvalidInput, TidewheelError
from tidewheel.indexing.layouts import Generation
from tidewheel.indexing.plan import Plan
from tidewheel.indexing.receipts import Cell
from tidewheel.indexing.state import FileFact, SubIndex, TableState
from tidewheel.jobs.archive import ArchiveJob
from tidewheel.jobs.expressions import column_of, listed, long, row_of
from tidewheel.jobs.judge import Judge
from tidewheel.jobs.schema import added_columns, columns_of, full_schema_of
from tidewheel.jobs.source import first_line, read_batch
from tidewheel.jobs.spread import SourceKeys
from tidewheel.jobs.write import NOTHING_WRITTEN, Written, check_sizes, write_frame
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot

LOG = logging.getLogger(__name__)
ROW_BYTES_ASSUMED = 200
TASKS_END_S = 30
EVERY_SLOT = range(-(1 << 62), 1 << 62)


@dataclass(frozen=True)
class Work:
    """What an attempt has written for a plan, not committed yet."""

    plan: Plan
    folder: str
    written: Written
    lineage: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    capped_rows: int = 0
    rows_read: int = 0


def carry_out(
    job: ArchiveJob,
    snapshot: Snapshot,
    state: TableState,
    plan: Plan,
    folder: str,
    lap: Callable[[str], None],
) -> Work:
    """Write everything the plan needs into `folder`. A plan that only drops files costs nothing."""
    if not plan.slots and not plan.rewritten:
        return Work(plan, folder, NOTHING_WRITTEN)
    sources = [change.file for change in plan.rewritten]
    check_sizes(job.location, sources)
    spark = job.spark()
    lap("session")
    frames: list[DataFrame] = []
    judge: Judge | None = None
    lineage: Mapping[int, tuple[str, ...]] = {}
    if plan.slots:
        file = job.require_file()
        job.progress("reading the source")
        batch = read_batch(spark, file, plan.slots, columns_of(snapshot))
        _refuse_drift(snapshot, batch.frame.schema, file.policy.new_column)
        judge, lineage = Judge(file, snapshot.definition, columns_of(snapshot), plan), batch.lineage
        frames.append(judge.judged(batch.frame, spark))
        lap("source")
    frames += kept_frames(spark, snapshot, plan, sources)
    job.progress("writing")
    written = write_work(job, snapshot, state, plan, folder, frames, sources)
    lap("write")
    check_conserved(state, plan, written)
    lap("check")
    return Work(
        plan,
        folder,
        written,
        lineage,
        judge.capped_rows if judge else 0,
        sum(file.rows for file in sources),
    )


def kept_frames(spark: SparkSession, snapshot: Snapshot, plan: Plan, sources: Sequence[FileFact]) -> list[DataFrame]:
    """What stays of the files to rewrite, by generation, each row placed as its generation says."""
    kept = ["true"]
    if plan.watermark is not None:
        kept.append(f"exp_slot > {long(plan.watermark)}")
    if plan.slots:
        kept.append(f"ins_slot not in ({listed(plan.slots)})")
    frames = []
    for number in sorted({file.generation for file in sources}):
        paths = [file.path for file in sources if file.generation == number]
        frame = read_files(spark, snapshot, paths).where(" and ".join(kept))
        frames.append(placed(frame, snapshot.definition.generation(number)))
    return frames


def read_files(spark: SparkSession, snapshot: Snapshot, paths: list[str]) -> DataFrame:
    """Data files as rows, without the partition columns that their folders name."""
    reader = spark.read.schema(full_schema_of(snapshot)).option("recursiveFileLookup", "true")
    return reader.parquet(*snapshot.location.spark_paths(paths))


def placed(frame: DataFrame, generation: Generation) -> DataFrame:
    """Rows with the sub-index they belong to under a generation."""
    layout = generation.layout
    return frame.selectExpr(
        "*", f"{generation.number} as layout", f"{row_of(layout)} as g", f"{column_of(layout)} as e"
    )


def discard(location: Location, folder: str) -> None:
    """Delete what an attempt wrote and certainly did not commit; what stays behind is vacuum's."""
    try:
        if location.filesystem.get_file_info(location.child(folder)).type == FileType.Directory:
            location.filesystem.delete_dir(location.child(folder))
    except OSError as error:
        LOG.warning("the uncommitted folder %s could not be deleted; vacuum will: %s", folder, error)


def _refuse_drift(snapshot: Snapshot, batch: StructType, policy: str) -> None:
    new = added_columns(batch, columns_of(snapshot), policy, snapshot.definition.name)
    if new:
        raise NewColumns(new)


class NewColumns(TidewheelError):
    """The batch brings columns that the policy takes: widen the archive first, then plan again."""

    def __init__(self, columns: Sequence[StructField]) -> None:
        super().__init__(f"{len(columns)} new columns")
        self.columns = columns


def write_work(
    job: ArchiveJob,
    snapshot: Snapshot,
    state: TableState,
    plan: Plan,
    folder: str,
    frames: Sequence[DataFrame],
    sources: Sequence[FileFact],
) -> Written:
    """Write placed frames into one folder; Spark's failures come back as errors with a remedy.

    `sources` are the files among those read whose rows stay in their sub-index.
    """
    frame = reduce(lambda left, right: left.unionByName(right), frames)
    sizes = expected_sizes(state, plan)
    key = snapshot.definition.key[0]
    comparable = isinstance(columns_of(snapshot)[key].dataType, IntegralType | StringType)
    keys = SourceKeys(job.location, key, sources if comparable else ())
    rows = sum(file.rows for file in state.files)
    row_bytes = sum(file.bytes for file in state.files) / rows if rows else ROW_BYTES_ASSUMED
    target = plan.generation.target_file_bytes
    try:
        return write_frame(
            frame, job.location, folder, snapshot.definition, sizes, keys, max(1, int(target / row_bytes)), target
        )
    except (PySparkException, Py4JJavaError) as error:
        _end_writers(frame.sparkSession)
        raise _failed(job, error) from error


def _end_writers(spark: SparkSession) -> None:
    """Let go of what is to be discarded: other tasks of the failed job still write, failed writers hold files open."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    end = monotonic() + TASKS_END_S
    while any(one.numRunningTasks() for one in tracker.getExecutorInfos()) and monotonic() < end:
        sleep(0.05)
    # On a full disk a writer fails to close, too; Java closes it when it collects it, and frees the space only then.
    spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]


def expected_sizes(state: TableState, plan: Plan) -> dict[SubIndex, int]:
    """Bytes each sub-index will get, as far as the state tells: to share the work out evenly."""
    sizes: dict[SubIndex, int] = {}
    for change in plan.rewritten:
        sizes[change.file.subindex] = sizes.get(change.file.subindex, 0) + change.file.bytes
    layout = plan.generation.layout
    share = sum(file.bytes for file in state.files) // max(1, layout.span * layout.expiration_classes)
    for g in {layout.row_of(slot) for slot in plan.slots}:
        for e in range(layout.expiration_classes):
            at = (plan.generation.number, g, e)
            sizes[at] = sizes.get(at, 0) + share
    return sizes


def check_conserved(
    state: TableState,
    plan: Plan,
    written: Written,
    forgotten: Mapping[tuple[int, int], Cell] = MappingProxyType({}),
) -> None:
    """Refuse to commit files that lost, doubled or changed a row, wherever the ledger tells what was in those read."""
    told = _slots_told(state, plan)
    expected: dict[SubIndex, dict[tuple[int, int], Cell]] = {at: {} for at in told}
    for slot, record in state.ledger.records.items():
        if slot in plan.slots:
            continue
        layout = state.definition.generation(record.generation).layout
        for expiration, cell in record.cells.items():
            at = (record.generation, layout.row_of(slot), layout.column_of(expiration))
            if slot in told.get(at, ()) and (plan.watermark is None or expiration > plan.watermark):
                left = cell.minus(forgotten.get((slot, expiration), Cell(0, 0)))
                if left.rows:
                    expected[at][(slot, expiration)] = left
    for at in told:
        found = {c: v for c, v in written.cells.get(at, {}).items() if c[0] not in plan.slots}
        if found != expected[at]:
            raise _not_conserved(state, f"sub-index {at}", found, expected[at])


def _slots_told(state: TableState, plan: Plan) -> dict[SubIndex, range]:
    """By sub-index with files rewritten: the insertion slots whose records all were in files that go.

    All slots if no file stays; else those of the files rewritten, unless a file that stays has one of them, too.
    """
    rewritten = {change.file.path for change in plan.rewritten}
    going = rewritten | {change.file.path for change in plan.dropped}
    groups = state.by_subindex()
    told = {}
    for at in {change.file.subindex for change in plan.rewritten}:
        read = [file for file in groups[at] if file.path in rewritten]
        staying = [file for file in groups[at] if file.path not in going]
        first, last = min(file.ins_min for file in read), max(file.ins_max for file in read)
        if not staying:
            told[at] = EVERY_SLOT
        elif not any(file.ins_min <= last and first <= file.ins_max for file in staying):
            told[at] = range(first, last + 1)
    return told


def check_all_conserved(state: TableState, written: Written) -> None:
    """The same for a move of everything: all cells alive go in, and come out."""
    found: dict[tuple[int, int], Cell] = {}
    for cells in written.cells.values():
        for at, cell in cells.items():
            found[at] = found[at].plus(cell) if at in found else cell
    expected = state.ledger.cells()
    if found != expected:
        raise _not_conserved(state, "the archive", found, expected)


def _not_conserved(
    state: TableState, what: str, found: Mapping[tuple[int, int], Cell], expected: Mapping[tuple[int, int], Cell]
) -> Damaged:
    wrong = sorted(at for at in found.keys() | expected.keys() if found.get(at) != expected.get(at))
    return Damaged(
        f"{what} does not hold what the ledger says: {len(wrong)} cells differ, the first is "
        f"(insertion slot {wrong[0][0]}, expiration slot {wrong[0][1]}). Nothing was changed",
        f"name the cells and files: tidewheel audit {state.definition.name}",
        cells=wrong,
    )


def _failed(job: ArchiveJob, error: Exception) -> TidewheelError:
    """A Spark failure by what the caller can do about it."""
    text = str(error)
    said = _deepest(text) or first_line(error)
    return machine_fault(text, f"while writing to {job.location.uri}", said) or InvalidInput(
        f"Spark could not carry out the update: {said}. Nothing was changed",
        "if it names a source file, check that file; if a value cannot be cast, use try_cast in [archive] expires_at",
    )


def _deepest(text: str) -> str:
    """The innermost cause that a Java stack trace names."""
    causes = [line.removeprefix("Caused by: ").strip() for line in text.splitlines() if line.startswith("Caused by: ")]
    return causes[-1][:500] if causes else ""
