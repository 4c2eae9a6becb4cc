"""A window joined with a table: retroactive or not (sections 3.2.1 and 3.5.1).

⋈NRR: only arriving tuples probe, so the stream is not stored and a result keeps its tuple's end. A tuple sees the
updates with time *before* its own. A deleted key never comes back: an old result would seem to be about the new one.
The table's history is kept, valid_from < ts <= valid_to: a run that is late joins as of then, and a negative tuple
finds the rows that its twin found.

⋈R: an update changes old results, so the window is stored, and read whole for each update. Its output is STR.

Departs from the thesis, which says both "after τ" and "the state at t.ts": an update at the tuple's own time is not
seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working, ends_told
from tidewheel.queries.literature.state.keyed import Keyed
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps
from tidewheel.queries.literature.state.store import Store
from tidewheel.queries.statements.history import Update
from tidewheel.queries.statements.legality import reused_key


@dataclass
class Version:
    number: int
    values: tuple[Any, ...]
    valid_from: int
    valid_to: float = FOREVER

    def seen_at(self, ts: int) -> bool:
        """Return if an NRR's row is seen by a tuple of this moment."""
        return self.valid_from < ts <= self.valid_to

    def is_there(self, now: int) -> bool:
        return self.valid_from <= now < self.valid_to


class Table:
    """The history of a relation by key. Keys of an NRR (`once`) are not used again."""

    def __init__(self, name: str, key: list[int], *, once: bool) -> None:
        self._name, self._key, self._once = name, key, once
        self._versions: dict[tuple[Any, ...], list[Version]] = {}
        self._count = 0

    def key_of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[place] for place in self._key)

    def apply(self, update: Update) -> Version:
        """Return the version that begins or ends with the update."""
        key = self.key_of(update.values)
        held = self._versions.setdefault(key, [])
        if update.leaves:
            found = next(one for one in held if one.values == update.values and one.valid_to == FOREVER)
            found.valid_to = update.at
            return found
        gone = [one for one in held if one.valid_to != FOREVER]
        if self._once and gone:
            raise reused_key(key[0] if len(key) == 1 else key, self._name, int(gone[-1].valid_to), update.at)
        self._count += 1
        held.append(Version(self._count, update.values, update.at))
        return held[-1]

    def seen_at(self, key: tuple[Any, ...], ts: int) -> list[Version]:
        return [one for one in self._versions.get(key, ()) if one.seen_at(ts)]

    def there(self, key: tuple[Any, ...], now: int) -> list[Version]:
        return [one for one in self._versions.get(key, ()) if one.is_there(now)]


def _with(record: Record, row: Version, ts: int) -> Record:
    return record._replace(id=(*record.id, -2, row.number), values=record.values + row.values, ts=ts)


class NonRetroactiveJoin(Working):
    def __init__(self, steps: Steps, table: Table, key: Values) -> None:
        self._steps, self.table, self._key = steps, table, key

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        rows = self.table.seen_at(self._key(record), record.ts)
        self._steps.matches += len(rows)
        return [_with(record, row, record.ts) for row in rows]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        return self.add(side, record, now)

    def update(self, update: Update) -> list[Record]:
        self.table.apply(update)
        return []


class RetroactiveJoin(Working):
    """`edges`: how its input tells of ends, and how it does."""

    def __init__(self, steps: Steps, ends: Store, table: Table, key: Values, edges: tuple[Edge, Edge]) -> None:
        reads, self._tells = edges
        self._steps, self.table, self._key = steps, table, key
        self._window = Keyed(ends, key, is_told=reads is Edge.NEGATIVE)

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._window.insert(record)
        return self._rows(record, now)

    def _rows(self, record: Record, now: int) -> list[Record]:
        rows = self.table.there(self._key(record), now)
        self._steps.matches += len(rows)
        return [_with(record, row, now) for row in rows]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        self._window.discard(record)
        return ends_told(self._tells, self._rows(record, now), natural=record.exp <= now)

    def expire(self, now: int) -> list[Record]:
        ended = self._window.expire(now)
        return [told for one in ended for told in ends_told(self._tells, self._rows(one, now), natural=True)]

    def update(self, update: Update) -> list[Record]:
        row = self.table.apply(update)
        self._steps.touched += len(self._window)
        key = self.table.key_of(update.values)
        found = [_with(record, row, update.at) for record in self._window.probe(key, update.at)]
        return ends_told(self._tells, found, natural=False) if update.leaves else found

    @property
    def size(self) -> int:
        return len(self._window)
