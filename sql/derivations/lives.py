"""The life of a row of a rewritten statement, as SQL: when it ends, where it lies, its hash and its time."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.sql.derivations.sources import HIDDEN
from tidewheel.sql.engine.quoting import Sql, join

# Hashes of joined rows follow from those of their parts; `queries/derivations/forms.py` has the same.
_COMBINED = "CAST((CAST({0} AS HUGEINT) * 1000003 + {1}) % 2305843009213693951 AS BIGINT)"


@dataclass(frozen=True)
class Life:
    """A row's life as SQL: its end, slot, hash and time."""

    until: Sql
    place: Sql
    row_hash: Sql
    time: Sql

    def columns(self) -> Sql:
        values = (self.until, self.place, self.row_hash, self.time)
        return join(", ", (Sql(f"{value} AS {name}") for value, name in zip(values, HIDDEN, strict=True)))


def joined_life(one: Life, other: Life, kind: str) -> Life:
    """Return the life of a row that shows both; a left row without a match has its own."""
    until = Sql(f"least({one.until}, {other.until})")
    both = Sql(_COMBINED.format(one.row_hash, other.row_hash))
    if kind == "LEFT":
        row_hash = Sql(f"CASE WHEN {other.until} IS NULL THEN {one.row_hash} ELSE {both} END")
        return Life(until, one.place, row_hash, one.time)
    if kind == "ASOF":
        return Life(until, one.place, both, one.time)
    return Life(until, Sql(f"greatest({one.place}, {other.place})"), both, one.time)
