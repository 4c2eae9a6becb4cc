"""The sharing of work among tasks, so that all write equally much: sub-indices whole, or cut by key where that pays.

Each sub-index, the greatest first, goes to the task that has least to do. If one task then has much more than its
share, the sub-indices that may be cut are taken out again. They fill the tasks up to one level, one after the other, as
McNaughton's rule has machines share jobs that may be interrupted. What does not fit into the rest of a task is cut off
by key and opens the next. So there are fewer cuts than tasks, and a sub-index is still one run of key ranges.

A cut costs one file more until its sub-index is written again. So no piece is small: on many cores, the pieces are at
least an eighth of the target file size.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

PIECES_OF_A_FILE = 8
SMALLEST_PIECES_OF_A_FILE = 32

At = TypeVar("At", bound=tuple[int, ...])  # names a sub-index


@dataclass(frozen=True)
class Piece:
    """One task's piece of a sub-index: from the end of the piece before, up to this share of it, by key."""

    task: int
    until: float


def tasks_for(total_bytes: float, cores: int, target_bytes: int) -> int:
    """Return as many tasks for every core, and so many that none has more than a file's worth.

    >>> tasks_for(100, 2, target_bytes=128), tasks_for(300, 2, target_bytes=128)
    (2, 4)
    """
    return cores * max(1, ceil(total_bytes / (cores * target_bytes)))


def shared(
    sizes: Mapping[At, float], divisible: Container[At], tasks: int, target_bytes: int
) -> dict[At, tuple[Piece, ...]]:
    """Return the pieces of every sub-index, in the order of its keys.

    >>> shares = shared({(0, 0, 0): 40, (0, 0, 1): 8}, {(0, 0, 0)}, tasks=2, target_bytes=64)
    >>> shares[0, 0, 0]
    (Piece(task=0, until=0.4), Piece(task=1, until=1.0))
    >>> shares[0, 0, 1]
    (Piece(task=0, until=1.0),)
    """
    piece_min = max(1, target_bytes // SMALLEST_PIECES_OF_A_FILE)
    total = sum(sizes.values())
    level = total / min(tasks, max(2, total * PIECES_OF_A_FILE // target_bytes))
    greatest_first = sorted(sizes, key=lambda at: (-sizes[at], at))
    placed, loads = _whole(sizes, greatest_first, tasks)
    if max(loads) - level < piece_min:
        return placed
    to_cut = [at for at in greatest_first if at in divisible and sizes[at] >= 2 * piece_min]
    placed, loads = _whole(sizes, [at for at in greatest_first if at not in to_cut], tasks)
    return placed | {at: tuple(_cut(sizes[at], loads, level, piece_min)) for at in to_cut}


def _whole(
    sizes: Mapping[At, float], greatest_first: Sequence[At], tasks: int
) -> tuple[dict[At, tuple[Piece, ...]], list[float]]:
    """Return each sub-index with the task that has least to do, and the load of every task then."""
    loads = [0.0] * tasks
    counts = [0] * tasks
    placed: dict[At, tuple[Piece, ...]] = {}
    for at in greatest_first:
        # Those of unknown size are dealt out in turn.
        task = min(range(tasks), key=lambda task: (loads[task], counts[task]))
        loads[task] += sizes[at]
        counts[task] += 1
        placed[at] = (Piece(task, 1.0),)
    return placed, loads


def _cut(size: float, loads: list[float], level: float, piece_min: int) -> list[Piece]:
    """Yield the pieces of one sub-index, which fill up the tasks in turn."""
    pieces = []
    left = size
    while left > 0:
        task = next((task for task, load in enumerate(loads) if level - load >= piece_min), loads.index(min(loads)))
        room = level - loads[task]
        taken = room if room >= piece_min and left - room >= piece_min else left
        loads[task] += taken
        left -= taken
        pieces.append(Piece(task, 1 - left / size))
    return pieces
