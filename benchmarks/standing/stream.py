"""What the race is run over: batches of a stream and a set of queries, both from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from deltalake import Field
from deltalake.schema import PrimitiveType

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.durations import duration_text
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query

MINUTE_US = 60_000_000
AXIS = TimeAxis(5 * MINUTE_US)
# A multiple of every slide, so that all queries are due at the end of the slot before it.
SLOT_ZERO = 6_000_048
SLIDES = tuple(minutes * MINUTE_US for minutes in (5, 10, 15, 30, 60, 120, 360))
LIVES_DAYS = 7
KEYS, REGIONS, PROTOCOLS = 200, 20, 8
GROUPS: tuple[tuple[str, ...], ...] = ((), ("region",), ("key",), ("region", "protocol"))
PREDICATES = ("protocol = 1", "v >= 900", "region < 5")
OUTPUTS = ("count(*) as n", "sum(v) as total", "max(v) as most", "min(v) as least", "avg(x) as mean")
COLUMNS = {
    "key": "VARCHAR", "region": "BIGINT", "protocol": "BIGINT", "v": "BIGINT", "x": "DOUBLE",
    "moment": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
FIELDS = [
    Field(name, PrimitiveType({"VARCHAR": "string", "BIGINT": "long", "DOUBLE": "double"}.get(kind, "timestamp")))
    for name, kind in COLUMNS.items()
]


@dataclass(frozen=True)
class Size:
    """How much of the stream there is, and how many queries over it."""

    name: str
    rows: int  # a slot
    slots: int
    queries: int = 100
    measured: int = 12
    revise_minutes: int = 120
    many_groups: int = 100_000
    growth: tuple[int, ...] = (10, 100, 1000)  # queries, over an archive of its own
    windows_hours: tuple[int, ...] = ()  # over an archive of its own
    history: int = 0  # refreshes of one archive
    keep: str = "26h"
    many_queries: int = 0  # a race of so many queries, too, over a few slots
    many_measured: int = 3
    patience_s: int = 120  # of a rival, before the rest of it is left out
    kernel_rows: int = 10_000_000
    kernel_sizes: tuple[int, ...] = (1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20)
    seed: int = 7

    @property
    def live(self) -> int:
        return self.rows * self.slots


def batch(size: Size, slot: int, rows: int | None = None, again: int = 0) -> pa.Table:
    """The records of one slot, the same whoever asks: keys skewed, each with its time inside the slot.

    `again`: those of a replay, which are others.
    """
    chance = np.random.default_rng((size.seed, slot, again))
    count = size.rows if rows is None else rows
    start = AXIS.start_us(slot)
    at = start + chance.integers(0, AXIS.interval_us, count)
    keys = (KEYS * chance.random(count) ** 2).astype(np.int64)
    until = start + int(LIVES_DAYS * 86_400e6) + chance.integers(0, 86_400_000_000, count)
    times = pa.timestamp("us", "UTC")
    return pa.table(
        {
            "key": pa.array([f"k{number:04}" for number in range(KEYS)]).take(pa.array(keys)),
            "region": pa.array(chance.integers(0, REGIONS, count)),
            "protocol": pa.array((PROTOCOLS * chance.random(count) ** 2).astype(np.int64)),
            "v": pa.array(chance.integers(0, 1000, count)),
            "x": pa.array(chance.normal(100.0, 30.0, count)),
            "moment": pa.array(at, pa.int64()).cast(times),
            "ins_slot": pa.array(np.full(count, slot)),
            "exp_slot": pa.array((until - AXIS.epoch_us) // AXIS.interval_us),
            "valid_until": pa.array(until, pa.int64()).cast(times),
            "row_hash": pa.array(chance.integers(0, 2**62, count)),
        }
    )


def late_record(size: Size, slot: int, minutes: int) -> pa.Table:
    """A batch of one record, whose time is so long before its slot."""
    one = batch(size, slot, rows=1)
    at = AXIS.start_us(slot) - minutes * MINUTE_US
    place = one.schema.get_field_index("moment")
    return one.set_column(place, "moment", pa.array([at], pa.int64()).cast(one.schema.field(place).type))


def queries(size: Size) -> list[Query]:
    """Every seventh has the same slide, every fourth the same groups, every third a predicate."""
    chance = random.Random(size.seed)
    return read([text for number in range(size.queries) if (text := _text(size, chance, number))])


def read(texts: Sequence[str]) -> list[Query]:
    parser, found = SelectParser(COLUMNS), []
    for text in texts:
        (parsed,) = parse_query_file(text, "benchmark.toml")
        query, faults = read_query(parser, replace(parsed))
        assert query is not None, faults
        found.append(query)
    return found


def query_text(
    name: str, select: str, groups: Sequence[str], window_us: int, slide_us: int, rest: str = "", keep: str = "30d"
) -> str:
    listed = ", ".join(f'"{one}"' for one in groups)
    return (
        f'[query]\nname = "{name}"\nof = "race"\nselect = "{select}"\ngroup_by = [{listed}]\ntime = "moment"\n'
        f'window = "{duration_text(window_us)}"\nslide = "{duration_text(slide_us)}"\nkeep = "{keep}"\n{rest}'
    )


def _text(size: Size, chance: random.Random, number: int) -> str:
    slide = SLIDES[number % len(SLIDES)]
    windows = [minutes * MINUTE_US for minutes in (15, 30, 60, 120, 180, 360, 720, 1440)]
    window = chance.choice([one for one in windows if one >= slide])
    where = f'where = "{chance.choice(PREDICATES)}"\n' if number % 3 == 0 else ""
    select = ", ".join(sorted(chance.sample(OUTPUTS, chance.randint(1, 3))))
    rest = f'{where}revise = "{size.revise_minutes}m"\n'
    return query_text(f"q{number:04}", select, GROUPS[number % len(GROUPS)], window, slide, rest, size.keep)


def due(asked: Sequence[Query], after_us: int, until_us: int) -> Iterator[tuple[Query, int]]:
    """Which queries report when, after one moment and until another."""
    for query in asked:
        slide = query.terms.slide_us
        for at_us in range(after_us // slide * slide + slide, until_us + 1, slide):
            yield query, at_us
