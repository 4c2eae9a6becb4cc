"""The oracle: what must be live after an update, computed from the stream's own files, never from a contender."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.archives.stream import Source, as_of_us

# Wide enough to notice a row lost, doubled or changed, narrow enough for 64 bits in every engine.
MIX = "(id * 40503 + key * 7919 + {until_us}) % 1000000007"
_CONTENT = "sum(hash(id, key, body, epoch_us(ins), epoch_us(until)))"


@dataclass(frozen=True)
class Summary:
    """Live records: how many, the sum of their ids, and of a mixture of their narrow columns."""

    rows: int
    ids: int
    mix: int


class WrongAnswer(AssertionError):
    """A contender does not hold, or does not answer, what it should."""


class Truth:
    """What a stream's files say, by slot."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self.summary = cache(self._summary)

    def check(self, slot: int, found: Summary, who: str) -> None:
        expected = self.summary(slot)
        if found != expected:
            raise WrongAnswer(f"{who} after slot {slot} holds {found}, expected {expected}")

    def check_rows(self, slot: int, where: str, found: int, who: str) -> None:
        """The number of live records for which a condition holds."""
        (expected,) = self._ask(f"count(*) FILTER ({where})", slot)
        if found != expected:
            raise WrongAnswer(f"{who} after slot {slot} gives {found} records for {where}, expected {expected}")

    def check_content(self, slot: int, batches: Iterable[pa.RecordBatch], who: str) -> None:
        """Every value of every live record, whatever the order."""
        (expected,) = self._ask(_CONTENT, slot)
        found = 0
        for batch in batches:
            self._connection.register("given", pa.table(batch))
            [(part,)] = self._connection.execute(f"SELECT {_CONTENT} FROM given").fetchall()
            found += part or 0
        if found != expected:
            raise WrongAnswer(f"{who} after slot {slot} holds other values than the stream")

    def _summary(self, slot: int) -> Summary:
        mix = MIX.format(until_us="epoch_us(until)")
        return Summary(*map(int, self._ask(f"count(*), coalesce(sum(id), 0), coalesce(sum({mix}), 0)", slot)))

    def _ask(self, what: str, slot: int) -> tuple[Any, ...]:
        """One row over the records that are live after a slot's update."""
        first = max(0, slot - self.source.stream.span)
        paths = [self.source.path(one) for one in range(first, slot + 1)]
        condition = f"until > make_timestamptz({as_of_us(slot)})"
        [row] = self._connection.execute(f"SELECT {what} FROM read_parquet({paths}) WHERE {condition}").fetchall()
        return tuple(row)
