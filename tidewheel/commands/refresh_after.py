"""Behind a command that changed an archive: the answers of its standing queries follow.

The command has done what it was asked for once its commit is there, whatever becomes of the answers. So what keeps some
of them from following is told beside the result and changes no exit code; a refresh compares, and the next one, or that
of the next update, finds what this one did not do.
"""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from tidewheel.derived import derived_archives
from tidewheel.mishaps import told_of
from tidewheel.output import Output
from tidewheel.query_files import may_ask

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidewheel.archive import Archive
    from tidewheel.indexing.errors import TidewheelError
    from tidewheel.local.standing.outcome import Refreshed

NO_REFRESH = click.option("--no-refresh", is_flag=True, help="Leave standing queries to a later `tidewheel refresh`.")


def show_followed(
    output: Output,
    archive: Archive,
    document: Mapping[str, Any],
    view: Callable[[], RenderableType],
    follows: bool,
) -> None:
    """Show what a command did, then what became of the standing queries that ask the archive."""
    if not output.as_json:
        output.show(document, view)
    told = _told(output, archive) if follows else {}
    if output.as_json:
        output.show({**document, **told}, view)


def _told(output: Output, archive: Archive) -> dict[str, Any]:
    """Follow; where that cannot even be tried, say so beside what was done."""
    try:
        return _follow(output, archive)
    except Exception as error:
        wrong = told_of(error, output.archive)
        output.warn(f"what the command did stays; its standing queries were not looked for: {wrong.message}")
        return {"refresh": {"error": _said(wrong)}}


def _follow(output: Output, archive: Archive) -> dict[str, Any]:
    """Refresh, and tell people of it; gives what machines are told."""
    command = f"tidewheel refresh {shlex.quote(output.archive)}"
    if archive.file is None or not may_ask(archive.folder, archive.file.name):
        if derived_archives(archive):
            asks = "no query file asks it now" if archive.file else "its query files are known by its archive file"
            output.notice(f"the archive's answers stay as they are: {asks}; once one does: {command}")
        return {}
    done, wrong = _refreshed(output, archive)
    if done is not None and not output.as_json:
        from tidewheel.views.queries import followed_line

        output.show({}, lambda: followed_line(done))
    if wrong is not None:
        output.warn(f"the archive has what came; not all of its standing queries have followed: {wrong.message}")
        # Some remedies are this command, with a confirmation.
        output.notice(f"  what to do: {wrong.remedy}{'' if command in wrong.remedy else f', then: {command}'}")
    return {"refresh": {**(done.summary() if done else {}), "error": wrong and _said(wrong)}}


def _refreshed(output: Output, archive: Archive) -> tuple[Refreshed | None, TidewheelError | None]:
    """Refresh. Return what was done, and the error that kept some queries, or all, from their answers."""
    try:
        with output.working("bringing the answers of standing queries up to date"):
            done = archive.queries.refreshed()
    except Exception as error:
        if output.debug:
            traceback.print_exc()
        return None, told_of(error, output.archive)
    return done, done.wrong


def _said(wrong: TidewheelError) -> dict[str, str]:
    return {"kind": wrong.kind, "message": wrong.message, "remedy": wrong.remedy}
