"""Accumulators that are merged late: `combine` only notes that two belong together, in constant time.

What is merged step by step depends on the steps: a sketch's bytes, and where it rounds its answer, differ from one
order of merging to another. Here whoever stores or answers sees all parts at once and brings them into an order of
their own.
So every plan, technique and kernel gives the same answer to the last bit, and an audit can compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Parts:
    """A leaf, or an older and a newer side. Not a dataclass: there is one for each record."""

    __slots__ = ("leaf", "sides")

    def __init__(self, leaf: Any = None, sides: tuple[Parts, ...] = ()) -> None:
        self.leaf, self.sides = leaf, sides

    def __iter__(self) -> Iterator[Any]:
        """The leaves, oldest first; without recursion, as a side may hold a million."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            if part.sides:
                waiting.extend(reversed(part.sides))
            else:
                yield part.leaf


def together(older: Parts, newer: Parts) -> Parts:
    return Parts(sides=(older, newer))
