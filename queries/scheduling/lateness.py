"""How late everything will be when there is more to do than time for it, before anything is played.

No refresh is dropped: under overload all periods stretch, and tasks that run by themselves, the earliest deadline
first, stretch by about the same L. The work done per update is then as much as there is time for:

    the sum over tasks of (cost / (period + L)) = capacity
No listing is printed: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

STEPS = 200


def lateness(tasks: Sequence[tuple[float, float]], capacity: float) -> float:
    """L of tasks as (cost, period), with so much capacity per update; 0 where there is time for all.

    >>> round(lateness([(10, 2), (10, 5)], 5), 3)
    1.0
    """
    if capacity <= 0:
        return float("inf") if tasks else 0.0
    if _work(tasks, 0.0) <= capacity:
        return 0.0
    low, high = 0.0, sum(cost for cost, _ in tasks) / capacity
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _work(tasks, middle) > capacity else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return high


def _work(tasks: Sequence[tuple[float, float]], late: float) -> float:
    return sum(cost / (period + late) for cost, period in tasks)
