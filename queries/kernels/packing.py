"""Several columns that order rows, as one whole number a row: the larger it is, the earlier the row comes.

A column's part of it is 0 for NULL, which comes last, else one more than the value's distance from the worst one. Where
these do not fit together, the distances that take most bits become ranks: nothing else needs sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.queries.kernels.arrays import Truth, Whole, int64s

BITS_MAX = 63
# Keys of that size and distances between them cannot overflow.
KEY_MAX = 1 << 61
_ALL_BUT_SIGN = np.int64(2**63 - 1)


@dataclass(frozen=True)
class _Part:
    """One column's part of the packed number: a number per row, the largest of them, and the values they stand for."""

    numbers: Whole
    most: int
    values: Callable[[Whole], Any]
    is_ranked: bool = False

    @property
    def bits(self) -> int:
        return self.most.bit_length()

    def ranked(self) -> _Part:
        distinct, ranks = np.unique(self.numbers, return_inverse=True)
        return _Part(ranks, len(distinct) - 1, lambda numbers: self.values(distinct[numbers]), is_ranked=True)


@dataclass(frozen=True)
class Packed:
    numbers: Whole
    last: _Part

    def values(self, numbers: Whole) -> Any:
        """Return the last column's values for packed numbers."""
        return self.last.values(numbers & np.int64((1 << self.last.bits) - 1))


def packed(columns: Mapping[str, Any], order: Sequence[tuple[str, str]]) -> Packed | None:
    """Pack columns, each ascending or descending, into a number per row; None with NaN or too many different values."""
    given = [columns[name] for name, _ in order]
    given[:-1] = [pc.add(one, 0.0) if pa.types.is_floating(one.type) else one for one in given[:-1]]  # -0.0 is 0.0
    parts = [_part(one, direction == "ascending") for one, (_, direction) in zip(given, order, strict=True)]
    known = [part for part in parts if part is not None]
    while len(known) == len(parts) and sum(part.bits for part in known) > BITS_MAX:
        widest = max(range(len(known)), key=lambda place: (not known[place].is_ranked, known[place].bits))
        if known[widest].is_ranked:
            return None
        known[widest] = known[widest].ranked()
    if len(known) < len(parts):
        return None
    numbers = known[0].numbers  # nobody else's
    for part in known[1:]:
        numbers *= 1 << part.bits  # faster than shifting
        numbers += part.numbers
    return Packed(numbers, known[-1])


def _part(column: Any, ascending: bool) -> _Part | None:
    known = _keys(column)
    if known is None:
        return None
    keys, back = known
    valid = np.asarray(column.is_valid()) if column.null_count else None
    there = keys if valid is None else keys[valid]
    low, high = (int(there.min()), int(there.max())) if len(there) else (0, 0)
    if max(-low, high) > KEY_MAX:
        distinct, keys = np.unique(keys, return_inverse=True)
        low, high, back = 0, len(distinct) - 1, _looked_up(distinct, back)
    numbers = (high + 1) - keys if ascending else keys - (low - 1)
    if valid is not None:
        numbers[~valid] = 0

    def values(some: Whole) -> Any:
        missing = some == 0 if valid is not None else None
        there = some if missing is None else np.maximum(some, 1)
        return back((high + 1) - there if ascending else there + (low - 1), missing)

    return _Part(numbers, high - low + 1, values)


Back = Callable[[Whole, Truth | None], Any]  # keys as what Arrow stores, NULL where it is missing


def _looked_up(distinct: Whole, back: Back) -> Back:
    return lambda keys, missing: back(distinct[keys], missing)


def _keys(column: Any) -> tuple[Whole, Back] | None:
    """A whole number a row, in the order of the values; of NULL, any. And the way back."""
    kind = column.type
    if (pa.types.is_integer(kind) and kind != pa.uint64()) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind):
        keys = int64s(column.cast(pa.int64()).fill_null(0) if column.null_count else column.cast(pa.int64()))
        return keys, lambda some, missing: pa.array(some, mask=missing).cast(kind)
    if pa.types.is_float64(kind):
        bits = np.asarray(column.fill_null(0.0)).view(np.int64)
        if np.isnan(bits.view(np.float64)).any():
            return None
        return _turned(bits), lambda some, missing: pa.array(_turned(some).view(np.float64), mask=missing)
    encoded = pc.dictionary_encode(column)
    by_value = int64s(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(by_value) + 1, np.int64)
    rank[by_value] = np.arange(len(by_value))
    distinct = encoded.dictionary.take(pa.array(by_value))
    return (
        rank[int64s(encoded.indices.cast(pa.int64()).fill_null(0))],
        lambda some, missing: distinct.take(pa.array(some, mask=missing)),
    )


def _turned(bits: Whole) -> Whole:
    """The bits of floats as numbers in the floats' order, and back: those of negative ones run the other way."""
    turned: Whole = bits ^ ((bits >> 63) & _ALL_BUT_SIGN)
    return turned
