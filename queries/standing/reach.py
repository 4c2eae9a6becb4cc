"""How far answers can reach: through the slots that came or have expired, as long as a window holds anything."""

from __future__ import annotations

from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.queries.standing.query import Terms


def slot_reached(source: Ledger) -> int | None:
    """The newest slot that came, or through which expiry was carried out without a batch: answers follow through it."""
    came = max((last for _, last in source.applied), default=None)
    return came if came is None or source.watermark is None else max(came, source.watermark)


def newest_report(axis: TimeAxis, now_us: int, source: Ledger, terms: Terms, span: int) -> int | None:
    """When the newest report is that can be given: the archive reached it, and something of its window came.

    Where data stopped longer ago than answers are corrected, partials are gone: nothing is given any more.
    """
    came, reached = max((last for _, last in source.applied), default=None), slot_reached(source)
    if came is None or reached is None:
        return None
    looks_us = last_looking_us(axis, terms, span, came)
    newest_us = min(axis.end_us(reached), looks_us)
    newest_us -= (newest_us - terms.offset_us) % terms.slide_us
    is_past = looks_us < axis.end_us(reached) and newest_us < now_us - terms.revise_us
    return None if is_past else newest_us


def last_looking_us(axis: TimeAxis, terms: Terms, span: int, slot: int) -> int:
    """The last moment at which a window holds a slot."""
    if terms.window_us is None:
        return axis.end_us(slot + span - 1)
    return axis.end_us(slot) + terms.window_us + terms.ahead_us - 1
