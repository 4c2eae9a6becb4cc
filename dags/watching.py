"""What should have happened by now and has not: pure, from the archive's state and the time.

A vacuum period is the measure of patience: expiry is carried out by timer once it is that late, and is a worry when
it is twice that late. A slot is missing if its run was due (due.py) and did not bring it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.dags.due import Ranges
from tidewheel.indexing.core.definition import Clock, Definition
from tidewheel.indexing.core.slots import gaps_of, iso
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.durations import duration_text


@dataclass(frozen=True)
class Worry:
    """Something that does not happen, and what to do."""

    message: str
    remedy: str


def overdue_expiry(state: TableState, now_us: int) -> int | None:
    """The slot through which expiry should be carried out now; None if it was, or if there is no present."""
    definition = state.definition
    if definition.clock is Clock.DATA or state.watermark is None:
        return None
    through = definition.axis.slot_of(now_us - definition.retention.vacuum_period_us) - 1
    return through if through > state.watermark else None


def worries(state: TableState, due: Ranges, now_us: int) -> list[Worry]:
    """All that is overdue or missing; `due` are the slots that the schedule should have brought."""
    return [*_overdue(state, now_us), *_missing(state, due)]


def missing_slots(state: TableState, due: Ranges) -> Ranges:
    """Closed ranges of the due slots that were never applied."""
    return tuple(gap for first, last in due for gap in _gaps(state.ledger.applied, first, last))


def _gaps(applied: Ranges, first: int, last: int) -> Ranges:
    within = [(max(a, first), min(b, last)) for a, b in applied if b >= first and a <= last]
    return gaps_of([(first - 1, first - 1), *within], last)


def _overdue(state: TableState, now_us: int) -> list[Worry]:
    definition = state.definition
    if definition.clock is Clock.DATA or state.watermark is None:
        return []
    late_us = now_us - definition.axis.end_us(state.watermark)
    bound_us = 2 * definition.retention.vacuum_period_us + definition.axis.interval_us
    if late_us <= bound_us:
        return []
    return [
        Worry(
            f"expiry is overdue: archive {definition.name} is expired through "
            f"{iso(definition.axis.end_us(state.watermark))}, {duration_text(late_us - late_us % 1_000_000)} ago; "
            f"after {duration_text(bound_us)} its deadline for bytes is no longer kept",
            f"see why the task expire fails, or: tidewheel expire {definition.name}",
        )
    ]


def _missing(state: TableState, due: Ranges) -> list[Worry]:
    gaps = missing_slots(state, due)
    if not gaps:
        return []
    definition, axis = state.definition, state.definition.axis
    count = sum(last - first + 1 for first, last in gaps)
    shown = ", ".join(axis.name(a) if a == b else f"{axis.name(a)} to {axis.name(b)}" for a, b in gaps[:5])
    return [
        Worry(
            f"{count} {'slot is' if count == 1 else 'slots are'} missing in archive {definition.name}: {shown}"
            + (" and more" if len(gaps) > 5 else "")
            + ", though their runs were due",
            "see what became of their runs; when their data is there: "
            + backfill_command(definition, gaps[0][0], gaps[-1][1]),
        )
    ]


def backfill_command(definition: Definition, first: int, last: int) -> str:
    """What brings the missing ones among some slots."""
    start, end = iso(definition.axis.start_us(first)), iso(definition.axis.end_us(last))
    return (
        f"airflow dags trigger {definition.name}__backfill --conf "
        f'\'{{"start": "{start}", "end": "{end}", "missing_only": true}}\''
    )
