"""A command's two streams: its answer goes to standard output, everything else to standard error.

The answer is text for people, or with --json one JSON document. Progress shows on standard error, and only if that
is a terminal, so that logs and pipes hold nothing but what stays true.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import click

from tidewheel.indexing.errors import PLACEHOLDER, Refused, TidewheelError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status

INTERRUPTED = 130
BROKEN_PIPE = 141
# Not a terminal: a table is as wide as its content, nothing is cut off or wrapped.
_WIDE = 1000


class Interrupted(TidewheelError):
    """Somebody pressed Ctrl-C."""

    kind = "interrupted"
    exit_code = INTERRUPTED


@dataclass
class Output:
    """The voice of one run of the command line."""

    as_json: bool = False
    debug: bool = False
    archive: str = ""
    _status: Status | None = field(default=None, init=False)

    def show(self, document: Mapping[str, Any], *views: Callable[[], RenderableType]) -> None:
        """The answer: the document for machines, or the views of it for people."""
        self.still()
        if self.as_json:
            click.echo(_json(document))
            return
        for view in views:
            shown = view()
            if isinstance(shown, str):
                click.echo(shown)  # line by line as it is, so that it can be copied
            else:
                self.terminal.print(shown)

    def notice(self, text: str) -> None:
        """Something to know that is not the answer."""
        if _is_bare(sys.stderr):
            click.echo(text, err=True)
        else:
            self.side.print(text, style="dim")

    @property
    def bare(self) -> bool:
        """Tell whether the answer goes into a file or a pipe: no colours, no width, nothing loaded that draws them."""
        return _is_bare(sys.stdout)

    def warn(self, text: str) -> None:
        """Something that is probably not what was wanted."""
        self.side.print(text, style="bold yellow")

    def fail(self, error: TidewheelError) -> int:
        """Tell an error; gives the exit code. Its remedy names the archive as the command line did."""
        if self.archive and ("/" not in self.archive or self.archive.endswith(".toml")):
            error.remedy = PLACEHOLDER.sub(lambda _: shlex.quote(self.archive), error.remedy)
        if self.as_json:
            values = {key: _plain(value) for key, value in error.values.items()}
            said = {"kind": error.kind, "message": error.message, "remedy": error.remedy, "values": values}
            click.echo(_json({"error": said}), err=True)
            return error.exit_code
        self._problem(error.message, error.remedy)
        return error.exit_code

    def interrupted(self) -> int:
        look = f"tidewheel history {shlex.quote(self.archive)}" if self.archive else "tidewheel history ARCHIVE"
        return self.fail(
            Interrupted(
                "interrupted: nothing was committed unless the history says so", f"look at the newest entry: {look}"
            )
        )

    def confirm(self, question: str, yes: bool) -> None:
        """Go on only after a yes: given as an option, or typed on a terminal."""
        if yes:
            return
        if self.as_json or not sys.stdin.isatty():
            raise Refused(f"{question} Nothing was changed", "confirm with --yes")
        if not click.confirm(question, err=True):
            raise Refused("not confirmed. Nothing was changed", "run the command again and answer with y")

    @contextmanager
    def working(self, first: str) -> Iterator[Callable[[str], None]]:
        """A line that tells what is being done, for as long as it takes."""
        if not self.watched:
            yield lambda step: None
            return
        with self.side.status(first) as self._status:
            yield self._status.update

    def still(self) -> None:
        """Progress ends where the answer begins: in a terminal both would be on the same line."""
        if self._status is not None:
            self._status.stop()

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """A bar that moves with each call."""
        if not self.watched:
            yield lambda: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.side, transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda: progress.advance(task)

    @property
    def watched(self) -> bool:
        """Tell whether somebody watches progress."""
        # Not the console's is_terminal: FORCE_COLOR colours a log, but a log is not watched.
        return not self.as_json and sys.stderr.isatty()

    @cached_property
    def terminal(self) -> Console:
        return _console(stderr=False)

    @cached_property
    def side(self) -> Console:
        return _console(stderr=True)

    def _problem(self, message: str, remedy: str) -> None:
        from rich.text import Text

        text = Text.assemble(("Error: ", "bold red"), message)
        if remedy:
            text.append("\n  what to do: ", "bold").append(remedy)
        self.side.print(text)


def _is_bare(stream: TextIO) -> bool:
    return not stream.isatty() and not os.environ.get("FORCE_COLOR")


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    # Text is data here: square brackets in a path or a key are no markup, and :key: is no emoji.
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


def _json(document: Mapping[str, Any]) -> bytes:
    """JSON is UTF-8, whatever the terminal's encoding; what is no text, as in some names of files, stays an escape."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")


def _plain(value: Any) -> Any:
    """Return an error's values as JSON can hold them; a fault of an archive file becomes its sentence."""
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
