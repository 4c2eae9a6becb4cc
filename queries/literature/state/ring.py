"""Circular array: the newest N of anything; one more overwrites the oldest (sections 2.1.2 and 2.3.4). O(1).

Count windows end that way: a tuple's end is the arrival of the N-th one after it. Periodic windows do as well, with a
value for each sub-window: a slide overwrites the oldest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Ring(Generic[T]):
    """
    >>> ring = Ring[str](2)
    >>> [ring.put(one) for one in "abc"], list(ring)
    ([None, None, 'a'], ['b', 'c'])
    """

    def __init__(self, size: int) -> None:
        self._places: list[T | None] = [None] * size
        self._count = 0

    def put(self, one: T) -> T | None:
        """Return what is overwritten, or None."""
        at = self._count % len(self._places)
        old, self._places[at] = self._places[at], one
        self._count += 1
        return old

    def __iter__(self) -> Iterator[T]:
        """Give what is held, the oldest first."""
        size = len(self._places)
        for number in range(max(0, self._count - size), self._count):
            yield self._places[number % size]  # type: ignore[misc]

    def __len__(self) -> int:
        return min(self._count, len(self._places))
