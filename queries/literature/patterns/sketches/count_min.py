"""Count-Min sketch: how often a value came, never too low (section 2.3.4).

d rows of w counters; a value counts one up in each row, at its row's hash, and is estimated by the least of them. It is
too high by at most e/w of all values with probability 1 - exp(-d). Merging adds counter by counter, so each sub-window
may have one. As a running synopsis it must not be used: totals since the beginning hold long-dead values, whose
collisions stay. Cost of a value: d hashes.

Follows the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidewheel.queries.literature.patterns.sketches.hashing import hashed


class CountMin:
    """
    >>> sketch = CountMin(depth=4, width=50)
    >>> for value in "abracadabra":
    ...     sketch.add(value)
    >>> sketch.estimate("a"), sketch.estimate("z")
    (5, 0)
    """

    def __init__(self, depth: int, width: int, rows: Sequence[Sequence[int]] = ()) -> None:
        self._width = width
        self.rows = [list(row) for row in rows] or [[0] * width for _ in range(depth)]

    def _places(self, value: Any) -> list[tuple[list[int], int]]:
        return [(row, hashed(value, number) % self._width) for number, row in enumerate(self.rows)]

    def add(self, value: Any, times: int = 1) -> None:
        for row, place in self._places(value):
            row[place] += times

    def estimate(self, value: Any) -> int:
        return min(row[place] for row, place in self._places(value))

    def merged(self, other: CountMin) -> CountMin:
        rows = [[one + two for one, two in zip(*pair, strict=True)] for pair in zip(self.rows, other.rows, strict=True)]
        return CountMin(len(rows), self._width, rows)
