"""Join state: live records by join key, beside the structure that says which of them end (section 3.5.2).

Both name the same records, so an insertion counts once. A probe passes by what has ended and was not purged yet;
where negative tuples tell of ends (`is_told`) it must not: a result stands until one of its parts is taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.literature.state.store import Store


class Keyed:
    """
    >>> from tidewheel.queries.literature.state.fifo import Fifo
    >>> from tidewheel.queries.literature.state.records import Steps
    >>> state = Keyed(Fifo(Steps()), lambda record: record.values[0])
    >>> state.insert(Record((0, 1), ("a",), 1, 11)); state.insert(Record((0, 2), ("a",), 4, 14))
    >>> [record.ts for record in state.probe("a", 11)]
    [4]
    """

    def __init__(self, ends: Store, key: Callable[[Record], Hashable], *, is_told: bool = False) -> None:
        self.ends, self.key, self._is_told = ends, key, is_told
        self._by_key: dict[Hashable, dict[Hashable, Record]] = {}

    def insert(self, record: Record) -> None:
        self.ends.insert(record)
        self._by_key.setdefault(self.key(record), {})[record.id] = record

    def discard(self, record: Record) -> None:
        self.ends.discard(record)
        self._drop(record)

    def expire(self, now: int) -> list[Record]:
        found = self.ends.expire(now)
        for record in found:
            self._drop(record)
        return found

    def _drop(self, record: Record) -> None:
        key = self.key(record)
        held = self._by_key.get(key, {})
        held.pop(record.id, None)
        if not held:
            self._by_key.pop(key, None)

    def probe(self, key: Hashable, now: float) -> list[Record]:
        held = self._by_key.get(key, {}).values()
        return list(held) if self._is_told else [record for record in held if record.exp > now]

    def __len__(self) -> int:
        return len(self.ends)
