"""Forget: records of some keys, or those a predicate selects, leave for good, in one commit.

1. The files that hold a matching record are found, live or dead; only they are rewritten.
2. The commit carries tombstones: keyed digests with the last applied slot as bound, never a value. Every later batch,
   replay and backfill up to that bound is filtered by them, until nothing they cover could still be alive.
3. For keys the tombstones are the keys' digests. For a predicate they are the digests of the whole records it
   matched: a predicate's own text would be a value, and its keys would forget records that it does not match.
4. The quarantine is swept by the same match, after the commit; a rerun sweeps again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, Try, attempt
from tidewheel.commits.commit import commit
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.receipt import receipt_of
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, check_sizes
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.plan import Plan, plan_forget
from tidewheel.indexing.receipts import HASH_MODULUS, Cell, Receipt, Tombstone
from tidewheel.jobs.carry_out import placed, read_files, write_work
from tidewheel.jobs.expressions import keyed_digest, quoted
from tidewheel.jobs.judge import marked_forgotten
from tidewheel.jobs.quarantine import sweep_quarantine
from tidewheel.jobs.schema import columns_of
from tidewheel.jobs.session import open_session
from tidewheel.jobs.source import first_line

# Whole records that one predicate may match: their digests ride in the commit.
PREDICATE_RECORDS_MAX = 50_000
_EVER = (1 << 62) - 1


@dataclass(frozen=True)
class Selection:
    """What to forget: key values as text, one tuple per key, or an SQL predicate over the archive's columns."""

    keys: tuple[tuple[str, ...], ...] = ()
    where: str = ""

    def __post_init__(self) -> None:
        if bool(self.keys) == bool(self.where.strip()):
            raise InvalidInput("forget needs keys or a predicate, one of the two", "give --key, --keys-file or --where")


def forget(job: ArchiveJob, *, keys: Iterable[Sequence[str]] = (), where: str = "", dry_run: bool = False) -> Outcome:
    """Remove the matching records, and filter them out of everything that comes up to the last applied slot."""
    selection = Selection(tuple(dict.fromkeys(tuple(key) for key in keys)), where)
    operation = _Forget(selection)
    outcome = attempt(replace(job, file=None), operation, dry_run=dry_run)
    if not dry_run:
        snapshot = job.snapshot()
        swept = sweep_quarantine(
            job, columns_of(snapshot), lambda frame: operation.matched(frame, open_session(), snapshot.definition)
        )
        reach("quarantine_swept")
        if swept:
            job.progress(f"{swept} quarantined records forgotten as well")
    return outcome


