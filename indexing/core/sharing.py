"""Which task writes what, so that all tasks write equally much: sub-indices whole, or cut by key where that pays.

Sub-indices go, the greatest first, each to the task that has least to do. Where one task then has much more than its
part, those that may be cut are taken out again and fill the tasks up to the same level, one after the other, as
McNaughton's rule has machines share jobs that may be interrupted: what does not fit into the rest of a task is cut
off by key and opens the next. So there are fewer cuts than tasks, and a sub-index is still one run of key ranges.

A cut leaves a file more until its sub-index is written again. Hence no small pieces, and on many cores no more tasks
for the pieces than make them an eighth of the file size that is aimed at.
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
    """What one task writes of a sub-index: from where the piece before ends up to this share of it, by key."""

    task: int
    until: float


def tasks_for(total_bytes: float, cores: int, target_bytes: int) -> int:
    """As many tasks for every core, and so many that none has more than a file's worth.

    >>> tasks_for(100, 2, target_bytes=128), tasks_for(300, 2, target_bytes=128)
    (2, 4)
    """
    return cores * max(1, ceil(total_bytes / (cores * target_bytes)))


def shared(
    sizes: Mapping[At, float], divisible: Container[At], tasks: int, target_bytes: int
) -> dict[At, tuple[Piece, ...]]:
    """The pieces of every sub-index, in the order of its keys.

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
    """Each to the task that has least to do, and what all tasks have then."""
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
    """The pieces of one sub-index, which fill up the tasks in turn."""
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
