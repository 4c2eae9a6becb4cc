"""A skewed stream with bursts, in place of the wide-area TCP connections that the source plays.

Each item either repeats one of the hundred before it, or is drawn from 1,647 types, the i-th with weight i ** -1.2.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from itertools import accumulate

TYPES = 1647
SKEW = 1.2
REPEATS = 0.5
REACH = 100


def generated_items(length: int = 600_000, seed: int = 6, types: int = TYPES, skew: float = SKEW) -> list[int]:
    chance = random.Random(seed).random
    shares = list(accumulate(place**-skew for place in range(1, types + 1)))
    items: list[int] = []
    for place in range(length):
        if place > 0 and chance() < REPEATS:
            first = max(0, place - REACH)
            items.append(items[first + int(chance() * (place - first))])
        else:
            items.append(bisect_left(shares, chance() * shares[-1]))
    return items


def starting_points(count: int = 100, below: int = 500_000, seed: int = 106) -> list[int]:
    chance = random.Random(seed).random
    return [int(chance() * below) for _ in range(count)]
