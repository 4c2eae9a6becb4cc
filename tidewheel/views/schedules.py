"""Schedules of standing queries, and what new ones would come to."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from tidewheel.indexing.durations import duration_text
from tidewheel.queries.scheduling.schedule_forecast import NEVER_SLOTS
from tidewheel.views.figures import short_iso
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.queries.scheduling.schedule_forecast import Scheduled
    from tidewheel.queries.scheduling.what_if import WhatIf

LATE_SHOWN = 12


def scheduled_view(told: Scheduled | None) -> RenderableType:
    if told is None:
        return "no query asks this archive; write one: tidewheel query new ARCHIVE NAME"
    table = plain_table("scheduler", "answers per slot", "useful", "slots late", left=(0,))
    for name, one in told.worths.items():
        table.add_row(name, f"{one.answers:,.2f}", f"{one.useful:,.2f}", f"{one.latency:,.2f}")
    return Group(_load_line(told), table, _late(told))


def _load_line(told: Scheduled) -> str:
    if told.lateness_slots == 0:
        forecast = "there is time for all"
    elif isfinite(told.lateness_slots):
        forecast = f"run one by one, answers would be {told.lateness_slots:,.1f} slots late"
    else:
        forecast = "less than partials take, so answers would be ever later"
    return f"{told.demand_s:,.3g} s of work per slot, {told.budget_s:,.3g} s to do it in: {forecast}"


def _late(told: Scheduled) -> RenderableType:
    """Show the answers that would be late as refreshes run, the latest first."""
    late = sorted((name for name, slots in told.late_slots.items() if slots > 0), key=lambda one: -told.late_slots[one])
    if not late:
        return "as refreshes run (CS-LP), every answer comes in its slot"
    table = plain_table("late as refreshes run (CS-LP)", "every", "in effect every", left=(0,))
    for name in late[:LATE_SHOWN]:
        asked_us = told.periods[name] * told.interval_us
        table.add_row(name, duration_text(asked_us), _in_effect(told.late_slots[name], told.effective_periods_s[name]))
    hidden = len(late) - LATE_SHOWN
    return Group(table, f"and {hidden} more") if hidden > 0 else table


def _in_effect(late_slots: float, period_s: float) -> str:
    return "ever later" if late_slots >= NEVER_SLOTS else _rounded(period_s)


def _rounded(seconds: float) -> str:
    return duration_text(round(seconds) * 1_000_000) if seconds >= 1 else f"{seconds:.3g} s"


def what_if_view(told: WhatIf) -> RenderableType:
    table = plain_table(
        "query", "case", "from", "shares with", "exact", "every", "in effect every", left=(0, 1, 2, 3, 4)
    )
    for one in told.newcomers:
        table.add_row(
            one.query, one.case, one.uses, ", ".join(one.shares_with),
            "at once" if one.exact_from_us is None else f"from {short_iso(one.exact_from_us)}",
            _rounded(one.period_s), _in_effect(told.after.late_slots[one.query], one.effective_period_s),
        )  # fmt: skip
    before = [] if told.before is None else [f"now: {_load_line(told.before)}"]
    return Group(table, *before, f"then: {_load_line(told.after)}", _late(told.after))
