"""Exact sums of wide numbers over spans: 32 bits at a time.

A number is a row of limbs, limb l being worth 2^(32 × (bucket_min + l)); limbs are int64, so 2^31 of them can be added
before one could overflow. Each limb has prefix sums of its own, is taken at the ends of the spans, and carries are done
once, on the answers. The same code sums decimals of 38 digits and doubles of any exponent, and never rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.kernels.arrays import Real, Truth, Whole, int64s
from tidewheel.queries.kernels.prefix_sums import span_sums
from tidewheel.queries.operations.exact_floats import BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE
from tidewheel.queries.operations.whole_sums import DIGITS_MAX
from tidewheel.queries.operations.wide import BUCKET_BITS

LIMB = np.int64(2**BUCKET_BITS - 1)
LIMBS_PER_DECIMAL = 4
# Sums of doubles far below the largest one are divided without a detour.
LARGE_BITS = 900
_LARGE_SHIFT = 128


@dataclass(frozen=True)
class Totals:
    """One exact number a row: the sum of limbs[:, l] × 2^(32 × (bucket_min + l)), carried, the top limb signed."""

    limbs: Whole
    bucket_min: int

    def to_integers(self, bucket_min: int) -> list[int]:
        """As whole numbers of 2^(32 × bucket_min)."""
        shifts = [BUCKET_BITS * (self.bucket_min - bucket_min + limb) for limb in range(self.limbs.shape[1])]
        return [sum(limb << shift for limb, shift in zip(row, shifts, strict=True)) for row in self.limbs.tolist()]

    def to_floats(self, count: Whole | None = None) -> Real:
        """Within a few units of the last place, and that also after dividing by a count."""
        sign = np.where(self.limbs[:, -1] < 0, -1, 1)
        # The size is taken apart from the sign: adding a negative top limb to positive lower ones would cancel.
        size = carried(self.limbs * sign[:, None])
        weights = [BUCKET_BITS * (self.bucket_min + limb) for limb in range(size.shape[1])]
        # A sum of doubles may lie beyond the largest while its quotient does not.
        large = (size[:, [weight > LARGE_BITS for weight in weights]] != 0).any(axis=1)
        shift = np.where(large, _LARGE_SHIFT, 0)
        floats = np.zeros(len(size))
        with np.errstate(over="ignore"):
            for limb, weight in reversed(list(enumerate(weights))):
                floats += np.ldexp(size[:, limb].astype(np.float64), weight - shift)
            return np.asarray(sign * np.ldexp(floats if count is None else floats / count, shift))

    def to_decimals(self, scale: int, valid: Truth, what: str) -> Any:
        """An Arrow array of DECIMAL(38, scale) from whole numbers of its last place."""
        padded = np.zeros((len(self.limbs), LIMBS_PER_DECIMAL + 1), np.int64)
        padded[:, : self.limbs.shape[1]] = self.limbs[:, : LIMBS_PER_DECIMAL + 1]
        # Uncarried zeros above a signed top limb: carrying once more extends the sign.
        words = carried(padded)
        low, high = words[:, 0] | (words[:, 1] << 32), words[:, 2] | (words[:, 3] << 32)
        bound = 10**DIGITS_MAX
        too_high = (high > (bound >> 64)) | ((high == (bound >> 64)) & (low.view(np.uint64) >= bound % 2**64))
        too_low = (high < (-bound >> 64)) | ((high == (-bound >> 64)) & (low.view(np.uint64) <= -bound % 2**64))
        too_wide = words[:, 4] != np.where(high < 0, -1, 0)
        if ((too_high | too_low | too_wide) & valid).any():
            raise InvalidInput(
                f"{what} overflows: more than {DIGITS_MAX} digits", f"{what}(x::DOUBLE) has no such limit"
            )
        data = pa.py_buffer(np.column_stack([low, high]).tobytes())
        mask = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
        return pa.Array.from_buffers(pa.decimal128(DIGITS_MAX, scale), len(low), [mask, data])


def carried(limbs: Whole) -> Whole:
    """All limbs but the top one in [0, 2^32)."""
    done = limbs.copy()
    for limb in range(done.shape[1] - 1):
        done[:, limb + 1] += done[:, limb] >> BUCKET_BITS
        done[:, limb] &= LIMB
    return done


def decimal_words(decimals: Any) -> tuple[Whole, Whole]:
    """The low and the high half of the unscaled values of a DECIMAL128 array; of NULL, anything."""
    words = np.frombuffer(decimals.buffers()[1], np.int64)[2 * decimals.offset : 2 * (decimals.offset + len(decimals))]
    return words[0::2], words[1::2]


def decimal_limbs(decimals: Any) -> list[Whole]:
    """The four limbs of each value, lowest first."""
    low, high = decimal_words(decimals)
    return [low & LIMB, (low >> BUCKET_BITS) & LIMB, high & LIMB, high >> BUCKET_BITS]


def decimal_totals(decimals: Any, start: Whole, end: Whole) -> Totals:
    """The exact sums of a DECIMAL128 array without NULL."""
    low, high = decimal_words(decimals)
    if (high == low >> 63).all() and int(np.abs(low >> 1).max(initial=0)) * len(low) < 2**61:
        sums = span_sums(low, start, end)  # all sums fit 64 bits, as nearly always
        return Totals(np.column_stack([sums & LIMB, sums >> BUCKET_BITS]), 0)
    limbs = decimal_limbs(decimals)
    return Totals(carried(_spans(iter(limbs), len(limbs), start, end)), 0)


@dataclass(frozen=True)
class WideTotals:
    finite: Totals
    infinite: Whole
    negative_infinite: Whole


def wide_totals(lists: Any, start: Whole, end: Whole) -> WideTotals:
    """The exact sums of an array of wide numbers (operations/wide.py) without NULL; of totals, they are it already."""
    if isinstance(lists, WideTotals):
        return lists
    entries, offsets = lists.flatten(), int64s(lists.offsets)
    # Entries lie in the order of their rows, so a span of rows is a span of entries.
    start, end = offsets[start] - offsets[0], offsets[end] - offsets[0]
    bucket, units = int64s(entries.field("bucket")), decimal_limbs(entries.field("units"))

    def limb_values(wanted: int) -> Whole:
        values = np.zeros(len(bucket), np.int64)
        for offset, part in enumerate(units):
            np.copyto(values, part, where=bucket == wanted - offset)
        return values

    def counts(wanted: int) -> Whole:
        return span_sums(np.where(bucket == wanted, units[0] | (units[1] << BUCKET_BITS), 0), start, end)

    finite = bucket[bucket < BUCKET_INFINITE]
    first, last = (int(finite.min()), int(finite.max())) if len(finite) else (0, 0)
    wanted = range(first, last + LIMBS_PER_DECIMAL)
    sums = _spans((limb_values(limb) for limb in wanted), len(wanted), start, end)
    return WideTotals(Totals(carried(sums), first), counts(BUCKET_INFINITE), counts(BUCKET_NEGATIVE_INFINITE))


def _spans(limbs: Iterator[Whole], count: int, start: Whole, end: Whole) -> Whole:
    sums = np.empty((len(start), count + 1), np.int64)  # one more, for what is carried out of the highest
    for limb, values in enumerate(limbs):
        sums[:, limb] = span_sums(values, start, end)
    sums[:, count] = 0
    return sums
