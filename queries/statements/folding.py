"""Aggregates of a group's values, from scratch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidewheel.queries.statements.plan import Fold


def folded(fold: Fold, values: Sequence[Any]) -> Any:
    """Return the aggregate; nothing counted is 0, all else of nothing is None.

    >>> folded(Fold("sum", "A.x"), [1, 2]), folded(Fold("count"), []), folded(Fold("avg", "A.x"), [])
    (3, 0, None)
    """
    if fold.function == "count":
        return len(values)
    if not values:
        return None
    ways: dict[str, Callable[[Sequence[Any]], Any]] = {"sum": sum, "min": min, "max": max, "avg": _mean}
    return ways[fold.function](values)


def _mean(values: Sequence[Any]) -> Any:
    return sum(values) / len(values)
