"""Work on all cores: numpy, Arrow and zlib let go of the interpreter while they are busy with much at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What comes of each item, in their order, by as many threads as Arrow uses; if one fails, its error."""
    given = list(items)
    threads = min(pa.cpu_count(), len(given))
    if threads < 2:
        return [work(item) for item in given]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, given))
