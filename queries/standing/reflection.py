"""Running sums over a tree's partials: the content of a window is the difference of two sums."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from tidewheel.indexing.core.batches import NO_SOURCE
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.queries.standing.lineage import DIGEST_MASK, Cover, PartialLineage
from tidewheel.queries.standing.tree import Assignment, Tree

# What digests are mixed with.
ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class Reflection:
    """The partials of one tree as running sums over time; the difference of two sums is the content of a window."""

    axis: TimeAxis
    tree: Tree
    lineages: Mapping[int, PartialLineage]  # by slot

    @cached_property
    def _fragments(self) -> tuple[list[int], list[int]]:
        sums: dict[int, int] = {}
        for lineage in self.lineages.values():
            for number, digest in lineage.fragments.items():
                sums[number] = (sums.get(number, 0) + digest) & DIGEST_MASK
        numbers = sorted(sums)
        return numbers, [0, *accumulate(sums[number] for number in numbers)]

    @cached_property
    def _slots(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """The slots that partials tell of, with running sums: of their coverage, of those that are not whole."""
        # An undone slot is none: it lacks in windows that hold it, and no late record of it is missing from others.
        slots = sorted(slot for slot, one in self.lineages.items() if one.source != NO_SOURCE)
        marks = [hash_of(slot, self.lineages[slot].coverage.to_text()) for slot in slots]
        partly = [int(self.lineages[slot].coverage.cover is not Cover.ALL) for slot in slots]
        lacking = [mark * part for mark, part in zip(marks, partly, strict=True)]
        return slots, [0, *accumulate(marks)], [0, *accumulate(partly)], [0, *accumulate(lacking)]

    @property
    def slot_min(self) -> int | None:
        """The first slot of which anything could be read."""
        read = (slot for slot in self._slots[0] if self.lineages[slot].coverage.cover is not Cover.NONE)
        return next(read, None)

    def content(self, first: int | None, end: int) -> int:
        """A digest of fragments [first, end)."""
        numbers, sums = self._fragments
        total = sums[bisect_left(numbers, end)] - (0 if first is None else sums[bisect_left(numbers, first)])
        return total & DIGEST_MASK

    def digest(self, first: int | None, end: int, slot_first: int | None, slot_last: int) -> int:
        """Digest the fragments [first, end), the slots [slot_first, slot_last], and later incomplete slots."""
        content = self.content(first, end)
        slots, marks, _, lacking = self._slots
        low = 0 if slot_first is None else bisect_left(slots, slot_first)
        high = bisect_left(slots, slot_last + 1)
        covered = marks[high] - marks[low] + lacking[-1] - lacking[high]
        return (content * ODD[0] + covered * ODD[1]) & DIGEST_MASK

    def covered(self, slot_first: int, slot_last: int, slot_before: int) -> int:
        """How many of the slots [slot_first, slot_last] a report at the end of `slot_before` can rely on."""
        slots, _, partly, _ = self._slots
        low, high = bisect_left(slots, slot_first), bisect_left(slots, slot_last + 1)
        if partly[high] == partly[low]:
            return high - low
        return sum(self.lineages[slot].coverage.is_exact(slot_before) for slot in slots[low:high])

    def lacking_after(self, slot_last: int, slot_before: int) -> int:
        """How many later slots are there and not whole: late records of theirs may be missing from any window."""
        slots, _, partly, _ = self._slots
        high = bisect_left(slots, slot_last + 1)
        if not self.tree.time or partly[-1] == partly[high]:
            return 0
        return sum(not self.lineages[slot].coverage.is_exact(slot_before) for slot in slots[high:])


@lru_cache(maxsize=100_000)
def hash_of(slot: int, text: str) -> int:
    """A digest of a slot's coverage: the same in every process, unlike Python's own."""
    mixed = slot & DIGEST_MASK
    for byte in text.encode():
        mixed = (mixed ^ byte) * 0x100000001B3 & DIGEST_MASK
    return mixed


def reflections(axis: TimeAxis, partials: Ledger, assignment: Assignment) -> dict[str, Reflection]:
    """Return for each tree the sums over its partials."""
    lineages: dict[str, dict[int, PartialLineage]] = {tree.name: {} for tree in assignment.trees}
    for (slot, part), batch in partials.batches.items():
        if part in lineages:
            lineages[part][slot] = PartialLineage.from_texts(batch.lineage)
    return {tree.name: Reflection(axis, tree, lineages[tree.name]) for tree in assignment.trees}
