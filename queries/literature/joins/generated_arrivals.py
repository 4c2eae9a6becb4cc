"""The chapter's synthetic streams: one tuple a turn of a loop, its stream by rate, its value uniform.

Golab, Waterloo 2006, chapter 5. Time is counted in turns; whoever has lengths in units multiplies them by
`turns_per_unit`.

Departs from the source, which stamps tuples with the loop's index: taken literally, windows would hold a thirteenth of
what its model says (Table 5.5), and another order would be the best. So a unit of time is Σλ turns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.window_join import Arrival, JoinWindow, WindowJoin, arrival
from tidewheel.queries.statements.join_sizes import JoinInput


def turns_per_unit(inputs: Sequence[JoinInput]) -> int:
    """Return how many tuples come in a unit of time, of all streams together."""
    total = sum(one.rate for one in inputs)
    if total != int(total):
        raise InvalidInput(f"{total} tuples a unit of time", "give rates whose sum is a whole number")
    return int(total)


def join_of(inputs: Sequence[JoinInput], **settings: Any) -> WindowJoin:
    """Return the join of the streams' time windows, in turns."""
    turns = turns_per_unit(inputs)
    return WindowJoin(tuple(JoinWindow(int(one.length * turns)) for one in inputs), **settings)


def generate(inputs: Sequence[JoinInput], units: int, seed: int) -> Iterator[Arrival]:
    """Give the arrivals of so many units of time.

    >>> [stream for stream, _ in generate([JoinInput(3, 10, 5), JoinInput(1, 10, 5)], units=2, seed=1)]
    [0, 0, 1, 0, 0, 1, 0, 0]
    """
    chance, turns = random.Random(seed), turns_per_unit(inputs)
    streams, rates = range(len(inputs)), [float(one.rate) for one in inputs]
    lengths = [int(one.length * turns) for one in inputs]
    for turn in range(1, units * turns + 1):
        [stream] = chance.choices(streams, rates)
        key = chance.randrange(1, inputs[stream].values + 1)
        yield arrival(stream, turn, turn, key, turn + lengths[stream])
