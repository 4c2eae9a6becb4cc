"""Isolation levels of a history, and schedulers side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.queries.literature.isolation.levels import Classified
from tidewheel.views.figures import seconds
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.isolation_measures import Measured

_HEADERS = {
    "staleness_s": "staleness",
    "abort_pct": "aborted",
    "inter_execution_s": "between answers",
    "transactions_per_s": "answers/s",
    "response_s": "response, one-time",
    "one_time_staleness_s": "staleness, one-time",
    "one_time_abort_pct": "aborted, one-time",
}


def classified_view(found: Classified) -> RenderableType:
    table = plain_table("query", "versions read", "WS", "SSI", "LWS", left=(0, 1))
    for levels in found.queries:
        versions = " ".join(map(str, levels.read.versions))
        table.add_row(levels.read.query, versions, *map(_yes, (levels.window, levels.strong, levels.latest)))
    graph = ", ".join(f"{source} → {target}" for source, target in found.edges) or "no edges"
    return Group(
        table,
        Text(f"serialization graph: {graph}"),
        Text(f"serializable: {_yes(found.is_serializable)}; CPS: {_yes(found.is_commit_preserving)}"),
    )


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def compared_view(figures: Mapping[str, Mapping[str, float]], times: Measured | None) -> RenderableType:
    shown = [name for name in _HEADERS if any(name in found for found in figures.values())]
    table = plain_table("scheduler", *(_HEADERS[name] for name in shown), left=(0,))
    for scheduler, found in figures.items():
        table.add_row(scheduler, *(_cell(name, found[name]) for name in shown))
    return Group(Text(_said(times)), table) if times else table


def _said(times: Measured) -> str:
    return (
        f"an update every {seconds(times.interval_s)} takes {seconds(times.update_s)}, the statement"
        f" {seconds(times.statement_s)} in {times.columns} columns: the archive can afford {times.affords}"
    )


def _cell(name: str, value: float) -> str:
    if name.endswith("_pct"):
        return f"{value:.1f} %"
    return f"{value:.2f} s" if name.endswith("_s") and "per" not in name else f"{value:.2f}"
