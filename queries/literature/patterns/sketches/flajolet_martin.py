"""Flajolet-Martin sketch: how many distinct values, by the highest bucket that each of m hashes fills (2.3.4).

A hash puts a value in bucket l with probability 2^-l; the mean of the highest buckets tells log2 d. Merging is the
maximum, bucket by bucket, so sub-windows may each have a sketch. Cost of a value: m hashes.

Departs from the thesis, which takes that mean for log2 d: it is log2 d + 1.333, so the estimate is divided by 2.52.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.literature.patterns.sketches.hashing import hashed

BIAS = 2.52


class FlajoletMartin:
    """
    >>> sketch = FlajoletMartin(64)
    >>> for value in range(1000):
    ...     sketch.add(value % 500)
    >>> 350 < sketch.estimate() < 700
    True
    """

    def __init__(self, hashes: int = 64, highest: Iterable[int] = ()) -> None:
        self.highest = list(highest) or [0] * hashes

    def add(self, value: Any) -> None:
        for number, highest in enumerate(self.highest):
            bits = hashed(value, number) | 1 << 63
            self.highest[number] = max(highest, (bits & -bits).bit_length())

    def merged(self, other: FlajoletMartin) -> FlajoletMartin:
        return FlajoletMartin(highest=map(max, self.highest, other.highest))

    def estimate(self) -> float:
        if not any(self.highest):
            return 0
        return 2 ** (sum(self.highest) / len(self.highest)) / BIAS
