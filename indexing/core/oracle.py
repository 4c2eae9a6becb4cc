"""The oracle: the archive as a comprehension over everything that ever happened. Slow, obviously right, kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """The facts of a record that the oracle needs; `body` is whatever else it carries."""

    slot: int
    expiration_slot: int
    key: object
    body: object = None


@dataclass
class Oracle:
    """Batches by slot, a watermark, and what was forgotten; operations are applied as they are committed."""

    batches: dict[int, tuple[Record, ...]] = field(default_factory=dict)
    watermark: int | None = None
    forgotten: list[tuple[Callable[[Record], bool], int]] = field(default_factory=list)

    def update(self, batches: Mapping[int, Iterable[Record]]) -> None:
        for slot, records in batches.items():
            self.batches[slot] = tuple(records)
            self.expire(slot)

    def expire(self, through: int) -> None:
        self.watermark = through if self.watermark is None else max(self.watermark, through)

    def forget(self, matches: Callable[[Record], bool]) -> None:
        """Forget matching records of all slots applied so far, for ever."""
        if self.batches:
            self.forgotten.append((matches, max(self.batches)))

    def content(self) -> list[Record]:
        """Return {r : r in the latest batch of its slot, expiration slot after the watermark, not forgotten}."""
        return [
            record
            for records in self.batches.values()
            for record in records
            if self.watermark is not None
            and record.expiration_slot > self.watermark
            and not any(matches(record) and record.slot <= bound for matches, bound in self.forgotten)
        ]
