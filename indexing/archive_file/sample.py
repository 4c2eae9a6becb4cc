"""Guesses about the archive that could keep a sample of records: when records begin and end, the key, how much lives.

Each guess comes with its reason; people decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidewheel.indexing.core.definition import RESERVED_COLUMNS
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.durations import MICROS_PER_UNIT, parse_duration

_BEGINNINGS = ("insert", "creat", "ingest", "arriv", "receiv", "start", "begin", "from", "event", "time", "at", "ts")
_ENDINGS = ("expir", "until", "delet", "end", "retain", "keep", "ttl", "to")
_KEPT = ("keep", "kept", "ttl", "retain", "retention", "life", "lifetime", "expires")
_KEPT_UNITS = ("day", "hour", "minute", "second")
_KEYS = ("id", "key", "uuid", "customer", "client", "user", "account", "device", "sensor", "ip", "name", "code")
_USUAL_INTERVALS = ("1m", "5m", "10m", "15m", "30m", "1h", "2h", "3h", "6h", "12h", "1d", "7d")
_USUAL_LIVES = ("15m", "30m", "1h", "2h", "6h", "12h", "1d", "2d", "7d", "14d", "30d", "90d", "180d", "365d", "3650d")
# By the finest unit that a path names: the longest first, so that a date does not hide an hour.
_PATH_FORMATS = (
    ("%Y-%m-%dT%H%M", ""), ("%Y-%m-%dT%H-%M", ""), ("%Y%m%dT%H%M", ""), ("%Y%m%d%H%M", ""), ("%Y%m%d-%H%M", ""),
    ("%Y-%m-%dT%H", "1h"), ("%Y-%m-%d-%H", "1h"), ("%Y%m%dT%H", "1h"), ("%Y%m%d%H", "1h"), ("%Y/%m/%d/%H", "1h"),
    ("%Y-%m-%d", "1d"), ("%Y%m%d", "1d"), ("%Y/%m/%d", "1d"),
)  # fmt: skip
# An ending counts as one if nearly all records end after they began.
_SHARE_MIN = 0.9
_LIFE_ASSUMED = "30d"
# A sample whose newest record is older than this is history, and no stream that goes on.
_HISTORY_US = parse_duration("30d")
# What pandas writes beside the columns: the numbers of the rows.
_INDEXES = ("column0", "__index_level_0__", "index", "level_0", "unnamed:_0")


@dataclass(frozen=True)
class SampleColumn:
    name: str
    type: str  # as Spark names it; "" for one that has no such name
    nulls: int
    distinct: int  # about
    first_us: int | None = None  # of moments
    last_us: int | None = None
    moment: str = ""  # the column as a moment, as Spark computes it; "" for one that is none

    @property
    def is_moment(self) -> bool:
        return bool(self.moment)


@dataclass(frozen=True)
class Life:
    """How long records live if one column is their begin and another their end."""

    begins: str  # a column
    ends: str  # an expression, most often a column
    share: float  # of records that end after they began
    mean_us: int
    longest_us: int


@dataclass(frozen=True)
class Sample:
    path: str
    format: str
    rows: int
    stored_bytes: int
    columns: tuple[SampleColumn, ...]
    lives: tuple[Life, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)  # from the source's names, where an archive has others
    options: Mapping[str, str] = field(default_factory=dict)  # of Spark's reader


@dataclass(frozen=True)
class Guess:
    """The suggestions for one sample.

    `keys` holds candidates, the likeliest first; "" means that nothing suggests a value.
    """

    inserted_at: str
    expires_at: str
    keys: tuple[str, ...]
    interval: str
    path: str  # of a slot's batch, as a template; "" if the sample's name does not say its slot
    mean_us: int
    longest_us: int
    is_measured: bool  # the life is the sample's, not assumed
    live_rows: int
    live_bytes: int
    said: Mapping[str, str] = field(default_factory=dict)  # by setting: what speaks for it
    is_history: bool = False  # all of it lies far back, so that the archive's clock is its data
    last_us: int | None = None  # when the newest record came


def guessed(sample: Sample, now_us: int) -> Guess:
    """Return all guesses that the sample allows."""
    begins = _begins(sample)
    life = _life(sample, begins)
    interval, path = _interval(sample, begins)
    mean_us = life.mean_us if life else parse_duration(_LIFE_ASSUMED)
    live_rows = round(sample.rows * mean_us / parse_duration(interval))
    return Guess(
        begins.moment if begins else "",
        life.ends if life else "",
        tuple(column.name for column in _keys(sample)),
        interval,
        path,
        mean_us,
        life.longest_us if life else mean_us,
        life is not None,
        live_rows,
        round(live_rows * sample.stored_bytes / max(sample.rows, 1)),
        _reasons(sample, begins, life, path),
        bool(begins and begins.last_us is not None and begins.last_us < now_us - _HISTORY_US),
        begins.last_us if begins else None,
    )


def _begins(sample: Sample) -> SampleColumn | None:
    """Return the moment that others follow; among equals the one whose name says so."""
    followed = {life.begins for life in sample.lives if life.share >= _SHARE_MIN}
    moments = [column for column in sample.columns if column.is_moment and column.nulls < max(sample.rows, 1)]
    return min(
        moments, key=lambda one: (one.name not in followed, _rank(one.name, _BEGINNINGS), one.nulls), default=None
    )


def _life(sample: Sample, begins: SampleColumn | None) -> Life | None:
    if begins is None:
        return None
    lives = [life for life in sample.lives if life.begins == begins.name and life.share >= _SHARE_MIN]
    return min(lives, key=lambda life: (_rank(life.ends, _ENDINGS), -life.share), default=None)


def _keys(sample: Sample) -> list[SampleColumn]:
    """Return the columns that people could probe: whole numbers and texts, neither constant nor mostly missing."""
    keyed = [
        column
        for column in sample.columns
        if column.type in ("string", "bigint", "int", "smallint")
        and column.nulls <= sample.rows * 0.01
        and (column.distinct > 1 or sample.rows < 2)
    ]

    def order(column: SampleColumn) -> tuple[bool, int, bool, int]:
        # What no two records share is seldom what is asked for.
        is_unique = column.distinct > sample.rows * 0.8
        return is_unique, _rank(column.name, _KEYS), column.type != "string", -column.distinct

    others = [column for column in keyed if not column.moment and column.name.lower() not in _INDEXES]
    return sorted(others or keyed, key=order)


def _rank(name: str, words: tuple[str, ...]) -> int:
    """Return the position of the first word that a part of the name begins with; a short word must be a whole part."""
    parts = _parts(name)
    return next((at for at, word in enumerate(words) if any(_says(part, word) for part in parts)), len(words))


def _parts(name: str) -> list[str]:
    """Return the words of a name, in snake case, camel case or with spaces."""
    return re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def says_time(name: str) -> bool:
    """Tell whether a number of this name may be a moment.

    >>> says_time("created_at"), says_time("tsMs"), says_time("bytes")
    (True, True, False)
    """
    words = (*_BEGINNINGS, *_ENDINGS, "date", "epoch", "when", "seen")
    return _rank(name, words) < len(words)


def _says(part: str, word: str) -> bool:
    return part.startswith(word) if len(word) > 3 else part == word


def _interval(sample: Sample, begins: SampleColumn | None) -> tuple[str, str]:
    """Return the length of the sample's slot, and the template of its path, if the path names its moment."""
    if begins is None or begins.first_us is None or begins.last_us is None:
        return "1h", ""
    span_us = begins.last_us - begins.first_us + 1
    spans = [text for text in _USUAL_INTERVALS if parse_duration(text) >= span_us] or [_USUAL_INTERVALS[-1]]
    for pattern, unit in _PATH_FORMATS:
        for text in [unit] if unit else spans:
            start_us = begins.first_us // parse_duration(text) * parse_duration(text)
            written = moment(start_us).strftime(pattern)
            if sample.path.count(written) == 1:
                before, _, after = sample.path.partition(written)
                return text, f"{_literal(before)}{{start:{pattern}}}{_literal(after)}"
    return spans[0], ""


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _reasons(sample: Sample, begins: SampleColumn | None, life: Life | None, path: str) -> dict[str, str]:
    said = {}
    if begins is not None:
        others = [one.moment for one in sample.columns if one.is_moment and one.name != begins.name]
        said["inserted_at"] = f"the other moments are {', '.join(others)}" if others else "the only moment"
    if life is not None:
        said["expires_at"] = f"after {life.begins} in {life.share:.0%} of the records"
    if path:
        said["path"] = f"from the sample's own path, {sample.path}"
    for column in _keys(sample):
        said[column.name] = f"about {column.distinct:,} different among {sample.rows:,}"
    return said


