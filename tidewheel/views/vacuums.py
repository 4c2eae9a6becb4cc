"""The view of files that a vacuum deleted, or would delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.views.figures import count, short_iso, size
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.commits.vacuum.deleted import VacuumReport


def vacuum_view(report: VacuumReport) -> RenderableType:
    """Show what goes by kind, what has to wait for the grace period, and who holds what."""
    waiting = Text(
        f"{count(report.awaiting_files)} files of {size(report.awaiting_bytes)} have left the archive "
        "and wait for their grace to pass"
    )
    held = _held(report)
    kinds = [kind for kind, files in report.files.items() if files]
    aside = {name: rows for name, rows in report.side_rows.items() if rows}
    if not kinds and not report.folders and not aside:
        return Group("nothing to delete", waiting, *held)
    table = plain_table("would be deleted" if report.dry_run else "deleted", "number", "bytes", left=(0,))
    for kind in kinds:
        table.add_row(f"{kind} files", count(report.files[kind]), size(report.bytes[kind]))
    if report.folders:
        table.add_row("empty folders", count(report.folders), "")
    for name, rows in aside.items():
        table.add_row(f"{name} records", count(rows), "")
    return Group(table, waiting, *held)


def _held(report: VacuumReport) -> list[Text]:
    if not report.holds:
        return []
    left = f"{count(report.held_files)} files of {size(report.held_bytes)} are past their grace and held by readers:"
    return [
        Text(left),
        *(Text(f"  version {one.version} until {short_iso(one.until_us)} by {one.holder}") for one in report.holds),
    ]
