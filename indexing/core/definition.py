"""An archive's description: one part stored with the table, one part that stays in the archive file.

`Definition` rides in the table itself, so a reader needs nothing but the table's path. `ArchiveFile` adds what
only writers need: where batches come from, how records are judged, when updates run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput, NewerFormat

FORMAT_VERSION = 1
# The columns tidewheel adds to every record, and the partition columns of the table.
STORED_COLUMNS = ("ins_slot", "exp_slot", "valid_until", "row_hash")
PARTITION_COLUMNS = ("layout", "g", "e")
# What standing queries keep of an archive: archives of their own, beside it and named NAME.partials, NAME.answers.
DERIVED_KINDS = ("partials", "answers")
RESERVED_COLUMNS = frozenset(STORED_COLUMNS + PARTITION_COLUMNS)


class Clock(StrEnum):
    """The meaning of "now" for reads and guards: the wall clock, or the end of the data."""

    WALL = "wall"
    DATA = "data"


class Verdict(StrEnum):
    """The verdict of a policy on a record that breaks its rule."""

    QUARANTINE = "quarantine"
    REJECT = "reject"
    CAP = "cap"
    STORE = "store"


@dataclass(frozen=True)
class Retention:
    """How long things outlive their use, in microseconds."""

    grace_us: int
    vacuum_period_us: int
    log_us: int
    quarantine_us: int
    hold_us: int = 0  # by how much readers may prolong the grace of a version

    def to_json(self) -> dict[str, int]:
        """Without `hold` where there is none, as programs that do not know it write it."""
        return {name: value for name, value in asdict(self).items() if value or name != "hold_us"}


@dataclass(frozen=True)
class Definition:
    """The stored half of an archive; generations are in order, the last one takes new batches."""

    name: str
    key: tuple[str, ...]
    axis: TimeAxis
    max_lifetime_us: int
    clock: Clock
    generations: tuple[Generation, ...]
    retention: Retention
    salt: str
    format_version: int = FORMAT_VERSION
    # Of a derived archive, what it is derived by, as JSON; of one that a source feeds, nothing.
    derived: str = ""

    @property
    def current(self) -> Generation:
        return self.generations[-1]

    @property
    def span(self) -> int:
        """The span p of the current generation: how many slots a record may outlive its own."""
        return self.axis.span(self.max_lifetime_us)

    def generation(self, number: int) -> Generation:
        for generation in self.generations:
            if generation.number == number:
                return generation
        raise InvalidInput(
            f"archive {self.name} has no layout generation {number}, known are "
            f"{', '.join(str(known.number) for known in self.generations)}"
        )

    def with_generation(self, generation: Generation) -> Definition:
        return replace(self, generations=(*self.generations, generation))

    def to_json(self) -> dict[str, Any]:
        return {
            "format_version": self.format_version,
            "name": self.name,
            "key": list(self.key),
            "interval_us": self.axis.interval_us,
            "epoch_us": self.axis.epoch_us,
            "max_lifetime_us": self.max_lifetime_us,
            "clock": self.clock.value,
            "generations": [generation.to_json() for generation in self.generations],
            "retention": self.retention.to_json(),
            "salt": self.salt,
            **({"derived": self.derived} if self.derived else {}),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Definition:
        version = values["format_version"]
        if version > FORMAT_VERSION:
            raise NewerFormat(
                f"the archive has format version {version}, this program reads up to {FORMAT_VERSION}",
                "upgrade tidewheel",
            )
        return Definition(
            name=values["name"],
            key=tuple(values["key"]),
            axis=TimeAxis(values["interval_us"], values["epoch_us"]),
            max_lifetime_us=values["max_lifetime_us"],
            clock=Clock(values["clock"]),
            generations=tuple(Generation.from_json(one) for one in values["generations"]),
            retention=Retention(**values["retention"]),
            salt=values["salt"],
            derived=values.get("derived", ""),
        )


class SourceKind(StrEnum):
    FILES = "files"
    READER = "reader"
    PYTHON = "python"
    TOPIC = "topic"


@dataclass(frozen=True)
class Source:
    """The source of a slot's batch.

    files:  a Spark file format, one `path` template per slot ({start:%Y-%m-%d/%H}, {end:...}, {slot})
    reader: any Spark reader; `time_column` selects the rows of an interval and gives each its slot
    python: `callable` = "package.module:function", called as function(spark, start, end) -> DataFrame
    topic:  a Kafka `topic` of JSON messages; a slot reads a range of offsets, which its receipt keeps
    """

    kind: SourceKind
    format: str = ""
    path: str = ""
    time_column: str = ""
    callable: str = ""
    topic: str = ""
    schema: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    missing: str = "fail"
    # Of topics: what of a message beside its value becomes which column, how long a slot is waited for after its end,
    # and what to do when messages are gone.
    message: Mapping[str, str] = field(default_factory=dict)
    lateness_us: int = 300_000_000
    lost: str = "fail"


@dataclass(frozen=True)
class Policy:
    """The verdict on a record for each rule that it breaks; every default loses nothing."""

    malformed: Verdict = Verdict.QUARANTINE
    null_expiry: Verdict = Verdict.QUARANTINE
    null_insertion: Verdict = Verdict.QUARANTINE
    expired_on_arrival: Verdict = Verdict.QUARANTINE
    too_long: Verdict = Verdict.QUARANTINE
    null_key: Verdict = Verdict.QUARANTINE
    future: Verdict = Verdict.QUARANTINE
    late: Verdict = Verdict.STORE
    new_column: str = "reject"
    shrink_max: float = 0.5
    set_aside_max: float = 0.5


@dataclass(frozen=True)
class Schedule:
    cron: str = "@hourly"
    catchup: bool = True
    pool: str = ""
    freshness_us: int | None = None  # 0 is never
    start_us: int | None = None


@dataclass(frozen=True)
class Sharing:
    """How standing queries share partials: which planner decides, and how many tasks refresh."""

    planner: str = "Settle"
    nodes: int = 1


@dataclass(frozen=True)
class ArchiveFile:
    """One archives/<name>.toml, checked."""

    name: str
    path: str
    key: tuple[str, ...]
    expires_at: str
    inserted_at: str
    clock: Clock
    axis: TimeAxis
    max_lifetime_us: int
    generation: Generation
    source: Source
    policy: Policy
    retention: Retention
    schedule: Schedule
    queries: Sharing = Sharing()

    def definition(self, salt: str) -> Definition:
        """Return the half of this file that a new table stores."""
        return Definition(
            name=self.name,
            key=self.key,
            axis=self.axis,
            max_lifetime_us=self.max_lifetime_us,
            clock=self.clock,
            generations=(self.generation,),
            retention=self.retention,
            salt=salt,
        )
