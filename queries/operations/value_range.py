"""The range of the values, largest minus smallest: two selections that a plain max and min share."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tidewheel.queries.operation import Aggregate
from tidewheel.queries.operations.extremes import MAX, MIN
from tidewheel.queries.operations.whole_sums import EXACT


def _finish(largest: Any, smallest: Any) -> Any:
    if isinstance(largest, Decimal):
        return EXACT.subtract(largest, smallest)
    return None if largest is None else largest - smallest


value_range = Aggregate("range", (MAX, MIN), _finish)
