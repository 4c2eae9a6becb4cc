"""Work on all cores: numpy, Arrow and zlib let go of the interpreter while they are busy with much at once.

Who waits for files more than for a processor says how many threads wait, however many cores there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads_max: int | None = None) -> list[Result]:
    """Call `work` for each item on several threads, as many as Arrow uses if none are said; results come in order.

    If a call fails, its error is raised."""
    given = list(items)
    threads = min(threads_max or pa.cpu_count(), len(given))
    if threads < 2:
        return [work(item) for item in given]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, given))
