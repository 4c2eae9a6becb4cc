"""Approximate distinct counts and quantiles: accumulators of a few kilobytes, and how far off their answers may be.

Distinct counts are HyperLogLog sketches of a library, which is handed in: this room knows only what it has to do
(`DistinctSketches`). They are the same whatever the order in which values come.

Quantiles are summaries by rank. A fragment's values are sorted and cut into POINTS pieces of equal size; of each, the
middle one is kept with the piece's size as its weight. Whatever value one asks for, only the piece around it can be
counted wrongly, and by half its size: so a fragment is wrong by at most 1 / POINTS of its own records (by half of that
where pieces are large), and fragments together by at most that of theirs. That is no chance but a bound, and equal
records give equal summaries. Sketches that toss coins are in `kll.py`.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Protocol

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.extras import install_command
from tidewheel.queries.operation import Aggregate, Column, Error, Operation, is_missing
from tidewheel.queries.operations.parts import Parts, together

INSTALL = install_command("sketches")
POINTS = 500  # 8 kB
EMPTY = math.nan  # what sketches are given for empty text, which the library passes over; a NaN itself is never counted

_COLUMNS = (Column("sketch", "BLOB"),)
_ENTRY = struct.Struct("<dq")  # a value, and how many it stands for
Plain = int | float | str
Entry = tuple[float, int]


class QuantileSketches(Hashable, Protocol):
    """The interface of a library of quantile sketches (`kll.py`)."""

    def sketch(self, values: Sequence[float], sketches: Sequence[bytes]) -> bytes:
        """All values, and what was sketched before, in one."""

    def entries(self, sketch: bytes) -> Sequence[Entry]:
        """The values that it kept, and how many each stands for."""

    def ends(self, sketch: bytes) -> tuple[float, float]:
        """The smallest and the largest value."""

    @property
    def error(self) -> float:
        """Return the largest error of a quantile's rank, as a share of all records, in 99 of 100 cases."""


class DistinctSketches(Hashable, Protocol):
    """The interface of a library of distinct counts.

    Results may depend on the order of the input, which is canonical.
    """

    def sketch(self, values: Sequence[Plain], sketches: Sequence[bytes]) -> bytes:
        """All values, and what was sketched before, in one."""

    def estimate(self, sketch: bytes) -> float:
        """How many distinct values there were."""

    @property
    def error(self) -> float:
        """Return the largest error of estimates, as a share of the true count, in 95 of 100 cases."""

    @property
    def quantiles(self) -> QuantileSketches:
        """Return the quantile sketches of the same library."""


def _lift_distinct(value: Any) -> Parts | None:
    return None if is_missing(value) else Parts(_plain(value))


def _plain(value: Any) -> Plain:
    """A value as sketches take it: equal ones give equal ones."""
    if isinstance(value, int) and value.bit_length() < 64:
        return int(value)
    if isinstance(value, float):
        return value + 0.0  # of -0.0 too 0.0
    return (value.hex() if isinstance(value, bytes) else str(value)) or EMPTY


def _load_distinct(columns: Sequence[Any]) -> Parts:
    return Parts(bytes(columns[0]))


@cache
def distinct_sketch(sketches: DistinctSketches) -> Operation:
    def merged(parts: Parts) -> bytes:
        leaves = set(parts)
        known = sorted(leaf for leaf in leaves if isinstance(leaf, bytes))
        values = sorted((leaf for leaf in leaves if not isinstance(leaf, bytes)), key=_by_type)
        return known[0] if len(known) == 1 and not values else sketches.sketch(values, known)

    def lower(parts: Parts) -> int:
        return round(sketches.estimate(merged(parts)))

    def store(parts: Parts) -> tuple[bytes]:
        return (merged(parts),)

    return Operation(
        "hll", _lift_distinct, together, _COLUMNS, lower, idempotent=True, store=store, load=_load_distinct
    )


def _by_type(value: Plain) -> tuple[str, Plain]:
    return type(value).__name__, value


def approx_count_distinct(sketches: DistinctSketches | None) -> Aggregate:
    if sketches is None:
        raise InvalidInput(
            "approx_count_distinct needs a library that is not installed: datasketches",
            f"run: {INSTALL}; or count exactly up to a limit, count_distinct(x, 10000)",
        )
    operation = distinct_sketch(sketches)

    def finish(parts: Parts | None) -> int:
        return 0 if parts is None else int(operation.lower(parts))

    return Aggregate("approx_count_distinct", (operation,), finish, error=Error(sketches.error, "the count", 0.95))


# Quantiles.


def _lift_ranked(value: Any) -> Parts | None:
    return None if is_missing(value) else Parts((float(value), 1))


def weighed(parts: Iterable[Any]) -> list[Entry]:
    """Each value once, ascending. A leaf is one entry, or a tuple of them."""
    weights: Counter[float] = Counter()
    for leaf in parts:
        for value, weight in (leaf,) if isinstance(leaf[0], float) else leaf:
            weights[value] += weight
    return sorted(weights.items())


def _condensed(entries: list[Entry]) -> list[Entry]:
    """At most POINTS entries: of each piece of equal weight the middle one, with the piece's weight."""
    if len(entries) <= POINTS:
        return entries
    ranks = list(accumulate(weight for _, weight in entries))
    cuts = [place * ranks[-1] // POINTS for place in range(POINTS + 1)]
    pieces = [(low, high) for low, high in pairwise(cuts) if high > low]
    # The middle record of records low + 1 to high, of which ranks[i] is the last of entry i.
    return weighed((entries[bisect_left(ranks, low + (high - low + 1) // 2)][0], high - low) for low, high in pieces)


def _store_ranked(parts: Parts) -> tuple[bytes]:
    return (b"".join(_ENTRY.pack(*entry) for entry in _condensed(weighed(parts))),)


def _load_ranked(columns: Sequence[Any]) -> Parts:
    return Parts(tuple(_ENTRY.iter_unpack(columns[0])))


SUMMARY = Operation("rank_summary", _lift_ranked, together, _COLUMNS, weighed, store=_store_ranked, load=_load_ranked)


@cache
def approx_quantile(fraction: float) -> Aggregate:
    """The smallest kept value that so large a share of the records does not exceed; it is one of the records' own."""

    def finish(parts: Parts | None) -> float | None:
        if parts is None:
            return None
        entries = weighed(parts)
        ranks = list(accumulate(weight for _, weight in entries))
        wanted = max(1, math.ceil(fraction * ranks[-1]))
        return entries[bisect_left(ranks, wanted)][0]

    error = Error(1 / POINTS, "the records, by rank")
    return Aggregate(f"approx_quantile({fraction})", (SUMMARY,), finish, error=error)
