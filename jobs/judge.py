"""Every record of a batch is judged before it is stored, and none vanishes without a count.

A record's fate, in this order: forgotten (a tombstone covers it), quarantined (it breaks a rule), short-lived
(it expired before its own update), dead on arrival (it expired before the watermark), stored. Rules, in order:
null_key, null_expiry, future, expired_on_arrival, too_long.

Stored and quarantined records go on with their values. The others go on as empty rows that only say their slot and
fate, so that one pass over the source writes and counts everything: a fate is `layout` = FATES with the code of
the fate, or of the broken rule, in `exp_slot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StringType, StructType, TimestampType

from tidewheel.indexing.definition import ArchiveFile, Definition, Verdict
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.plan import Plan
from tidewheel.indexing.receipts import Tombstone
from tidewheel.jobs.expressions import column_of, expiration_slot_of, keyed_digest, quoted, row_hash, row_of

FATES = -1  # the layout number of what is not stored
COUNTED, QUARANTINED = 0, 1  # its rows: without and with values
SHORT_LIVED, DEAD_ON_ARRIVAL, FORGOTTEN = 1, 2, 3
RULES = ("null_key", "null_expiry", "future", "expired_on_arrival", "too_long")


@dataclass(frozen=True)
class Judge:
    """The rules of one archive for one plan."""

    file: ArchiveFile
    definition: Definition
    schema: StructType
    plan: Plan
    capped: Observation = field(default_factory=Observation)

    def judged(self, batch: DataFrame, spark: SparkSession) -> DataFrame:
        """The batch with everything the table stores, placed by `layout`, `g` and `e`."""
        frame = batch.withColumns({"__tw_ins": self._inserted_us(batch), "__tw_until": self._expires_us(batch)})
        frame = marked_forgotten(frame, self.plan.tombstones, self.definition.salt, spark)
        limit = F.col("__tw_ins") + F.lit(self.definition.max_lifetime_us)
        if self.file.policy.too_long is Verdict.CAP:
            frame = frame.withColumn("__tw_uncapped", F.col("__tw_until"))
            frame = frame.withColumn("__tw_until", F.least(F.col("__tw_until"), limit))
        expiration = expiration_slot_of(F.col("__tw_until"), self.definition.axis)
        frame = frame.withColumns({"exp_slot": expiration, "__tw_rule": self._broken_rule(limit)})
        frame = frame.withColumn("__tw_fate", self._fate())
        if self.file.policy.too_long is Verdict.CAP:
            stored = (F.col("__tw_fate") == 0) & F.col("__tw_rule").isNull()
            frame = frame.observe(self.capped, F.count_if(stored & (F.col("__tw_uncapped") > limit)).alias("rows"))
        return self._placed(frame)

    @property
    def capped_rows(self) -> int:
        """How many stored records had their life capped; known once the frame was written."""
        return int(self.capped.get["rows"]) if self.file.policy.too_long is Verdict.CAP else 0

    def _broken_rule(self, limit: Column) -> Column:
        """The number of the first broken rule, or NULL."""
        key_missing = F.lit(False)
        for name in self.definition.key:
            key_missing = key_missing | F.col(quoted(name)).isNull()
        slot_end = (F.col("ins_slot") + 1) * self.definition.axis.interval_us + self.definition.axis.epoch_us
        broken = {
            "null_key": key_missing,
            "null_expiry": F.col("__tw_until").isNull(),
            "future": F.col("__tw_ins").isNull() | (F.col("__tw_ins") >= slot_end),
            "expired_on_arrival": F.col("__tw_until") <= F.col("__tw_ins"),
            "too_long": F.col("__tw_until") > limit,
        }
        return F.coalesce(*[F.when(broken[rule], F.lit(number)) for number, rule in enumerate(RULES)])

    def _fate(self) -> Column:
        """0 for stored and quarantined records, else the code of the fate."""
        dead = F.lit(False)
        if self.plan.watermark is not None:
            dead = F.col("exp_slot") <= self.plan.watermark
        fate = F.when(F.col("__tw_forgotten"), FORGOTTEN).when(F.col("__tw_rule").isNotNull(), 0)
        fate = fate.when(F.col("exp_slot") <= F.col("ins_slot"), SHORT_LIVED).when(dead, DEAD_ON_ARRIVAL)
        return fate.otherwise(0)

    def _placed(self, frame: DataFrame) -> DataFrame:
        generation = self.plan.generation
        layout = generation.layout
        gone = F.col("__tw_fate") != 0
        held = ~gone & F.col("__tw_rule").isNotNull()
        aside = gone | held
        values = [F.when(~gone, F.col(quoted(f.name))).alias(f.name) for f in self.schema.fields]
        code = F.when(gone, F.col("__tw_fate")).otherwise(F.col("__tw_rule"))
        frame = frame.withColumn("valid_until", F.timestamp_micros(F.col("__tw_until")))
        return frame.select(
            *values,
            F.col("ins_slot"),
            F.when(aside, code.cast("long")).otherwise(F.col("exp_slot")).alias("exp_slot"),
            F.when(~aside, F.col("valid_until")).alias("valid_until"),
            F.when(~aside, row_hash(self.schema.fieldNames())).alias("row_hash"),
            F.when(aside, FATES).otherwise(generation.number).alias("layout"),
            F.when(gone, COUNTED).when(held, QUARANTINED).otherwise(row_of(layout, F.col("ins_slot"))).alias("g"),
            F.when(aside, 0).otherwise(column_of(layout, F.col("exp_slot"))).alias("e"),
        )

    def _inserted_us(self, batch: DataFrame) -> Column:
        """When the record came: its own column, or the start of its slot."""
        if self.file.inserted_at:
            return _micros_of(batch, self.file.inserted_at, "inserted_at")
        axis = self.definition.axis
        return F.col("ins_slot") * axis.interval_us + axis.epoch_us

    def _expires_us(self, batch: DataFrame) -> Column:
        return _micros_of(batch, self.file.expires_at, "expires_at")


def marked_forgotten(frame: DataFrame, tombstones: Sequence[Tombstone], salt: str, spark: SparkSession) -> DataFrame:
    """The frame with `tw_forgotten`: whether a tombstone covers the record."""
    forgotten = F.lit(False)
    bounds: dict[tuple[str, ...], dict[str, int]] = {}
    for one in tombstones:
        by_digest = bounds.setdefault(one.columns, {})
        by_digest[one.digest] = max(one.slot_max, by_digest.get(one.digest, one.slot_max))
    for number, (columns, by_digest) in enumerate(sorted(bounds.items())):
        digest, bound = f"__tw_digest_{number}", f"__tw_bound_{number}"
        listed = spark.createDataFrame(list(by_digest.items()), f"{digest} string, {bound} long")
        frame = frame.withColumn(digest, keyed_digest(columns, salt)).join(F.broadcast(listed), digest, "left")
        forgotten = forgotten | F.coalesce(F.col("ins_slot") <= F.col(bound), F.lit(False))
    return frame.withColumn("__tw_forgotten", forgotten)


def _micros_of(batch: DataFrame, expression: str, role: str) -> Column:
    """A moment that the archive file names, in microseconds.

    Text that is no timestamp becomes NULL, which the rules judge; a number is refused, for its unit is unknown.
    """
    name = quoted(expression) if expression in batch.columns else expression
    try:
        kind = batch.select(F.expr(name)).schema.fields[0].dataType
    except AnalysisException as error:
        raise InvalidInput(
            f"{role} = {expression!r} cannot be computed from the columns {', '.join(batch.columns)}: "
            f"{error.getMessage().splitlines()[0]}",
            f"correct [archive] {role} in the archive file",
        ) from error
    if isinstance(kind, NumericType):
        raise InvalidInput(
            f"{role} = {expression!r} is a number ({kind.simpleString()}); its unit is not known",
            f"say it: timestamp_seconds({expression}), timestamp_millis({expression}) or "
            f"timestamp_micros({expression})",
        )
    if isinstance(kind, StringType):
        return F.unix_micros(F.expr(f"try_cast(({name}) as timestamp)"))
    return F.unix_micros(F.expr(name).cast(TimestampType()))