@dataclass
class _Forget:
    selection: Selection
    found: dict[tuple[int, int], Cell] = field(default_factory=dict)

    def plan(self, one: Try) -> Plan:
        spark, definition = open_session(), one.state.definition
        if one.state.ledger.applied == ():
            return plan_forget(one.state, ())
        slot_max = max(last for _, last in one.state.ledger.applied)
        if self.selection.keys:
            paths = self._find(one, spark)
            digests = self._key_digests(spark, definition, one)
            columns = definition.key
        else:
            paths = self._find(one, spark)
            digests = self._record_digests(one, spark, paths)
            columns = tuple(field.name for field in one.snapshot.columns)
        tombstones = tuple(Tombstone(columns, digest, slot_max) for digest in sorted(digests))
        return replace(plan_forget(one.state, paths), tombstones=tombstones)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        new = set(plan.tombstones) - set(one.state.ledger.tombstones)
        return bool(plan.rewritten) or bool(new)

    def work(self, one: Try, plan: Plan, folder: str, lap: Callable[[str], None]) -> Work:
        sources = [change.file for change in plan.rewritten]
        if not sources:
            return Work(plan, folder, NOTHING_WRITTEN)
        spark = open_session()
        frames = []
        for number in sorted({file.generation for file in sources}):
            paths = [file.path for file in sources if file.generation == number]
            frame = self.matched(read_files(spark, one.snapshot, paths), spark, one.state.definition)
            columns = read_files(spark, one.snapshot, paths).columns
            frame = frame.where(~F.col("__tw_forgotten")).selectExpr(*map(quoted, columns))
            if plan.watermark is not None:
                frame = frame.where(F.col("exp_slot") > plan.watermark)
            frames.append(placed(frame, one.state.definition.generation(number)))
        one.job.progress(f"rewriting {len(sources)} files")
        written = write_work(one.job, one.snapshot, one.state, plan, folder, frames, sources)
        reach("files_written")
        check_conserved(one.state, plan, written, self.found)
        lap("write")
        return Work(plan, folder, written, rows_read=sum(file.rows for file in sources))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        by_slot: dict[int, dict[int, Cell]] = {}
        for (slot, expiration), cell in self.found.items():
            by_slot.setdefault(slot, {})[expiration] = cell
        return replace(receipt, forgotten=tuple(sorted(by_slot.items())), tombstones=plan.tombstones)

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        return commit(one.snapshot, receipt, work.written.files, [change.file for change in plan.rewritten])

    def matched(self, frame: DataFrame, spark: SparkSession, definition: Any) -> DataFrame:
        """The frame with `__tw_forgotten`: whether the selection matches the record."""
        if self.selection.where:
            try:
                return frame.withColumn("__tw_forgotten", F.coalesce(F.expr(self.selection.where), F.lit(False)))
            except AnalysisException as error:
                raise InvalidInput(
                    f"the predicate {self.selection.where!r} cannot be computed: {first_line(error)}. "
                    "Nothing was changed",
                    "use the archive's columns: " + ", ".join(frame.columns),
                ) from error
        digests = self._digests_of(spark, definition, dict(frame.dtypes))
        tombstones = [Tombstone(definition.key, digest, _EVER) for digest in digests]
        return marked_forgotten(frame, tombstones, definition.salt, spark)

    def _find(self, one: Try, spark: SparkSession) -> list[str]:
        """The files that hold a match; `found` becomes the live cells that will go. Cost: one scan."""
        self.found = {}
        if not one.state.files:
            return []
        check_sizes(one.job.location, one.state.files)
        frame = read_files(spark, one.snapshot, [file.path for file in one.state.files])
        frame = frame.withColumn("__tw_path", F.col("_metadata.file_path"))
        hits = self.matched(frame, spark, one.state.definition).where("__tw_forgotten")
        low, high = F.col("row_hash").bitwiseAND(0xFFFFFFFF), F.shiftright("row_hash", 32)
        groups = hits.groupBy("__tw_path", "ins_slot", "exp_slot")
        paths = set()
        for row in groups.agg(F.count("*").alias("rows"), F.sum(low).alias("low"), F.sum(high).alias("high")).collect():
            path = unquote(row["__tw_path"])
            paths.add(next(file.path for file in one.state.files if path.endswith(f"/{file.path}")))
            if one.state.watermark is None or row["exp_slot"] > one.state.watermark:
                at = (row["ins_slot"], row["exp_slot"])
                cell = Cell(row["rows"], (row["high"] * (1 << 32) + row["low"]) % HASH_MODULUS)
                self.found[at] = self.found[at].plus(cell) if at in self.found else cell
        return sorted(paths)

    def _key_digests(self, spark: SparkSession, definition: Any, one: Try) -> list[str]:
        kinds = {field.name: field.dataType.simpleString() for field in columns_of(one.snapshot).fields}
        return self._digests_of(spark, definition, kinds)

    def _digests_of(self, spark: SparkSession, definition: Any, kinds: Mapping[str, str]) -> list[str]:
        """The digests of the keys asked for; text that is no value of the key's type is refused."""
        width = len(definition.key)
        for key in self.selection.keys:
            if len(key) != width:
                raise InvalidInput(
                    f"the key of archive {definition.name} is ({', '.join(definition.key)}), got {len(key)} values",
                    "give a value for each key column",
                )
        names = [f"__tw_key_{number}" for number in range(width)]
        listed = spark.createDataFrame(list(self.selection.keys), ", ".join(f"{name} string" for name in names))
        cast = [
            F.expr(f"try_cast({name} as {kinds[column]})").alias(column)
            for name, column in zip(names, definition.key, strict=True)
        ]
        typed = listed.select(*cast)
        bad = typed.where(" or ".join(f"{quoted(column)} is null" for column in definition.key)).count()
        if bad:
            said = ", ".join(f"{column} {kinds[column]}" for column in definition.key)
            raise InvalidInput(f"{bad} of the keys are not values of ({said})", "correct them; nothing was changed")
        for column in definition.key:
            if kinds[column] in ("float", "double"):
                typed = _with_both_zeros(typed, column)
        return [row[0] for row in typed.selectExpr(keyed_digest(definition.key, definition.salt)).distinct().collect()]

    def _record_digests(self, one: Try, spark: SparkSession, paths: list[str]) -> list[str]:
        if not paths:
            return []
        hits = self.matched(read_files(spark, one.snapshot, paths), spark, one.state.definition).where("__tw_forgotten")
        columns = [field.name for field in one.snapshot.columns]
        digests = hits.selectExpr(keyed_digest(columns, one.state.definition.salt)).distinct()
        rows = digests.limit(PREDICATE_RECORDS_MAX + 1).collect()
        if len(rows) > PREDICATE_RECORDS_MAX:
            raise InvalidInput(
                f"the predicate matches more than {PREDICATE_RECORDS_MAX} records. Nothing was changed",
                "narrow it and forget in several steps, or forget by key",
            )
        return [row[0] for row in rows]


def _with_both_zeros(keys: DataFrame, column: str) -> DataFrame:
    """0.0 and -0.0 are equal and have two digests: who forgets one of them forgets both."""
    name = quoted(column)
    zeros = f"explode(if({name} = 0, array({name}, -{name}), array({name}))) as {name}"
    return keys.selectExpr(*(zeros if one == column else quoted(one) for one in keys.columns))
