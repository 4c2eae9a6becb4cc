"""The input and the results of a play through an engine of the literature, the same for all engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tidewheel.queries.statements.history import History
from tidewheel.queries.statements.oracle import Oracle
from tidewheel.queries.statements.plan import Operator

Answer = Counter[tuple[Any, ...]]  # rows by their values


@dataclass(frozen=True)
class Played:
    """A plan, what comes to it until a tick, and how often it is run. `internal`: INTERNAL windows keep results."""

    plan: Operator
    history: History
    until: int
    every: int = 1
    internal: bool = False
    expected: str = ""  # of a model, before it is played

    @property
    def runs(self) -> range:
        return range(self.every, self.until + 1, self.every)


@dataclass(frozen=True)
class Trace:
    """`answers` are those of the runs. `lost` are results that were born and dead between two runs, `restored`
    those of them that were reported late."""

    engine: str
    answers: tuple[Answer, ...]
    operations: Mapping[str, int]
    held_most: int
    results: int
    lost: int
    restored: int = 0

    @property
    def operations_sum(self) -> int:
        return sum(self.operations.values())


class Family(Protocol):
    """Engines of one kind: which names it knows, and how it plays one of them."""

    names: tuple[str, ...]

    def knows(self, name: str) -> bool: ...

    def trace(self, name: str, played: Played) -> Trace: ...


def judged(played: Played) -> tuple[Answer, ...]:
    """Return the judge's answers of the runs."""
    oracle = Oracle(played.plan, played.history)
    answers = (oracle.internal_answers if played.internal else oracle.answers)(played.until)
    return tuple(Counter(row.values for row in answers[at]) for at in played.runs)
