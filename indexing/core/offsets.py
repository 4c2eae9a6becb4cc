"""The messages of a Kafka topic that a slot has read: in each partition those of [first, end), as receipts keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OffsetRange = tuple[int, int]  # [first, end)


@dataclass(frozen=True)
class SlotOffsets:
    """One slot's share of a topic. A partition without an entry did not exist yet when the slot was read."""

    topic: str
    topic_id: str  # another one under the same name, if it was deleted and made anew; "" of a broker that has none
    ranges: Mapping[int, OffsetRange]
    lost: int = 0  # how many of its messages were gone when it was read, at most

    def first(self, partition: int) -> int:
        return self.ranges.get(partition, (0, 0))[0]

    def end(self, partition: int) -> int:
        return self.ranges.get(partition, (0, 0))[1]

    def is_of(self, topic: str, topic_id: str) -> bool:
        """Tell whether the slot was read from this very topic."""
        return self.topic == topic and ("" in (self.topic_id, topic_id) or self.topic_id == topic_id)

    def to_json(self) -> list[Any]:
        """Return a short form: a ledger holds one for each slot that is remembered."""
        ranges = [[number, first, end] for number, (first, end) in sorted(self.ranges.items())]
        return [self.topic, self.topic_id, ranges, *([self.lost] if self.lost else [])]

    @staticmethod
    def from_json(values: list[Any]) -> SlotOffsets:
        topic, topic_id, ranges, *lost = values
        return SlotOffsets(topic, topic_id, {number: (first, end) for number, first, end in ranges}, *lost[:1])


def ranges_text(ranges: Mapping[int, OffsetRange], shown_max: int = 5) -> str:
    """
    >>> ranges_text({0: (5, 9), 2: (0, 1)})
    'partition 0 [5, 9), partition 2 [0, 1)'
    """
    named = [f"partition {number} [{first}, {end})" for number, (first, end) in sorted(ranges.items())]
    more = [f"{len(named) - shown_max} more"] if len(named) > shown_max else []
    return ", ".join([*named[:shown_max], *more])


def is_unbroken(own: Mapping[int, SlotOffsets], others: Mapping[int, SlotOffsets]) -> bool:
    """Tell whether slots begin and end where their neighbours do, so that no message is in two slots or in none.

    >>> slots = {1: SlotOffsets("t", "", {0: (0, 5)})}
    >>> is_unbroken(slots, {2: SlotOffsets("t", "", {0: (5, 9)})}), is_unbroken(slots, {2: SlotOffsets("t", "", {})})
    (True, False)
    """
    around = {slot: others[slot] for one in own for slot in (one - 1, one + 1) if slot in others and slot not in own}
    pairs = [(own.get(slot, around.get(slot)), own.get(slot + 1, around.get(slot + 1))) for slot in _lowers(own)]
    return all(_meet(lower, upper) for lower, upper in pairs if lower is not None and upper is not None)


def _lowers(own: Iterable[int]) -> set[int]:
    return {slot for one in own for slot in (one - 1, one)}


def _meet(lower: SlotOffsets, upper: SlotOffsets) -> bool:
    if not lower.is_of(upper.topic, upper.topic_id):
        return True
    numbers = lower.ranges.keys() | upper.ranges.keys()
    return all(lower.end(number) == upper.first(number) for number in numbers)
