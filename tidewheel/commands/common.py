"""The parts that commands share: the archive argument, times, confirmations, --json and --debug."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidewheel.moments import moment_us
from tidewheel.output import Output
from tidewheel.resolve import known_archives

if TYPE_CHECKING:
    from tidewheel.archive import Archive

F = TypeVar("F", bound=Callable[..., Any])


class MomentType(click.ParamType[str]):
    """A moment, checked and left as text."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> str:
        moment_us(value)
        return str(value)


class NodeType(click.ParamType[tuple[int, int]]):
    """One of several nodes, as 2/4: checked, and left to whoever does the work to judge."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, slash, nodes = str(value).partition("/")
        if not (slash and number.isascii() and number.isdigit() and nodes.isascii() and nodes.isdigit()):
            self.fail(f"{value!r} is no node: write 2/4 for the second of four", param, context)
        return int(number), int(nodes)


MOMENT, NODE = MomentType(), NodeType()


def command(function: F) -> click.Command:
    """A command whose help is the docstring, with the options that all commands have."""
    made = click.command(short_help=(function.__doc__ or "").split("\n")[0])(click.pass_obj(function))
    made.params += [
        click.Option(["--json"], is_flag=True, expose_value=False, help="Print one JSON document."),
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error."),
    ]
    return made


def archive_argument(*, required: bool = True) -> Callable[[F], F]:
    def remember(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if isinstance(context.obj, Output):
            context.obj.archive = value or ""
        return value

    return click.argument("archive", callback=remember, required=required, shell_complete=_archives)


def _archives(context: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Complete archive names; a shell completes paths better itself."""
    return [name for name in known_archives() if name.startswith(begun)]


ARCHIVE = archive_argument()
# More than any archive has of anything, and still a number that every engine takes.
COUNT_MAX = 1_000_000_000
DRY_RUN = click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
YES = click.option("--yes", is_flag=True, help="Confirm; needed where nobody can be asked.")
AS_OF = click.option(
    "--as-of", type=MOMENT, help="The moment to answer for.  [default: now, or the end of historic data]"
)
COLUMNS = click.option("--columns", help="Columns to give, separated by commas.  [default: all of the source's]")
ALLOW_FUTURE = click.option("--allow-future", is_flag=True, help="Confirm a slot that has not ended yet.")
ALLOW_JUMP = click.option("--allow-jump", is_flag=True, help="Confirm a jump that expires all that is stored.")
ALLOW_SHRINK = click.option("--allow-shrink", is_flag=True, help="Confirm a replay with far fewer records.")
ALLOW_SET_ASIDE = click.option(
    "--allow-set-aside", is_flag=True, help="Confirm a batch of which most records are set aside."
)
ALLOW_MANY = click.option("--allow-many", is_flag=True, help="Confirm a range of very many slots.")


def names_in(text: str | None) -> list[str] | None:
    """The names of a list separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def opened(output: Output, name: str, doing: str) -> Iterator[Archive]:
    """The archive, with its steps shown while it works."""
    from tidewheel.archive import open

    with output.working(doing) as progress:
        yield open(name, progress=progress)
