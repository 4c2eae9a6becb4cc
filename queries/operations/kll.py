"""Quantiles by KLL sketches of a library: smaller than summaries by rank, and right with a probability, not always.

A sketch halves what it keeps by tosses of a coin: equal records give another one each time. So

1. what is derived again is compared by what it tells (`tell_alike`), not by its bytes;
2. nothing is tossed after a partial is stored: an answer takes the values that all sketches kept, with their weights,
   in one order. It is the same whatever the plan, the technique or the order of partials, as long as these are.

Rank errors of sketches add up, each weighed by its share of the records: together they are no more than that of one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate, Column, Error, Operation, is_missing
from tidewheel.queries.operations.approximate import INSTALL, Entry, QuantileSketches, weighed
from tidewheel.queries.operations.parts import Parts, together

NAME = "kll"
CONFIDENCE = 0.99
# Two sketches of the same records are this many of a single one's errors apart at most, but for one time in very many.
APART_MAX = 4
_COMPARED = tuple(place / 20 for place in range(1, 20))


def _lift(value: Any) -> Parts | None:
    return None if is_missing(value) else Parts(float(value) + 0.0)


def _load(columns: Sequence[Any]) -> Parts:
    return Parts(bytes(columns[0]))


@cache
def kll_sketch(sketches: QuantileSketches) -> Operation:
    def store(parts: Parts) -> tuple[bytes]:
        known = sorted(leaf for leaf in parts if isinstance(leaf, bytes))
        values = sorted(leaf for leaf in parts if isinstance(leaf, float))
        return (known[0] if len(known) == 1 and not values else sketches.sketch(values, known),)

    def lower(parts: Parts) -> list[Entry]:
        return weighed(one for leaf in parts for one in _entries(sketches, leaf))

    return Operation(NAME, _lift, together, (Column("sketch", "BLOB"),), lower, store=store, load=_load)


def _entries(sketches: QuantileSketches, leaf: bytes | float) -> Iterable[Entry]:
    return sketches.entries(leaf) if isinstance(leaf, bytes) else ((leaf, 1),)


@cache
def kll_quantile(fraction: float, sketches: QuantileSketches | None) -> Aggregate:
    """The smallest kept value that so large a share of the records does not exceed."""
    if sketches is None:
        raise InvalidInput(
            "kll_quantile needs a library that is not installed: datasketches",
            f"run: {INSTALL}; or without it approx_quantile(x, {fraction}), which is closer",
        )
    operation = kll_sketch(sketches)

    def finish(parts: Parts | None) -> float | None:
        if parts is None:
            return None
        entries = operation.lower(parts)
        ranks = list(accumulate(weight for _, weight in entries))
        return float(entries[bisect_left(ranks, max(1, math.ceil(fraction * ranks[-1])))][0])

    error = Error(sketches.error, "the records, by rank", CONFIDENCE)
    return Aggregate(f"kll_quantile({fraction})", (operation,), finish, error=error)


def tell_alike(sketches: QuantileSketches, left: bytes, right: bytes) -> bool:
    """Tell whether two sketches may hold the same records: equal counts and ends, and ranks within both errors."""
    if left == right:
        return True
    ours, others = weighed(sketches.entries(left)), weighed(sketches.entries(right))
    count, other_count = (sum(weight for _, weight in some) for some in (ours, others))
    if count != other_count or sketches.ends(left) != sketches.ends(right):
        return False
    apart = max(abs(_share(ours, value) - _share(others, value)) for value in _quantiles(ours))
    return apart <= APART_MAX * sketches.error


def _quantiles(entries: Sequence[Entry]) -> Iterable[float]:
    ranks = list(accumulate(weight for _, weight in entries))
    return (entries[bisect_left(ranks, max(1, math.ceil(share * ranks[-1])))][0] for share in _COMPARED)


def _share(entries: Sequence[Entry], value: float) -> float:
    """The share of the records that are not above a value."""
    through = bisect_right([one for one, _ in entries], value)
    return sum(weight for _, weight in entries[:through]) / sum(weight for _, weight in entries)
