"""When expiry is carried out by timer: once it is a vacuum period late, as no update carried it out.

What should have happened by now and has not is for `indexing/rules/health.py` to say.
"""

from __future__ import annotations

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.state import TableState


def overdue_expiry(state: TableState, now_us: int) -> int | None:
    """The slot through which expiry should be carried out now; None if it was, or if there is no present."""
    definition = state.definition
    if definition.clock is Clock.DATA or state.watermark is None:
        return None
    through = definition.axis.slot_of(now_us - definition.retention.vacuum_period_us) - 1
    return through if through > state.watermark else None
