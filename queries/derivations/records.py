"""Records of sources as the judge sees them: batches by slot, versions of an archive, and tombstones.

A record belongs to the batch of its insertion slot, carries its own end (`until`) and the time of its source's time
column. Slots are counted in the shortest interval of all sources; a source whose interval is m of these has slots that
end at every m-th end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    values: tuple[Any, ...]
    time: int | None
    until: int
    row_hash: int


@dataclass(frozen=True)
class Batch:
    """The records that one attempt brought for a slot; `taken` counts the forgets that removed live records from it."""

    attempt: int
    records: tuple[Record, ...]
    taken: int = 0

    @property
    def entry(self) -> tuple[int, int]:
        """Return the two numbers by which batches are compared; records are never compared."""
        return self.attempt, self.taken


@dataclass(frozen=True)
class Tombstone:
    """Something forgotten: a key, or one row, of all slots up to a bound."""

    slot_max: int
    key: Any = None
    row_hash: int | None = None

    def covers(self, slot: int, record: Record) -> bool:
        if slot > self.slot_max:
            return False
        if self.row_hash is not None:
            return record.row_hash == self.row_hash
        return bool(record.values[0] == self.key)


@dataclass(frozen=True)
class Axis:
    """Intervals of `steps` units each, of which a unit is the shortest interval of all sources."""

    unit: int
    steps: int = 1

    def end(self, slot: int) -> int:
        return (slot + 1) * self.steps * self.unit

    def place(self, slot: int) -> int:
        """Return the slot of the shortest interval at whose end this slot ends."""
        return (slot + 1) * self.steps - 1


@dataclass(frozen=True)
class Version:
    """An archive at one version: the latest batch of each slot, and the last slot that was applied."""

    number: int
    axis: Axis
    batches: Mapping[int, Batch]
    watermark: int

    @property
    def end(self) -> int:
        return self.axis.end(self.watermark)

    def entries(self) -> dict[int, tuple[int, int]]:
        """Return the batch map: of every slot, what tells whether its batch changed."""
        return {slot: batch.entry for slot, batch in self.batches.items()}

    def alive(self, at: int, tombstones: Collection[Tombstone]) -> Iterator[tuple[int, Record]]:
        """Give the records alive at a moment that no tombstone covers, each with its slot."""
        return (
            (slot, record)
            for slot, batch in sorted(self.batches.items())
            for record in batch.records
            if record.until > at and not any(stone.covers(slot, record) for stone in tombstones)
        )
