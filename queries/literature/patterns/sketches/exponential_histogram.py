"""Exponential histogram: how many ones a window holds, within a relative error, in logarithmic space (section 2.3.4).

Datar et al. (2002), of which the thesis has one sentence: eager answers of a window that is updated periodically.
Buckets hold 1, 2, 4, ... ones and the time of their newest. At most k + 1 buckets of size 1 and ceil(k/2) + 1 of each
larger size, k = ceil(1/ε); one more, and the two oldest of the size become one. Only the oldest bucket reaches out of
the window, so half of it is taken. Cost of a one: amortised O(1), at worst a merge for each size.

Departs from a frequent reading: with ceil(k/2) + 1 buckets of size 1 as well, the bound fails (.143 at ε = .1).
"""

from __future__ import annotations

from math import ceil


class ExponentialHistogram:
    """
    >>> ones = ExponentialHistogram(window=100, error=0.1)
    >>> for at in range(1, 301):
    ...     ones.add(at)
    >>> ones.estimate(300), len(ones.buckets)
    (100.0, 28)
    """

    def __init__(self, window: int, error: float) -> None:
        self._window = window
        most = ceil(1 / error)
        self._allowed = (most + 1, ceil(most / 2) + 1)  # of size 1, of each larger size
        self.buckets: list[tuple[int, int]] = []  # (time of its newest one, size), the newest first

    def add(self, ts: int) -> None:
        """Count a one that came at `ts`."""
        self._drop(ts)
        self.buckets.insert(0, (ts, 1))
        size, first = 1, 0
        while True:
            last = first
            while last < len(self.buckets) and self.buckets[last][1] == size:
                last += 1
            if last - first <= self._allowed[size > 1]:
                return
            newer, _ = self.buckets[last - 2]
            self.buckets[last - 2 : last] = [(newer, 2 * size)]
            first, size = last - 2, 2 * size

    def _drop(self, now: int) -> None:
        while self.buckets and self.buckets[-1][0] <= now - self._window:
            self.buckets.pop()

    def estimate(self, now: int) -> float:
        self._drop(now)
        if not self.buckets:
            return 0
        last = self.buckets[-1][1]
        return sum(size for _, size in self.buckets) - (last / 2 if last > 1 else 0)
