"""The seconds a refresh may take: what has begun is finished, and nothing new is begun after them."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Budget:
    seconds: float | None = None
    _since: float = field(default_factory=perf_counter)

    @property
    def slots_first(self) -> int | None:
        """How many slots are folded together at first: with little time, no more than one."""
        return None if self.seconds is None else 1

    def is_spent(self) -> bool:
        return self.seconds is not None and perf_counter() - self._since >= self.seconds


@dataclass(frozen=True)
class Left:
    """The work a refresh had no time for, and by how many slots the oldest of it is behind.

    `older` are answers of new queries, at the most, that nobody corrects any more: they are late for nobody.
    """

    partials: int = 0
    answers: int = 0
    slots_late: int = 0
    older: int = 0

    def __bool__(self) -> bool:
        return bool(self.partials or self.answers or self.older)
