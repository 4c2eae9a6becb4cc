"""Pairing: the best plan whose trees hold at most two requests, as a matching of maximum weight.

Follows the printed listing; weights are made whole numbers first, so that ties are ties.
"""

from __future__ import annotations

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.matching import heaviest_matching
from tidewheel.queries.planning.plan import Draw, Planner

FLOAT_STEPS = 1 << 40


def pairing(loom: Loom, _: Draw) -> list[Tree]:
    size = len(loom.singles)
    gains = [[0] * size for _ in range(size)]
    for second in range(size):
        for first in range(second):
            gain = loom.gain(loom.singles[first], loom.singles[second])
            if gain > loom.model.least_gain:
                weight = gain if isinstance(gain, int) else max(1, round(gain * FLOAT_STEPS))
                gains[first][second] = gains[second][first] = weight
    mates = heaviest_matching(gains)
    return [
        loom.singles[first] if mate is None else loom.weave(loom.singles[first], loom.singles[mate])
        for first, mate in enumerate(mates)
        if mate is None or first < mate
    ]


PAIRING = Planner("Pairing", "the best trees of at most two queries", pairing, requests_max=200)
