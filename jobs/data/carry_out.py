"""Carry out a plan with Spark up to, and not including, its commit: read, filter, re-cluster, write, check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from time import monotonic, sleep

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegralType, StringType, StructField, StructType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, Written, check_sizes
from tidewheel.indexing.core.fates import MALFORMED, UNPARSED
from tidewheel.indexing.core.file_sizes import rows_per_file
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_columns import with_new_columns
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.jobs.data.drift import fitted
from tidewheel.jobs.data.expressions import column_of, listed, long, row_of
from tidewheel.jobs.data.judge import Judge
from tidewheel.jobs.data.schema import columns_of, delta_fields, full_schema_of
from tidewheel.jobs.data.source import read_batch
from tidewheel.jobs.data.spread import SourceKeys
from tidewheel.jobs.data.write import write_frame
from tidewheel.jobs.process.java import first_line
from tidewheel.jobs.process.session import open_session
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot

TASKS_END_S = 30


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
    spark = open_session()
    lap("session")
    frames: list[DataFrame] = []
    judge: Judge | None = None
    lineage: Mapping[int, tuple[str, ...]] = {}
    new: Sequence[StructField] = ()
    if plan.slots:
        file = job.require_file()
        job.progress("reading the source")
        batch = read_batch(spark, file, plan.slots, columns_of(snapshot))
        frame, new = fitted(batch.frames, snapshot, file.policy.new_column)
        if new:
            plan = with_new_columns(state, plan)
            sources = [change.file for change in plan.rewritten]
            check_sizes(job.location, sources)
        columns = StructType([*columns_of(snapshot).fields, *new])
        judge, lineage = Judge(file, snapshot.definition, columns, plan), batch.lineage
        frames.append(judge.judged(frame, spark))
        lap("source")
    frames += kept_frames(spark, snapshot, plan, sources, new)
    job.progress("writing")
    written = write_work(job, snapshot, state, plan, folder, frames, sources)
    if judge is not None and any(rule == MALFORMED for _, rule in written.rules):
        unparsed = _write_unparsed(job, judge.unparsed(frame, spark), folder)
        written = replace(written, aside={**written.aside, UNPARSED: unparsed})
    lap("write")
    check_conserved(job.command("audit"), state, plan, written)
    lap("check")
    return Work(
        plan,
        folder,
        written,
        lineage,
        judge.capped_rows if judge else 0,
        sum(file.rows for file in sources),
        tuple(delta_fields(StructType([*new]))),
    )


def _write_unparsed(job: ArchiveJob, frame: DataFrame, folder: str) -> tuple[str, ...]:
    """What could not be parsed, with its text, beside the attempt's files. Cost: the source once more."""
    job.progress("keeping what could not be parsed")
    path = f"{folder}/unparsed"
    try:
        frame.coalesce(1).write.parquet(f"{job.location.spark_uri}/{path}")
    except (PySparkException, Py4JJavaError) as error:
        raise _failed(job, error) from error
    below = job.location.files_below(path)
    return tuple(job.location.relative(info.path) for info in below if info.base_name.endswith(".parquet"))


def kept_frames(
    spark: SparkSession, snapshot: Snapshot, plan: Plan, sources: Sequence[FileFact], new: Sequence[StructField]
) -> list[DataFrame]:
    """What stays of the files to rewrite, by generation, each row placed as its generation says."""
    kept = ["true"]
    if plan.watermark is not None:
        kept.append(f"exp_slot > {long(plan.watermark)}")
    if plan.slots:
        kept.append(f"ins_slot not in ({listed(plan.slots)})")
    frames = []
    for number in sorted({file.generation for file in sources}):
        paths = [file.path for file in sources if file.generation == number]
        frame = read_files(spark, snapshot, paths, new).where(" and ".join(kept))
        frames.append(placed(frame, snapshot.definition.generation(number)))
    return frames


def read_files(spark: SparkSession, snapshot: Snapshot, paths: list[str], new: Sequence[StructField] = ()) -> DataFrame:
    """Data files as rows, without the partition columns that their folders name; new columns are NULL in them."""
    reader = spark.read.schema(full_schema_of(snapshot, new)).option("recursiveFileLookup", "true")
    return reader.parquet(*snapshot.location.spark_paths(paths))


def placed(frame: DataFrame, generation: Generation) -> DataFrame:
    """Rows with the sub-index they belong to under a generation."""
    layout = generation.layout
    return frame.selectExpr(
        "*", f"{generation.number} as layout", f"{row_of(layout)} as g", f"{column_of(layout)} as e"
    )


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
    target = plan.generation.target_file_bytes
    try:
        return write_frame(
            frame, job.location, folder, snapshot.definition, sizes, keys, rows_per_file(state, plan.generation), target
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
