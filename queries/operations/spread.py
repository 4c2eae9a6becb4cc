"""The range of the values, largest minus smallest: two selections that a plain max and min share."""

from __future__ import annotations

from typing import Any

from tidewheel.queries.operation import Aggregate
from tidewheel.queries.operations.extremes import MAX, MIN


def _finish(largest: Any, smallest: Any) -> Any:
    return None if largest is None else largest - smallest


value_range = Aggregate("range", (MAX, MIN), _finish)
