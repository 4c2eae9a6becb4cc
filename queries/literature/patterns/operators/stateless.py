"""Selection, projection and union: nothing is stored, and negative tuples pass like others (section 2.2.1).

The order-preserving union buffers nothing here, for all streams move tick by tick; `clocks.py` has the union of
streams that lag one another. Cost: one step a record.

Follows the definitions.
"""

from __future__ import annotations

from collections.abc import Callable

from tidewheel.queries.literature.patterns.operators.operator import Working
from tidewheel.queries.literature.state.records import Record


class Stateless(Working):
    """`through` gives the record that leaves, or None."""

    def __init__(self, through: Callable[[Record], Record | None]) -> None:
        self._through = through

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        found = self._through(record)
        return [] if found is None else [found]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        return self.add(side, record, now)
