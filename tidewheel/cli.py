"""The command line: `tidewheel COMMAND ARCHIVE`. The commands lie in `tidewheel.commands`, one file per subject.

Whatever goes wrong anywhere ends here, in one place: said on standard error with what to do next, and told to the
caller by the exit code of its kind (see `tidewheel.indexing.errors`).
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from typing import Any, NoReturn

import click

from tidewheel.commands import COMMANDS
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.indexing.printable import printable
from tidewheel.mishaps import told_of
from tidewheel.output import BROKEN_PIPE, Output

# Set by shells that complete a command line; see `tidewheel completion`.
COMPLETE_VARIABLE = "_TIDEWHEEL_COMPLETE"
# Who asks for a forget by the command line hears of it from the command.
_FORGET_LOG = "tidewheel.commits.operations.forget"
# PySpark's helpers for tests, which it asks of every value on its way to Java whether numpy is installed.
_ASKED_BY_PYSPARK = "pyspark.testing.utils"


class Program(click.Group):
    """The group of all commands, in the order in which one meets them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        given = list(sys.argv[1:] if args is None else args)
        _make_streams_safe()
        output = Output(as_json="--json" in given, debug="--debug" in given)
        quiet_bridge(output.debug)
        with pandas_hidden(), _queries_interruptible():
            code = self._run(given, output, {**extra, "standalone_mode": False, "obj": output})
        sys.exit(code)

    def _run(self, given: list[str], output: Output, extra: dict[str, Any]) -> int:
        try:
            code = super().main(given, **extra)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            return _misused(error, output)
        except (KeyboardInterrupt, click.Abort):
            return output.interrupted()
        except SystemExit as end:  # click's own ends: a completion is given, or a pipe is broken
            return _nobody_reads() if end.code and COMPLETE_VARIABLE not in os.environ else 0
        except Exception as error:
            return _failed(error, output)


class _PandasHidden:
    """Until Spark is there, whose sources may be people's own programs, nobody has a use for pandas."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        is_hidden = name == "pandas" and "pyspark" not in sys.modules
        if is_hidden or (name in ("pandas", "google.rpc") and _is_imported_now(_ASKED_BY_PYSPARK)):
            raise ModuleNotFoundError(f"{name} is not loaded before Spark", name=name)


def _is_imported_now(name: str) -> bool:
    module = sys.modules.get(name)
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


@contextmanager
def pandas_hidden() -> Iterator[None]:
    """Hide pandas from pyarrow, which would load it (half a second) only to see that no value is one of its own."""
    sys.meta_path.insert(0, _PandasHidden)
    try:
        yield
    finally:
        sys.meta_path.remove(_PandasHidden)


@contextmanager
def _queries_interruptible() -> Iterator[None]:
    """Let Ctrl-C reach DuckDB at once: Python hears of it when DuckDB gives back control, which may take minutes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, signals = os.pipe()
    os.set_blocking(signals, False)
    before = signal.set_wakeup_fd(signals)
    watcher = threading.Thread(target=_interrupt_queries, args=(heard,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(signals)
        watcher.join()
        os.close(heard)


def _interrupt_queries(heard: int) -> None:
    while number := os.read(heard, 1):
        room = sys.modules.get("tidewheel.sql.engine.connections")
        if number[0] == signal.SIGINT and room is not None:
            room.interrupt_all()


def _make_streams_safe() -> None:
    """Make standard streams safe to write: one may be closed, or its encoding lack a sign.

    A command that succeeded must not fail when it reports.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def quiet_bridge(debug: bool) -> None:
    """Keep off the terminal what is logged and said by a command as well.

    That is the traceback that py4j logs when Spark is interrupted, and that a forget found nothing.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda one: debug or not ("py4j" in one.pathname or one.name == _FORGET_LOG))
    logging.basicConfig(handlers=[handler])


def _failed(error: Exception, output: Output) -> int:
    is_told = isinstance(error, TidewheelError)
    if not is_told and isinstance(error, OSError) and error.errno == errno.EPIPE:
        return _nobody_reads()
    if not is_told and _was_interrupted(error):
        return output.interrupted()
    if output.debug:
        traceback.print_exc()
    return output.fail(error if isinstance(error, TidewheelError) else told_of(error, output.archive))


def _misused(error: click.ClickException, output: Output) -> int:
    """Report click's complaint about a command line; what was typed is shown escaped."""
    if output.as_json:
        context = getattr(error, "ctx", None)
        asked = context.command_path if context else "tidewheel"
        return output.fail(InvalidInput(printable(error.format_message()), f"{asked} --help"))
    said = StringIO()
    error.show(said)
    lines = [printable(line) for line in said.getvalue().splitlines()]
    if not any("--help" in line for line in lines):
        lines.append("Try 'tidewheel --help' for help.")
    lines += _behind_dashes(error)
    click.echo("\n".join(lines), err=True)
    return error.exit_code


def _behind_dashes(error: click.ClickException) -> list[str]:
    """A key may begin with a dash, as numbers below zero do: how it is told from an option."""
    context = error.ctx if isinstance(error, click.NoSuchOption) else None
    if context is None or "key" not in {param.name for param in context.command.params}:
        return []
    return [f"A key that begins with a dash goes behind --: {context.command_path} ARCHIVE -- -5"]


def _was_interrupted(error: Exception) -> bool:
    """DuckDB makes an error of its own of a Ctrl-C that comes while it answers."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def _nobody_reads() -> int:
    """The reader of a pipe has gone: what is still buffered goes nowhere, without another complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tidewheel", message="%(prog)s %(version)s")
def main() -> None:
    """Stream archives in which every record has its own expiry.

    ARCHIVE is a name (the file archives/NAME.toml, or in the folder $TIDEWHEEL_ARCHIVES), the path of such
    a file, or the path of a table. Times are written 2026-11-18T10:00Z, with Z or an offset; a date is its
    midnight UTC. Every command takes --json.

    \b
    Exit codes: 0 done, 2 fix the input, 3 refused until confirmed, 4 somebody else was first,
    5 outcome unknown, 6 archive damaged, 7 not installed, 8 try again, 70 unexpected, 130 interrupted.
    """


for _command in COMMANDS:
    main.add_command(_command)

if __name__ == "__main__":
    main()
