"""A batch by Spark: read from its source, judged, and written with the remaining rows of the files to rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.procedure import Lap, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import Written, check_sizes
from tidewheel.indexing.core.fates import MALFORMED, UNPARSED
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_columns import with_new_columns
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.core.topics import known_offsets
from tidewheel.indexing.errors import TidewheelError
from tidewheel.jobs.data.drift import fitted
from tidewheel.jobs.data.judge import Judge
from tidewheel.jobs.data.schema import columns_of, delta_fields
from tidewheel.jobs.data.source import Seen, SourceBatch, read_batch, refuse_missing
from tidewheel.jobs.data.source_files import refuse_changed, refuse_unread
from tidewheel.jobs.data.stored_rows import kept_frames
from tidewheel.jobs.data.write import write_unparsed, write_work
from tidewheel.jobs.process.session import open_session


@dataclass(frozen=True)
class _Judged:
    """The source's records for a plan, the new columns that may have changed, and their judge."""

    plan: Plan
    frame: DataFrame
    source: SourceBatch
    new: Sequence[StructField]
    judge: Judge

    @property
    def rewritten(self) -> list[FileFact]:
        return [change.file for change in self.plan.rewritten]


def bring(one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
    """Write everything the plan needs into a folder of the attempt's own."""
    spark = open_session()
    lap("session")
    one.job.progress("reading the source")
    batch = _read(one, plan, spark)
    frames = [batch.judge.judged(batch.frame, spark)]
    lap("source")
    frames += kept_frames(spark, one.snapshot, batch.plan, batch.new)
    one.job.progress("writing")
    try:
        written = write_work(one.job, one.snapshot, one.state, batch.plan, folder, frames, batch.rewritten)
        written = _with_unparsed(one.job, batch, spark, folder, written)
    except TidewheelError:
        # A file that was exchanged is why it failed, and a reason to try again. Spark may be gone as well.
        with suppress(Py4JError, PySparkException, OSError):
            _refuse_changed(one, batch, spark)
        raise
    _refuse_changed(one, batch, spark)
    lap("write")
    check_conserved(one.job.command("audit"), one.state, batch.plan, written)
    _refuse_lacking(one, batch, spark, written)
    lap("check")
    return Work(
        batch.plan,
        folder,
        written,
        batch.source.lineage,
        batch.judge.capped_rows,
        batch.judge.late_rows,
        sum(file.rows for file in batch.rewritten),
        tuple(delta_fields(StructType([*batch.new]))),
        offsets=batch.source.offsets,
    )


def _read(one: Try, plan: Plan, spark: SparkSession) -> _Judged:
    """Return the batch in the archive's columns and, if the policy takes them, new ones of its own."""
    file, snapshot = one.job.require_file(), one.snapshot
    seen = Seen(known_offsets(one.state.ledger.batches), one.job.clock())
    batch = read_batch(spark, file, plan.slots, columns_of(snapshot), seen)
    frame, new = fitted(batch.frames, snapshot, file.policy.new_column)
    if new:
        plan = with_new_columns(one.state, plan)
        check_sizes(one.job.location, [change.file for change in plan.rewritten])
    columns = StructType([*columns_of(snapshot).fields, *new])
    return _Judged(plan, frame, batch, new, Judge(file, snapshot.definition, columns, plan))


def _refuse_changed(one: Try, batch: _Judged, spark: SparkSession) -> None:
    refuse_changed(spark, one.job.require_file().name, batch.source.listings)


def _refuse_lacking(one: Try, batch: _Judged, spark: SparkSession, written: Written) -> None:
    """Refuse slots that gave no record although some must have come."""
    file, axis = one.job.require_file(), one.state.definition.axis
    refuse_missing(file, batch.plan.slots, written.slots)
    names = {slot: axis.name(slot) for slot in batch.plan.slots}
    refuse_unread(spark, file.source, batch.source.listings, written.slots, names)


def _with_unparsed(job: ArchiveJob, batch: _Judged, spark: SparkSession, folder: str, written: Written) -> Written:
    """Add the text of records that could not be parsed. Cost, if there are any: the source once more."""
    if not any(rule == MALFORMED for _, rule in written.rules):
        return written
    job.progress("keeping what could not be parsed")
    paths = write_unparsed(job, batch.judge.unparsed(batch.frame, spark), folder)
    return replace(written, aside={**written.aside, UNPARSED: paths})
