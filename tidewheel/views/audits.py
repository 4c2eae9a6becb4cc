"""The view of an audit's findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.views.figures import count, seconds, size

if TYPE_CHECKING:
    from tidewheel.jobs.audit.compare import AuditReport

_FINDINGS_SHOWN = 50


def audit_view(report: AuditReport) -> RenderableType:
    """One line of what was looked at, and one for each finding."""
    looked = (
        f"{count(report.cells_checked)} cells, {count(report.rows_checked)} rows, {count(report.files_checked)} files "
        f"and {size(report.bytes_checked)} of version {report.version} in {seconds(report.seconds)}"
    )
    if report.clean:
        return Text.assemble(("clean: ", "bold green"), f"{looked} are what the receipts say")
    # Not a table: a message may be as long as several lines, and names its file itself.
    lines = [Text.assemble((one.kind.value, "bold"), f": {one.message}") for one in report.findings[:_FINDINGS_SHOWN]]
    hidden = len(report.findings) - _FINDINGS_SHOWN
    more = [Text(f"and {hidden} more, all of them with --json")] if hidden > 0 else []
    return Group(Text.assemble(("not clean: ", "bold red"), f"looked at {looked}"), *lines, *more)
