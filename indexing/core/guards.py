"""Guards: the watermark only moves forward, so what would move it by mistake needs a confirmation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import Refused
from tidewheel.indexing.printable import counted

# A year of hours. In one commit each slot is a part of one plan of Spark, which grows with every one.
SLOTS_MAX = 10_000
SLOTS_PER_COMMIT_MAX = 1_000
FUTURE_SKEW_US = 60 * 1_000_000
# Fewer records set aside than these refuse no batch: a share of a handful says nothing of its source.
SET_ASIDE_MIN = 20


@dataclass(frozen=True)
class Confirmations:
    """The risks that the caller has confirmed."""

    allow_future: bool = False
    allow_jump: bool = False
    allow_shrink: bool = False
    allow_many: bool = False
    allow_set_aside: bool = False


NOTHING_CONFIRMED = Confirmations()


def guard_count(slots: int, *, allow_many: bool = False, in_one_commit: bool = False) -> None:
    """Refuse a range with far more slots than anybody means, before they are listed: an end in the year 9999."""
    slots_max = SLOTS_PER_COMMIT_MAX if in_one_commit else SLOTS_MAX
    if slots <= slots_max or allow_many:
        return
    together = " in one commit" if in_one_commit else ""
    way_out = ", bring them in several commits (tidewheel backfill --each)" if in_one_commit else ""
    raise Refused(
        f"{slots:,} slots{together} are more than {slots_max:,}. Nothing was changed",
        f"check both ends of the range{way_out}, or confirm with --allow-many",
        slots=slots,
    )


def guard_watermark(
    state: TableState,
    watermark: int | None,
    now_us: int,
    confirmed: Confirmations = NOTHING_CONFIRMED,
) -> None:
    """Refuse a watermark in the future (wall clock) or further ahead than a record can live (data clock)."""
    definition, before = state.definition, state.watermark
    if watermark is None or (before is not None and watermark <= before):
        return
    axis = definition.axis
    if (
        definition.clock is Clock.WALL
        and axis.end_us(watermark) > now_us + FUTURE_SKEW_US
        and not confirmed.allow_future
    ):
        raise Refused(
            f"slot {axis.name(watermark)} of archive {definition.name} ends at {iso(axis.end_us(watermark))}, "
            f"which is in the future (now {iso(now_us)}); committing it would expire records that are still valid. "
            "Nothing was changed",
            "check the slot, or confirm with --allow-future",
            slot=watermark,
        )
    if (
        definition.clock is Clock.DATA
        and before is not None
        and watermark - before > definition.span
        and not confirmed.allow_jump
    ):
        raise Refused(
            f"slot {axis.name(watermark)} is {watermark - before} slots after the watermark "
            f"{axis.name(before)} of archive {definition.name}; every stored record (span {definition.span} slots) "
            "would expire. Nothing was changed",
            "check the slot, or confirm with --allow-jump",
            slot=watermark,
        )


def guard_shrink(
    state: TableState, receipts: Sequence[SlotReceipt], shrink_max: float, *, allow_shrink: bool = False
) -> None:
    """Refuse a replay that brings far fewer records than the slot had: an emptied topic, a deleted file."""
    for receipt in receipts:
        known = state.ledger.records.get(receipt.slot)
        if known is None or allow_shrink or receipt.rows_in >= known.rows_in * (1 - shrink_max):
            continue
        raise Refused(
            f"the new batch of slot {state.definition.axis.name(receipt.slot)} has "
            f"{counted(receipt.rows_in, 'record')}, the one it would replace had {known.rows_in}: "
            f"more than {shrink_max:.0%} fewer. Nothing was changed",
            "check the source, or confirm with --allow-shrink",
            slot=receipt.slot,
            rows_before=known.rows_in,
            rows_now=receipt.rows_in,
        )


def guard_set_aside(
    name_of: Callable[[int], str],
    receipts: Sequence[SlotReceipt],
    set_aside_max: float,
    examples: Callable[[int], Sequence[str]],
) -> None:
    """Refuse a batch of which most records would be set aside: a wrong format, time zone, unit or expiry."""
    for one in receipts:
        if one.quarantined < SET_ASIDE_MIN or one.quarantined <= one.rows_in * set_aside_max:
            continue
        raise Refused(
            f"{set_aside_text([one])} of slot {name_of(one.slot)}, {one.quarantined / one.rows_in:.0%}, would be set "
            f"aside: more than {set_aside_max:.0%}. For example {'; '.join(examples(one.slot))}. Nothing was changed",
            "correct [source] or expires_at in the archive file, or the source; or raise [policy] set_aside_max, or "
            "confirm with --allow-set-aside",
            slot=one.slot,
            rows=one.rows_in,
            rules=dict(one.rules),
        )


def set_aside_text(receipts: Sequence[SlotReceipt]) -> str:
    """Return how many of the records that came broke a rule, and which rules.

    >>> set_aside_text([SlotReceipt(7, 100, 70, 0, 0, 0, 30, {}, rules={"malformed": 10, "too_long": 20})])
    '30 of 100 records (malformed 10, too_long 20)'
    """
    rules: Counter[str] = Counter()
    for one in receipts:
        rules.update(one.rules)
    by_rule = ", ".join(f"{rule} {rows:,}" for rule, rows in sorted(rules.items()))
    quarantined, came = sum(one.quarantined for one in receipts), sum(one.rows_in for one in receipts)
    return f"{quarantined:,} of {counted(came, 'record')}{f' ({by_rule})' if by_rule else ''}"
