"""The judge of a batch: every record is judged before it is stored, and none vanishes without a count.

A record's fate, in this order: forgotten (a tombstone covers it), quarantined (it breaks a rule), short-lived (it
expired before its own update), dead on arrival (it expired before the watermark), stored. The rules and their order are
those of `indexing.core.fates.RULES`.

Stored and quarantined records go on with their values. While somebody derives from the archive, so do short-lived and
dead ones, told apart by their expiry. The others go on as empty rows that only say their slot and fate: so one pass
over the source writes and counts everything. A fate is `layout` = FATES with the code of the fate, or of the broken
rule, in `exp_slot`. Only the text of unparsed records has no place there: if there is one, a second pass over the
source fetches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NumericType, StringType, StructType

from tidewheel.indexing.core.definition import ArchiveFile, Definition, SourceKind, Verdict
from tidewheel.indexing.core.fates import (
    COUNTED,
    DEAD_ON_ARRIVAL,
    FATES,
    FORGOTTEN,
    MALFORMED,
    QUARANTINED,
    RULES,
    SHORT_LIVED,
    TEXT_COLUMN,
    UNSTORED,
)
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.receipts import Tombstone
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.expressions import column_of, expiration_slot_of, keyed_digest, long, quoted, row_hash, row_of

# The year 148,000: moments beyond (PostgreSQL's infinity is one) are judged as this one, so that no sum overflows.
FAR_US = 1 << 62
# Where records span lines, Spark gives the text of their whole file for each.
TEXT_CHARACTERS_MAX = 1 << 16


@dataclass(frozen=True)
class Judge:
    """The rules of one archive for one plan."""

    file: ArchiveFile
    definition: Definition
    schema: StructType
    plan: Plan
    counts: Observation = field(default_factory=Observation)

    def judged(self, batch: DataFrame, spark: SparkSession) -> DataFrame:
        """Return the batch with everything the table stores, placed by `layout`, `g` and `e`."""
        frame = self._weighed(batch, spark)
        if self._capping or self._counts_late:
            stored = "__tw_fate = 0 and __tw_rule is null"
            capped = F.count_if(F.expr(f"{stored} and __tw_capped")).alias("capped")
            late = F.count_if(F.expr(f"{stored} and {self._late}")).alias("late")
            frame = frame.observe(self.counts, capped, late)
        return self._placed(frame)

    def unparsed(self, batch: DataFrame, spark: SparkSession) -> DataFrame:
        """Return the records quarantined because they could not be parsed: their parsed part, and the text."""
        frame = self._weighed(batch, spark).where(f"__tw_fate = 0 and __tw_rule = {MALFORMED}")
        text = f"substring({TEXT_COLUMN}, 1, {TEXT_CHARACTERS_MAX})"
        return frame.selectExpr(*self._user, "ins_slot", f"{text} as {TEXT_COLUMN}")

    @property
    def _user(self) -> list[str]:
        return [quoted(field.name) for field in self.schema.fields]

    @property
    def _capping(self) -> bool:
        return self.file.policy.too_long is Verdict.CAP

    @property
    def _counts_late(self) -> bool:
        """Tell whether late records are counted: of topics only, as it costs every record a look."""
        return self.file.source.kind is SourceKind.TOPIC

    @property
    def _late(self) -> str:
        axis = self.definition.axis
        return f"__tw_ins < ins_slot * {long(axis.interval_us)} + {long(axis.epoch_us)}"

    def _weighed(self, batch: DataFrame, spark: SparkSession) -> DataFrame:
        """Return the batch with the fate of each record, the rule it breaks, and their inputs."""
        inserted, expires = self._inserted_us(batch), self._expires_us(batch)
        frame = batch.selectExpr("*", f"{inserted} as __tw_ins", f"{expires} as __tw_until")
        frame = marked_forgotten(frame, self.plan.tombstones, self.definition.salt, spark)
        limit = f"__tw_ins + {long(self.definition.max_lifetime_us)}"
        # Not least: it passes over NULL, and a record without an expiry would get the longest life.
        until = f"if(__tw_until > {limit}, {limit}, __tw_until)" if self._capping else "__tw_until"
        capped = f"coalesce(__tw_until > {limit}, false)" if self._capping else "false"
        text = TEXT_COLUMN if TEXT_COLUMN in batch.columns else "cast(null as string)"
        frame = frame.selectExpr(*self._user, "ins_slot", "__tw_ins", "__tw_forgotten", f"{until} as __tw_until",
                                 f"{capped} as __tw_capped", f"{text} as {TEXT_COLUMN}")  # fmt: skip
        expiration = expiration_slot_of("__tw_until", self.definition.axis)
        frame = frame.selectExpr("*", f"{expiration} as exp_slot", f"{self._broken_rule(limit)} as __tw_rule",
                                 "timestamp_micros(__tw_until) as valid_until")  # fmt: skip
        return frame.selectExpr("*", f"{self._fate()} as __tw_fate")

    @property
    def capped_rows(self) -> int:
        """Return how many stored records had their life capped; known once the frame was written."""
        return int(self.counts.get["capped"]) if self._capping else 0

    @property
    def late_rows(self) -> int:
        """Return how many stored records are older than their slot; known once the frame was written."""
        return int(self.counts.get["late"]) if self._counts_late else 0

    def _broken_rule(self, limit: str) -> str:
        """Return the number of the first broken rule, or NULL."""
        axis = self.definition.axis
        slot_end = f"(ins_slot + 1L) * {long(axis.interval_us)} + {long(axis.epoch_us)}"
        broken = {
            "null_key": " or ".join(f"{quoted(name)} is null" for name in self.definition.key),
            "null_expiry": "__tw_until is null",
            "null_insertion": "__tw_ins is null",
            "future": f"__tw_ins >= {slot_end}",
            "expired_on_arrival": "__tw_until <= __tw_ins",
            "too_long": f"__tw_until > {limit}",
            "late": "false" if self.file.policy.late is Verdict.STORE else self._late,
        }
        broken["malformed"] = f"{TEXT_COLUMN} is not null"
        if self.file.policy.malformed is Verdict.STORE:
            broken["malformed"] += f" and ({' or '.join(broken[rule] for rule in RULES if rule != 'malformed')})"
        cases = " ".join(f"when {broken[rule]} then {number}" for number, rule in enumerate(RULES))
        return f"case {cases} end"

    def _fate(self) -> str:
        """Return 0 for stored and quarantined records, else the code of the fate."""
        dead = "false" if self.plan.watermark is None else f"exp_slot <= {long(self.plan.watermark)}"
        return (
            f"case when __tw_forgotten then {FORGOTTEN} when __tw_rule is not null then 0 "
            f"when exp_slot <= ins_slot then {SHORT_LIVED} when {dead} then {DEAD_ON_ARRIVAL} else 0 end"
        )

    def _placed(self, frame: DataFrame) -> DataFrame:
        generation = self.plan.generation
        layout = generation.layout
        gone, held = "__tw_fate <> 0", "__tw_rule is not null"
        aside = f"({gone} or {held})"
        kept = self._kept()
        empty = f"({gone} and not {kept})"
        return frame.selectExpr(
            *(f"if({empty}, null, {name}) as {name}" for name in self._user),
            "ins_slot",
            f"cast(case when {empty} then __tw_fate when {held} then __tw_rule else exp_slot end as bigint) exp_slot",
            f"if({aside} and not {kept}, null, valid_until) as valid_until",
            f"if({aside}, null, {row_hash([f.name for f in self.schema.fields])}) as row_hash",
            f"if({aside}, {FATES}, {generation.number}) as layout",
            f"case when {kept} then {UNSTORED} when {gone} then {COUNTED} when {held} then {QUARANTINED} "
            f"else {row_of(layout)} end as g",
            f"if({aside}, 0, {column_of(layout)}) as e",
        )

    def _kept(self) -> str:
        """Return the condition under which an unstored record goes on with its values."""
        first = self.plan.unstored_from
        if first is None:
            return "false"
        return f"(__tw_fate in ({SHORT_LIVED}, {DEAD_ON_ARRIVAL}) and ins_slot >= {long(first)})"

    def _inserted_us(self, batch: DataFrame) -> str:
        """Return when the record came: its own column, or the start of its slot."""
        if self.file.inserted_at:
            return _micros_of(batch, self.file.inserted_at, "inserted_at")
        axis = self.definition.axis
        return f"ins_slot * {long(axis.interval_us)} + {long(axis.epoch_us)}"

    def _expires_us(self, batch: DataFrame) -> str:
        return _micros_of(batch, self.file.expires_at, "expires_at")


def marked_forgotten(frame: DataFrame, tombstones: Sequence[Tombstone], salt: str, spark: SparkSession) -> DataFrame:
    """Return the frame with `__tw_forgotten`: whether a tombstone covers the record."""
    covered = []
    bounds: dict[tuple[str, ...], dict[str, int]] = {}
    for one in tombstones:
        by_digest = bounds.setdefault(one.columns, {})
        by_digest[one.digest] = max(one.slot_max, by_digest.get(one.digest, one.slot_max))
    for number, (columns, by_digest) in enumerate(sorted(bounds.items())):
        digest, bound = f"__tw_digest_{number}", f"__tw_bound_{number}"
        listed = spark.createDataFrame(list(by_digest.items()), f"{digest} string, {bound} long")
        frame = frame.selectExpr("*", f"{keyed_digest(columns, salt)} as {digest}")
        frame = frame.join(F.broadcast(listed), digest, "left")
        covered.append(f"coalesce(ins_slot <= {bound}, false)")
    return frame.selectExpr("*", f"{' or '.join(covered) or 'false'} as __tw_forgotten")


def _micros_of(batch: DataFrame, expression: str, role: str) -> str:
    """Return a moment that the archive file names, in microseconds, as SQL.

    Text that is no timestamp becomes NULL, which the rules judge; a number is refused, for its unit is unknown.
    """
    kinds = {field.name: field.dataType for field in batch.schema.fields}
    sql = quoted(expression) if expression in kinds else f"({expression})"
    kind = kinds.get(expression) or _kind_of(batch, expression, role)
    if isinstance(kind, NumericType):
        raise InvalidInput(
            f"{role} = {expression!r} is a number ({kind.simpleString()}); its unit is not known",
            f"say it: timestamp_seconds({expression}), timestamp_millis({expression}) or "
            f"timestamp_micros({expression})",
        )
    cast = "try_cast" if isinstance(kind, StringType) else "cast"
    micros = f"unix_micros({cast}({sql} as timestamp))"
    # Not greatest and least: they pass over NULL.
    far = long(FAR_US)
    return f"case when {micros} > {far} then {far} when {micros} < -{far} then -{far} else {micros} end"


def _kind_of(batch: DataFrame, expression: str, role: str) -> DataType:
    try:
        return batch.selectExpr(expression).schema.fields[0].dataType
    except AnalysisException as error:
        raise InvalidInput(
            f"{role} = {expression!r} cannot be computed from the columns {', '.join(batch.columns)}: "
            f"{str(error).splitlines()[0]}",
            f"correct [archive] {role} in the archive file",
        ) from error
