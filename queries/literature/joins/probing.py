"""The loops that all algorithms of the chapter share: `ComputeJoin` and its three variants.

Golab, Waterloo 2006, chapter 5: nested loops over the other windows in the order of the plan. Each tuple visited is
tested by its end where an algorithm asks for it, else compared on the join attribute; a match goes on to the next
window. All plans are pipelined: an inner bucket is scanned again for each match before it, and counted again.

Follows the listings, which are four; what differs among them, tests and what is done with a result, is the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidewheel.queries.literature.joins.counts import Counts
from tidewheel.queries.literature.joins.held_window import HeldWindow
from tidewheel.queries.literature.joins.liveness import Alive
from tidewheel.queries.literature.state.records import Record

Stack = tuple[Record, ...]  # a match of each window probed, in the order of the probes


def probe(windows: Sequence[HeldWindow], key: Any, counts: Counts) -> list[Stack]:
    """Return all combinations of tuples of the windows with the key."""
    counts.probes += 1
    stacks: list[Stack] = [()]
    for window in windows:
        bucket = window.bucket(key)
        counts.comparisons += len(bucket) * len(stacks)
        stacks = [(*stack, held) for stack in stacks for held in bucket if held.values[0] == key]
    return stacks


def probe_alive(windows: Sequence[HeldWindow], key: Any, moment: float, alive: Alive, counts: Counts) -> list[Stack]:
    """Return the combinations of tuples that are alive at the moment: each visited one is tested by its end first."""
    counts.probes += 1
    stacks: list[Stack] = [()]
    for window in windows:
        bucket = window.bucket(key)
        found = []
        for stack in stacks:
            compared = [held for held in bucket if alive(moment, held.exp)]
            counts.timestamp_tests += len(bucket)
            counts.comparisons += len(compared)
            found += [(*stack, held) for held in compared if held.values[0] == key]
        stacks = found
    return stacks
