"""Numbers of any size in a table: a list of (bucket, units), worth the sum of units × 2^(32 × bucket).

Any list is allowed, several entries of one bucket too: engines add up what they like, per bucket, without carrying.
What we store is canonical: 96 bits an entry, buckets multiples of three, ascending, no zeros.
"""

from __future__ import annotations

from collections.abc import Iterable

BUCKET_BITS = 32
BUCKETS_PER_ENTRY = 3
WIDE = "STRUCT(bucket INTEGER, units DECIMAL(38,0))[]"

_ENTRY_BITS = BUCKET_BITS * BUCKETS_PER_ENTRY


def store_wide(number: int, bucket_min: int = 0) -> list[tuple[int, int]]:
    """The number, whose lowest bit is worth 2^(32 × bucket_min), as canonical entries.

    >>> store_wide(-5), store_wide(2**96 + 7), store_wide(0)
    ([(0, -5)], [(0, 7), (3, 1)], [])
    """
    sign, rest, bucket = (-1 if number < 0 else 1), abs(number), bucket_min
    entries = []
    while rest:
        rest, units = rest >> _ENTRY_BITS, rest & ((1 << _ENTRY_BITS) - 1)
        if units:
            entries.append((bucket, sign * units))
        bucket += BUCKETS_PER_ENTRY
    return entries


def load_wide(entries: Iterable[tuple[int, int]], bucket_min: int = 0) -> int:
    return sum(int(units) << (BUCKET_BITS * (bucket - bucket_min)) for bucket, units in entries)
