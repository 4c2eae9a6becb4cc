"""Advice and forecasts as tables."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.cost.advisor import Advice
from tidewheel.indexing.cost.forecast import Forecast
from tidewheel.views.figures import count, seconds, size, slot_name, through_name
from tidewheel.views.tables import plain_table


def advice_view(advice: Advice) -> RenderableType:
    """The finalists, the cheapest first, and the reason for the first."""
    table = plain_table(
        "G×E", "strategy", "runs_max", "rewritten", "dead", "files/probe", "update", "probe", "all", left=(0, 1)
    )
    for one in advice.candidates:
        layout, told, times = one.generation.layout, one.prediction, one.times
        table.add_row(
            f"{layout.insertion_classes}×{layout.expiration_classes}",
            one.generation.strategy.value,
            str(one.generation.runs_max),
            size(told.rewritten_bytes),
            f"{told.dead_share:.0%}",
            f"{told.probe_files:.0f}",
            seconds(times.update_seconds),
            seconds(times.probe_seconds),
            seconds(times.workload_seconds),
            style="dim" if one.misses else "",
        )
    best = Text.assemble(("advice: ", "bold"), advice.best.reason)
    note = f"the best of {advice.considered} considered; seconds are modelled, per update with its reads"
    return Group(best, table, Text(note, style="dim"))


def forecast_view(told: Forecast, axis: TimeAxis) -> RenderableType:
    """One line for each update to come."""
    assumed = any(one.arrived_assumed_rows for one in told.updates)
    headers = ["slot", "expires", "bytes", "left live", "bytes", "rewritten", "dead bytes"]
    table = plain_table(*headers, *(["arrives", "live with it"] if assumed else []), left=(0,))
    for one in told.updates:
        guess = "~" if one.expired_assumed_rows else ""
        cells = [
            slot_name(axis, one.slot),
            guess + count(one.expired_rows + one.expired_assumed_rows),
            guess + size(one.expired_bytes + one.expired_assumed_bytes),
            count(one.live_rows),
            size(one.live_bytes),
            f"~{size(one.rewritten_bytes)}",
            f"~{size(one.dead_bytes)}",
        ]
        arrivals = [f"~{count(one.arrived_assumed_rows)}", f"~{count(one.live_rows + one.live_assumed_rows)}"]
        table.add_row(*cells, *(arrivals if assumed else []))
    note = f"after what is applied through {through_name(axis, told.watermark)}; assumed: {told.assumption}"
    return Group(
        Text(note), table, Text("~ is an estimate or rests on that assumption; the rest is exact", style="dim")
    )
