"""Hash tables: what the negative tuple approach keeps (sections 3.5.2 and 3.6.1).

The thesis's tables have 10 chains, so that taking a record out visits the older ones of its chain. With
`chains=None` a table is a modern one, which takes any record out in one step: the thesis's gaps shrink by much.
A hash table never looks at `exp`: each end is announced by a negative tuple.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from tidewheel.queries.literature.state.records import Record, Steps


class Hashed:
    """
    >>> held = Hashed(Steps(), chains=1)
    >>> for at in (1, 2, 3):
    ...     held.insert(Record((0, at), (), at))
    >>> held.discard(Record((0, 2), (), 2))
    >>> held.steps.touched, len(held)
    (5, 2)
    """

    def __init__(self, steps: Steps, chains: int | None = 10) -> None:
        self.steps, self._chains = steps, chains
        self._held: dict[int, dict[Hashable, Record]] = {}
        self._size = 0

    def _chain(self, key: Hashable) -> dict[Hashable, Record]:
        return self._held.setdefault(hash(key) % self._chains if self._chains else 0, {})

    def insert(self, record: Record) -> None:
        self.steps.touched += 1
        self._chain(record.id)[record.id] = record
        self._size += 1

    def expire(self, now: float) -> list[Record]:
        return []

    def discard(self, record: Record) -> None:
        chain = self._chain(record.id)
        self.steps.touched += self._visited(chain, record.id)
        self._size -= chain.pop(record.id, None) is not None

    def _visited(self, chain: dict[Hashable, Record], key: Hashable) -> int:
        if self._chains is None or key not in chain:
            return 1 if self._chains is None else len(chain)
        return next(at for at, held in enumerate(chain, start=1) if held == key)

    def __iter__(self) -> Iterator[Record]:
        return (record for chain in self._held.values() for record in chain.values())

    def __len__(self) -> int:
        return self._size
