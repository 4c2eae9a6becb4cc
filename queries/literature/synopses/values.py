"""The values that a slot of a synopsis holds, and what each of them allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Value = Any


@dataclass(frozen=True)
class Kind:
    """`merge` folds values of slots, a later one last; `subtract` takes a part away again, where that is possible.

    Duplicate-sensitive values count a record twice that two merged values both hold.
    """

    name: str
    empty: Callable[[], Value]
    merge: Callable[[Value, Value], Value]
    subtract: Callable[[Value, Value], Value] | None = None
    is_bounded: bool = True  # one value however long the history; maps grow with it
    is_sensitive: bool = True


def _either(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda one, other: other if one is None else one if other is None else choose(one, other)


def _counted(one: Counter[Any], other: Counter[Any]) -> Counter[Any]:
    return one + other


def _less(one: Counter[Any], other: Counter[Any]) -> Counter[Any]:
    return one - other


SUM = Kind("sum", int, lambda one, other: one + other, lambda one, other: one - other)
COUNT = Kind("count", int, SUM.merge, SUM.subtract)
MAX = Kind("max", lambda: None, _either(max), is_sensitive=False)
MIN = Kind("min", lambda: None, _either(min), is_sensitive=False)
COUNTS = Kind("counts", Counter, _counted, _less, is_bounded=False)
