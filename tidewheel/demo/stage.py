"""How the demonstration looks: chapters with their commands, and the grid turning while updates run.

On a terminal the grid is redrawn after every commit, the sub-indices it touched marked. Elsewhere each commit is
one line. With --json nothing is shown but the figures, at the end.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.status import Status as Spinner
from rich.text import Text

from tidewheel.figures.heatmap import APPENDED, CHANGED, HeatMap, marks_of
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.status import Status, status_of
from tidewheel.output import Output
from tidewheel.views.figures import count, seconds, size, slots_name

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome
    from tidewheel.commits.vacuum.deleted import VacuumReport
    from tidewheel.jobs.audit.compare import AuditReport
    from tidewheel.sql.results.result import Result

_WIDTH_MAX = 100
_COMMITS_SHOWN = 6
_LEGEND = Text(f"{CHANGED} rewritten or dropped   {APPENDED} only appended to", style="dim")
_NEXT = (
    ("status {}", "the grid, and when expired bytes are gone"),
    ("probe {} 10.0.0.7 --explain", "which files a probe opens, and why"),
    ('scan {} --where "bytes > 10000000"', "the great talkers"),
    ("query explain {} top_talkers", "what stands behind a standing query"),
    ("forecast {} --updates 6 --assume-last 12", "what the next updates will expire and rewrite"),
    ("history {}", "every commit, with what it did"),
    ("migrate {} --expiration-classes 6 --dry-run", "another layout, with what it would cost"),
    ("advise {} --probes 1000", "which layout would suit this stream"),
)


class Stage:
    """The screen of one demonstration, and the figures it found."""

    def __init__(self, output: Output, archive: str) -> None:
        self.output = output
        self._archive = archive
        self._figures: dict[str, Any] = {}
        self._spinner: Spinner | None = None
        self._is_turning = False

    def __enter__(self) -> Stage:
        if self.output.watched:
            self._spinner = self.output.side.status("")
        return self

    def __exit__(self, *_: object) -> None:
        self._rest()

    def progress(self, step: str) -> None:
        """Show the current step, until the next words. The turning grid shows progress enough."""
        if self._spinner is not None and not self._is_turning:
            self._spinner.update(step)
            self._spinner.start()

    def chapter(self, title: str, command: str) -> None:
        line = "─" * max(0, min(self.output.terminal.width, _WIDTH_MAX) - len(title) - 4)
        self._print("", Text.assemble(("── ", "dim"), (title, "bold"), (f" {line}", "dim")))
        if command:
            self._print(Text(f"$ tidewheel {command.format(self._archive)}", style="cyan"))

    def say(self, text: str) -> None:
        self._print(Text(text))

    def number(self, name: str, value: Any) -> None:
        self._figures[name] = value

    def definition(self, path: str, definition: Definition) -> None:
        from tidewheel.views.definitions import definition_view

        self._print(definition_view(path, definition))

    @contextmanager
    def turning(self, archive: Archive) -> Iterator[Callable[[Outcome, float], None]]:
        """A function that shows an update and the grid after it."""
        self._rest()
        watched = sys.stdout.isatty() and not self.output.as_json
        live = Live(console=self.output.terminal, auto_refresh=False) if watched else None
        updates: list[Outcome] = []
        lines: deque[Text] = deque(maxlen=_COMMITS_SHOWN)

        def show(outcome: Outcome, took_s: float) -> None:
            updates.append(outcome)
            lines.append(_line(outcome, archive.axis, took_s))
            if live is None:
                self._print(lines[-1])
            else:
                live.update(Group(grid(archive, outcome), _LEGEND, *lines), refresh=True)

        self._is_turning = watched
        with live or nullcontext():
            yield show
        self._is_turning = False
        if live is None:
            self._print(grid(archive, None))
        self.number("updates", len(updates))
        self.say(_summary(updates))

    def rows(self, result: Result) -> None:
        from tidewheel.views.rows import rows_view

        self._print(rows_view(result)[0])

    def answers(self, table: pa.Table) -> None:
        from tidewheel.views.queries import answers_view

        self._print(answers_view(table))

    def audit(self, report: AuditReport) -> None:
        from tidewheel.views.audits import audit_view

        self._print(audit_view(report))
        self.number("audit_clean", report.clean)

    def vacuum(self, report: VacuumReport) -> None:
        from tidewheel.views.vacuums import vacuum_view

        self._print(vacuum_view(report))

    def status(self, told: Status) -> None:
        from tidewheel.views.status import status_view

        self._print(status_view(told, f"tidewheel backfill {self._archive} --missing"))

    def end(self, archive: Archive, took_s: float) -> None:
        self.chapter(f"Done in {seconds(took_s)}. The archive stays, at {archive.path}", "")
        self.say("Try next:")
        width = max(len(command) for command, _ in _NEXT) + len(self._archive)
        for command, what in _NEXT:
            self._print(Text.assemble((f"  tidewheel {command.format(self._archive):<{width}}", "cyan"), f"  {what}"))
        if self.output.as_json:
            self.output.show({"path": archive.path, "seconds": round(took_s, 1), **self._figures})

    def _print(self, *parts: RenderableType) -> None:
        self._rest()
        if not self.output.as_json:
            for part in parts:
                self.output.terminal.print(part)

    def _rest(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()


def grid(archive: Archive, outcome: Outcome | None) -> HeatMap:
    """The grid as it is now, with what a commit touched."""
    from tidewheel.storage.ledger_store import state_of

    told = status_of(state_of(archive.snapshot()), path=archive.path, now_us=0)
    marks = marks_of(outcome.plan, outcome.receipt) if outcome and outcome.receipt else {}
    return HeatMap(told.generations, told.grid, marks)


def _line(outcome: Outcome, axis: TimeAxis, took_s: float) -> Text:
    """One commit: what came in, which columns turned, what was dropped without being read."""
    receipt = outcome.receipt
    assert receipt is not None
    parts = [f"{slots_name(axis, outcome.plan.slots)}: {count(sum(one.stored for one in receipt.slots))} stored"]
    columns = sorted({change.file.e for change in outcome.plan.rewritten})
    if columns:
        names = " ".join(f"e{column}" for column in columns)
        parts.append(f"{names} turned, {count(receipt.rows_rewritten)} rewritten")
    if receipt.files_dropped:
        parts.append(f"{counted(receipt.files_dropped, 'file')} dropped unread")
    return Text("; ".join([*parts, seconds(took_s)]))


def _summary(updates: list[Outcome]) -> str:
    receipts = [outcome.receipt for outcome in updates if outcome.receipt]
    slots = [one for receipt in receipts for one in receipt.slots]
    return (
        f"{len(slots)} slots in {len(receipts)} commits: {count(sum(one.rows_in for one in slots))} flows came, "
        f"{count(sum(one.stored for one in slots))} were stored, "
        f"{count(sum(one.short_lived + one.dead_on_arrival for one in slots))} had expired on arrival, "
        f"{count(sum(one.quarantined for one in slots))} are in quarantine (a plan that nobody knows); "
        f"{size(sum(receipt.bytes_added for receipt in receipts))} written, "
        f"{size(sum(receipt.bytes_dropped for receipt in receipts))} dropped unread"
    )
