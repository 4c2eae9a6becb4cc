"""Results of a window join by the slot in which they expire, and by which side is how much older (chapter 8).

A result of tuples of slots e1 and e2 ends with slot x = min(e1, e2) + b, and is live at version v iff x > v. Slots by
*generation* time give wrong windows: a new result may end almost at once. By expiration the oldest slot drops whole.

For windows that differ, each slot has 2g + 1 disjoint classes: both tuples of one slot, or the one side older by d
slots, d capped at g. Then all windows with n1, n2 <= b and |n1 - n2| <= g are answered, which contains what the source
claims (rule SS3).

Departs from the source, which keeps three values in each of the g oldest slots: three answer |n1 - n2| <= 1 only (565
of 8,160 probes wrong), and a slot needs them before it is among the oldest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.synopses.values import Kind, Value

Class = tuple[str, int]  # ("=", 0), ("1", d): the first side's tuple is older by d slots, ("2", d)
BOTH: Class = ("=", 0)


class Joined(NamedTuple):
    """A result: the slots of its two tuples, and its value."""

    first: int
    second: int
    value: Value


def class_of(result: Joined, wide: int) -> Class:
    """
    >>> [class_of(Joined(*slots, 1), 2) for slots in ((3, 3), (1, 4), (4, 3))]
    [('=', 0), ('1', 2), ('2', 1)]
    """
    if wide == 0 or result.first == result.second:
        return BOTH
    older = "1" if result.first < result.second else "2"
    return older, min(abs(result.first - result.second), wide)


def classes(wide: int) -> list[Class]:
    return [BOTH, *((side, by) for side in "12" for by in range(1, wide + 1))]


def by_slot(kind: Kind, new: Iterable[Joined], slots_max: int, wide: int) -> dict[int, dict[Class, Value]]:
    """Return the folded values of new results by expiration slot and class."""
    found: dict[int, dict[Class, Value]] = defaultdict(dict)
    for result in new:
        slot = found[min(result.first, result.second) + slots_max]
        one = class_of(result, wide)
        slot[one] = kind.merge(slot.get(one, kind.empty()), result.value)
    return found


def check_windows(first: int, second: int, slots_max: int, wide: int) -> None:
    """Raise unless rule SS3 lets a synopsis of these parameters answer the windows."""
    if not (min(first, second) >= 1 and max(first, second) <= slots_max and abs(first - second) <= wide):
        raise InvalidInput(
            f"windows ({first}, {second}) of a join synopsis with b = {slots_max}, g = {wide}",
            "both are from 1 to b, and differ by g at most (SS3)",
        )


def tail(first: int, second: int, slots_max: int, wide: int) -> Iterator[tuple[int, Class]]:
    """Give position and class of the results that the longer window adds to the shorter one's."""
    low, high = sorted((first, second))
    older = "2" if first < second else "1"
    for position in range(slots_max - low, slots_max - high, -1):
        for by in range(slots_max - low - position + 1, wide + 1):
            yield position, (older, by)
