"""The oracle: a window's answer from all records, from scratch. Slow, obviously right, kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import Operation


def window_fold(operation: Operation, records: Iterable[tuple[int, Any]], start: int, end: int) -> Any:
    """The accumulators of all records (time, inputs) of [start, end), in the order given, in one."""
    return operation.fold(operation.lift(*inputs) for at, inputs in records if start <= at < end)
