"""Operations that select: which row of each span wins.

Values with an order become one whole number a row (`packing.py`), and the largest wins; so one fold serves numbers,
texts, moments and the pairs of arg_max alike. Plain numbers are folded as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.queries.kernels.arrays import Numbers, Whole, int64s
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.packing import packed
from tidewheel.queries.kernels.prefix_sums import span_sums
from tidewheel.queries.kernels.refold import refold

# Up to so many rows in all spans per row there is, folding each span anew is cheaper than the tables.
OVERLAP_MAX = 16

# The columns by which the winner comes first, as in operations/extremes.py, chosen.py and logic.py.
WINNER_FIRST: dict[str, tuple[tuple[str, str], ...]] = {
    "max": (("value", "descending"),),
    "min": (("value", "ascending"),),
    "bool_or": (("value", "descending"),),
    "bool_and": (("value", "ascending"),),
    "arg_max": (("by", "descending"), ("at", "descending"), ("value", "descending")),
    "arg_min": (("by", "ascending"), ("at", "descending"), ("value", "descending")),
    "first": (("at", "ascending"), ("value", "ascending")),
    "last": (("at", "descending"), ("value", "descending")),
}


def folded(ufunc: np.ufunc, values: Numbers, start: Whole, end: Whole) -> Numbers:
    """The fold of an idempotent and commutative operation, by whichever way is cheaper."""
    if int((end - start).sum()) <= OVERLAP_MAX * len(values):
        return refold(ufunc, values, start, end)
    return doubled(ufunc, values, start, end)


@dataclass(frozen=True)
class Direction:
    ufunc: np.ufunc
    loser: float  # what loses against every value


_PLAIN = {"max": Direction(np.maximum, -np.inf), "min": Direction(np.minimum, np.inf)}


def selected(name: str, columns: dict[str, Any], start: Whole, end: Whole) -> Any:
    """The value that each span selects, as an Arrow array; NULL where the span has none."""
    value = columns["value"]
    if name in _PLAIN and (pa.types.is_floating(value.type) or pa.types.is_integer(value.type)):
        return _plain(_PLAIN[name], value, start, end)
    order = WINNER_FIRST[name]
    numbers = packed(columns, order)
    if numbers is not None:
        return numbers.values(folded(np.maximum, numbers.numbers, start, end))
    # Arrow sorts NULL behind all values, in either direction.
    first = int64s(pc.sort_indices(pa.table(columns), sort_keys=list(order)))
    rank = np.empty(len(first), np.int64)
    rank[first] = np.arange(len(first))
    return value.take(pa.array(first[folded(np.minimum, rank, start, end)]))


def _plain(direction: Direction, value: Any, start: Whole, end: Whole) -> Any:
    if not value.null_count:
        return pa.array(folded(direction.ufunc, np.asarray(value), start, end), value.type)
    valid = np.asarray(value.is_valid())
    if pa.types.is_floating(value.type):
        numbers = np.asarray(value.fill_null(direction.loser))
    else:
        numbers = np.asarray(value.fill_null(0))
        extreme = np.iinfo(numbers.dtype)
        numbers = np.where(valid, numbers, extreme.min if direction.loser < 0 else extreme.max)
    missing = span_sums(valid.astype(np.int64), start, end) == 0
    return pa.array(folded(direction.ufunc, numbers, start, end), value.type, mask=missing)
