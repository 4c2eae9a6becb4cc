"""The feed of changes, one line for each version."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.rules.changes import Change, Why
from tidewheel.views.figures import count, slots_name, through_name
from tidewheel.views.tables import plain_table

_REASONS = (Why.REPLACED, Why.EXPIRED, Why.FORGOTTEN, Why.UNDONE)


def changes_view(changes: Sequence[Change], axis: TimeAxis) -> RenderableType:
    """Rows that came and left, by reason."""
    if not changes:
        return "nothing changed since"
    table = plain_table(
        "version", "what", "slots", "came", *(why.value for why in _REASONS), "applied through", left=(1, 2)
    )
    for one in changes:
        slots = sorted({slot for (slot, _), _ in one.batches} | {slot for slot, _ in one.batches_gone})
        table.add_row(
            str(one.version),
            one.operation.value,
            slots_name(axis, tuple(slots)) if slots else "",
            count(one.rows_came),
            *(count(one.rows_left(why)) for why in _REASONS),
            "" if one.watermark == one.watermark_before else through_name(axis, one.watermark),
        )
    return table
