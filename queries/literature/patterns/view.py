"""The answer of a plan as it is kept, and what its rows lived through (sections 2.2.1 and 3.6.1).

Three representations of an answer are equal: executing again, a materialised view, and a stream with negative tuples.
The view is the second; its log of lives is the third. A view may be purged lazily, every so many ticks or after a
silence, the greatest reporting delay: what has ended and is still stored is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidewheel.queries.literature.state.records import FOREVER, REMOVED, Record, Steps
from tidewheel.queries.literature.state.store import Store


@dataclass
class Life:
    """A result from its birth to its end, as far as known: its exp, or the negative tuple that came before."""

    record: Record
    end: float

    @property
    def is_early(self) -> bool:
        return self.end < self.record.exp != FOREVER


class Borrowed:
    """The results that the root stores itself (δ's output), as a view of them: nothing is stored twice."""

    def __init__(self, results: Store) -> None:
        self._results = results

    def insert(self, record: Record) -> None: ...

    def expire(self, now: int) -> list[Record]:
        return []

    def discard(self, record: Record) -> None: ...

    def __iter__(self) -> Iterator[Record]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)


class View:
    """`every` and `silence` are in ticks."""

    def __init__(self, steps: Steps, store: Store, every: int, silence: int | None, *, logs: bool) -> None:
        self._steps, self._store, self._every, self._silence = steps, store, every, silence
        self._purged = self._heard = 0
        self._logs = logs
        self._open: dict[tuple[Any, ...], Life] = {}
        self.lives: list[Life] = []
        self.born = self.early = 0

    def take(self, record: Record, now: int) -> None:
        self._heard = now
        if record.sign == REMOVED:
            self._store.discard(record)
            self.early += now < record.exp != FOREVER
            self._close(record.id, now)
            return
        self._store.insert(record)
        self.born += 1
        if self._logs:
            self._close(record.id, now)
            self._open[record.id] = Life(record, record.exp)
            self.lives.append(self._open[record.id])

    def _close(self, number: tuple[Any, ...], now: int) -> None:
        life = self._open.pop(number, None)
        if life is not None:
            life.end = min(life.end, now)

    def purge(self, now: int) -> None:
        """Remove what has ended, if it is time to."""
        silent = self._silence is not None and now - self._heard >= self._silence
        if now - self._purged >= self._every or silent:
            self._store.expire(now)
            self._purged = now

    def answer(self, now: int) -> list[Record]:
        return [record for record in self._store if record.exp > now]

    def __iter__(self) -> Iterator[Record]:
        """Give what is stored, the ended among it."""
        return iter(self._store)

    def __len__(self) -> int:
        return len(self._store)
