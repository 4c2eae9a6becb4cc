"""Counts: of rows, and of the inputs that are not missing. Whole numbers, so exact and invertible."""

from __future__ import annotations

from operator import add, sub
from typing import Any

from tidewheel.queries.operation import Column, Operation, alone, is_missing


def _one(*_inputs: Any) -> int:
    return 1


def _present(*inputs: Any) -> int | None:
    return None if any(is_missing(value) for value in inputs) else 1


_COLUMNS = (Column("n", "BIGINT"),)

COUNT_ROWS = Operation("count_rows", _one, add, _COLUMNS, identity=0, evict_oldest=sub)
COUNT = Operation("count", _present, add, _COLUMNS, identity=0, evict_oldest=sub)

count_rows = alone(COUNT_ROWS, inputs=())
count = alone(COUNT)