def counted_life(column: SampleColumn) -> tuple[str, int] | None:
    """Return the expression and the unit in microseconds of a number whose name says how long a record is kept.

    >>> counted_life(SampleColumn("keep_hours", "int", 0, 3))
    ('make_interval(0, 0, 0, 0, keep_hours)', 3600000000)
    """
    if column.type not in ("bigint", "int", "smallint", "tinyint"):
        return None
    parts = _parts(column.name)
    if not any(_says(part, word) for part in parts for word in _KEPT):
        return None
    unit = next((at for at, word in enumerate(_KEPT_UNITS) if any(part.startswith(word) for part in parts)), None)
    if unit is None:
        return None
    return f"make_interval({'0, ' * (unit + 3)}{column.name})", MICROS_PER_UNIT["dhms"[unit]]


def archive_names(names: Iterable[str]) -> dict[str, str]:
    """Return the name of each column in an archive: its own, unless the archive has or forbids a column of that name.

    >>> archive_names(["bytes", "valid_until", "src ip"])
    {'bytes': 'bytes', 'valid_until': 'given_valid_until', 'src ip': 'src_ip'}
    """
    given: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[ ,;{}()=.`\"']", "_", name)
        new = f"given_{plain}" if plain.lower() in RESERVED_COLUMNS else plain
        while new.lower() in {one.lower() for one in given.values()}:
            new += "_"
        given[name] = new
    return given


def spark_name(name: str) -> str:
    """Return a column's name as a Spark schema writes it.

    >>> spark_name("bytes"), spark_name("src ip")
    ('bytes', '`src ip`')
    """
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "`" + name.replace("`", "``") + "`"


def nice_duration(duration_us: int) -> str:
    """Return the next duration that people would write, never a shorter one."""
    fitting = (text for text in _USUAL_LIVES if parse_duration(text) >= duration_us)
    return next(fitting, f"{-(-duration_us // MICROS_PER_UNIT['d'])}d")
