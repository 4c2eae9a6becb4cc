"""Look at an archive: status, history, audit. Status and history start nothing; a deep audit starts Spark."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from tidewheel.commands.common import ARCHIVE, COUNT_MAX, MOMENT, command, opened
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.indexing.printable import counted
from tidewheel.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidewheel.archive import Archive
    from tidewheel.local.standing.explain import Standing


@command
@ARCHIVE
def status(output: Output, archive: str) -> None:
    """Show the watermark, what is missing, the grid of sub-indices, and when expired bytes are gone.

    \b
    Examples:
      tidewheel status netflow
      tidewheel status netflow --json
    """
    with opened(output, archive, "looking") as opened_archive:
        told = opened_archive.status()
        fill = opened_archive.job.source_command("backfill", told.name, "--missing")
        queries, fault = _standing(opened_archive)

    def view() -> RenderableType:
        from rich.console import Group

        from tidewheel.views.queries import lag_view
        from tidewheel.views.status import status_view

        return Group(status_view(told, fill), *(["", lag_view(queries, archive)] if queries else []))

    output.show({**told.to_json(), "queries": [one.to_json() for one in queries]}, view)
    if fault is not None:
        see = fault.remedy if isinstance(fault, Damaged) else f"see: tidewheel query check {shlex.quote(archive)}"
        output.warn(f"some standing queries cannot be read: {fault.message}\n{see}")


def _standing(archive: Archive) -> tuple[list[Standing], TidewheelError | None]:
    """The archive's standing queries, and what is wrong with their files: an archive is looked at all the same."""
    queries = archive.queries
    try:
        return (queries.standing(), queries.wrong) if queries.are_there() else ([], None)
    except TidewheelError as error:
        return [], error


@command
@ARCHIVE
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=COUNT_MAX),
    default=20,
    show_default=True,
    metavar="N",
    help="So many, the newest.",
)
def history(output: Output, archive: str, limit: int) -> None:
    """List what was done to the archive, the newest first.

    \b
    Examples:
      tidewheel history netflow
      tidewheel history netflow --limit 3 --json
    """
    with opened(output, archive, "reading the history") as opened_archive:
        receipts = opened_archive.history(limit)
        axis = opened_archive.axis

    from tidewheel.views.outcomes import history_view

    document = [{"version": version, "receipt": receipt.to_json()} for version, receipt in receipts]
    output.show({"history": document}, lambda: history_view(receipts, axis))


@command
@ARCHIVE
@click.option(
    "--since",
    type=click.IntRange(min=-1, max=COUNT_MAX),
    required=True,
    metavar="VERSION",
    help="Tell what came after this version; -1 is the beginning.",
)
@click.option(
    "--through",
    type=click.IntRange(min=0, max=COUNT_MAX),
    metavar="VERSION",
    help="Stop at this version.  [default: the newest]",
)
def changes(output: Output, archive: str, since: int, through: int | None) -> None:
    """Tell what each version brought and took, and why: batches, cells, the watermark.

    With --json, every cell is named: taking what left from the cells of one version and adding what came gives
    those of the next. Nothing but receipts is read.

    \b
    Examples:
      tidewheel changes netflow --since 2
      tidewheel changes netflow --since -1 --through 10 --json
    """
    with opened(output, archive, "reading the receipts") as opened_archive:
        told = opened_archive.changes(since, through)
        axis = opened_archive.axis

    from tidewheel.views.changes import changes_view

    output.show({"changes": [one.to_json() for one in told]}, lambda: changes_view(told, axis))


@command
@ARCHIVE
@click.option("--slot", type=MOMENT, help="Only the slot that starts then.  [default: all]")
@click.option(
    "--limit",
    type=click.IntRange(min=0, max=COUNT_MAX),
    default=20,
    show_default=True,
    metavar="N",
    help="So many records, after the counts by slot and rule.",
)
def quarantine(output: Output, archive: str, slot: str | None, limit: int) -> None:
    """List the records that were set aside, with the rule they broke; what could not be parsed as it came.

    A record leaves the quarantine when its slot is brought again, by forget, and after [retention] quarantine.

    \b
    Examples:
      tidewheel quarantine netflow
      tidewheel quarantine netflow --slot 2026-11-18T05:00Z --limit 1000 --json
    """
    with opened(output, archive, "reading the quarantine") as opened_archive:
        records = opened_archive.quarantined(slot)
        axis = opened_archive.axis

    from tidewheel.views.quarantine import quarantine_document, quarantine_view

    output.show(quarantine_document(records, axis, limit), lambda: quarantine_view(records, axis, limit))


@command
@ARCHIVE
def metrics(output: Output, archive: str) -> None:
    """Print what a monitoring system asks: rows, bytes, lag, deadline, vacuum, audit, as OpenMetrics text.

    A Grafana dashboard over these names lies in examples/grafana. Under Airflow each run writes a file of them into the
    folder $TIDEWHEEL_METRICS; elsewhere send the output to a file in the folder that node_exporter reads.

    \b
    Examples:
      tidewheel metrics netflow
    """
    with opened(output, archive, "looking") as opened_archive:
        text = opened_archive.metrics()
    output.show({"metrics": text}, text.rstrip)


@command
@ARCHIVE
@click.option(
    "--deep/--quick",
    default=None,
    help="Compute every row's hash again, with Spark; or count and compare only.  [default: deep, where pyspark is "
    "not installed as far as that goes]",
)
def audit(output: Output, archive: str, deep: bool | None) -> None:
    """Compare what must be alive with what is in the files, cell by cell, and name what is wrong.

    The exit code is 6 if anything is.

    \b
    Examples:
      tidewheel audit netflow
      tidewheel audit netflow --quick
    """  # fmt: skip
    with opened(output, archive, "reading the log") as opened_archive:
        report = opened_archive.audit(deep=deep)

    from tidewheel.views.audits import audit_view

    output.show(report.to_json(), lambda: audit_view(report))
    if report.left_out:
        output.warn(report.left_out)
    if not report.clean:
        what = "holds what misleads other readers" if report.whole else "is not what its receipts say"
        raise Damaged(
            f"archive {archive} {what}: {counted(len(report.findings), 'finding')}",
            report.remedy or "stop writing into it, and restore what is named above from a copy",
        )
