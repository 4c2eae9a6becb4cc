"""Records with lifetimes, and the steps that processing them takes.

A record is live at `now` if ts <= now < exp. A composite ends when its first part ends, and was born with its last:
exp = min of the parts, ts = max of the parts (Golab 2006, section 2.2). `sign` -1 marks a negative tuple, which takes
its positive twin away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

FOREVER = math.inf
ADDED, REMOVED = 1, -1


class Record(NamedTuple):
    """`id` names a base tuple by (leaf, number), a result by the ids of its parts, one after the other."""

    id: tuple[Any, ...]
    values: tuple[Any, ...]
    ts: int
    exp: float = FOREVER
    sign: int = ADDED

    def is_live(self, now: float) -> bool:
        return self.ts <= now < self.exp

    def negative(self) -> Record:
        return self._replace(sign=REMOVED)


def end_order(record: Record) -> tuple[Any, ...]:
    """The order in which records of one moment end: by exp, then id."""
    return (record.exp, record.id)


@dataclass
class Steps:
    """One step is one operator called, one state element visited or inserted, or one match of a probe.

    >>> steps = Steps(calls=2, touched=3, matches=1)
    >>> steps.total
    6
    """

    calls: int = 0
    touched: int = 0
    matches: int = 0

    @property
    def total(self) -> int:
        return self.calls + self.touched + self.matches
