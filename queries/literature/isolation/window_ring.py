"""A window as a circular array: slide j writes version j of slot `j mod n` (Golab 2006, section 7.2).

After slide m the n youngest slides are exactly the n slots. An example of the source that lists the youngest slot as 0
and the oldest as n - 1 contradicts this; here slots are written in increasing order.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ring:
    """n slots; all functions take m, the last slide that was applied."""

    slots: int

    def slot_of(self, version: int) -> int:
        return version % self.slots

    def version(self, slot: int, last: int) -> int:
        return last - (last - slot) % self.slots

    def age(self, slot: int, last: int) -> int:
        """Return 1 for the youngest slot and n for the oldest."""
        return last - self.version(slot, last) + 1

    def time_to_update(self, slot: int, last: int) -> int:
        """Count the slides until the slot is overwritten (TTU)."""
        return self.slots - (last - slot) % self.slots

    def leaving_slot(self, slide: int, length: int) -> int:
        """Return the slot that a slide takes from a query over `length` slots.

        For a full window, the overwritten one.
        """
        return (slide + self.slots - length) % self.slots


def slides_survived(length: int, read: int) -> int:
    """Count the slides that a query may be paused for after `read` contiguous reads, youngest first.

    Without an abort.
    """
    return length - read
