"""The aligned intervals of which a window of whole slots is made: (end, width), youngest first.

Intervals of width 2^l end at multiples of 2^l, so one that was folded once serves every window that holds it.
Departs from the printed listing: a cover is up to 2 log2 b - 2 intervals, not log2 b.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache


def cover(version: int, count: int, slots_max: int) -> list[tuple[int, int]]:
    """The newest `count` slots as of a version, from intervals of at most `slots_max` slots, a power of two.

    >>> [(end - width, end) for end, width in cover(9, 8, 8)]
    [(8, 9), (4, 8), (2, 4), (1, 2)]
    """
    found, first, end = [], version - count, version
    while end > first:
        width = min(end & -end, slots_max) if end else slots_max
        while end - width < first:
            width //= 2
        found.append((end, width))
        end -= width
    return found


@lru_cache(maxsize=10_000)
def cover_length_mean(count: int, slots_max: int) -> Fraction:
    """How many intervals a window is made of, on average over versions.

    >>> cover_length_mean(8, 8)
    Fraction(25, 8)
    """
    lengths = sum(len(cover(version, count, slots_max)) for version in range(slots_max, 2 * slots_max))
    return Fraction(lengths, slots_max)


def power_of_two_from(count: int) -> int:
    """
    >>> [power_of_two_from(count) for count in (1, 3, 8, 9)]
    [1, 4, 8, 16]
    """
    return 1 << (count - 1).bit_length()
