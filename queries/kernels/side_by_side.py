"""Work on all cores: numpy, Arrow and zlib let go of the interpreter while they are busy with much at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import pyarrow as pa

Item = TypeVar("Item")
Result = TypeVar("Result")

SHARE_MIN = 1 << 18  # values that are worth handing to a thread
SHARES_PER_THREAD = 4  # so that one that is held up is not waited for with half of the work


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What comes of each item, in their order, by as many threads as Arrow uses; if one fails, its error."""
    given = list(items)
    threads = min(pa.cpu_count(), len(given))
    if threads < 2:
        return [work(item) for item in given]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, given))


def in_shares(work: Callable[[Sequence[Item]], None], items: Sequence[Item], values: int) -> None:
    """Work on all items, of so many values together, some of them at a time."""
    count = max(1, min(SHARES_PER_THREAD * pa.cpu_count(), values // SHARE_MIN, len(items)))
    bounds = [len(items) * share // count for share in range(count + 1)]
    side_by_side(work, [items[begin:end] for begin, end in pairwise(bounds)])
