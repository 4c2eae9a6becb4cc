"""The words of an error in a task's log: lines that fit a page, and commands that can be typed where they are read.

Messages name `airflow` and `tidewheel` as a terminal knows them in which both are installed, and archives by name. An
Airflow that has its own settings and its own folder says in $TIDEWHEEL_COMMANDS where commands of these names lie that
know them (`make airflow` makes them); there they are named in full, and the archive by its file.
"""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from pathlib import Path

from tidewheel.indexing.errors import PLACEHOLDER, TidewheelError

COMMANDS_VARIABLE = "TIDEWHEEL_COMMANDS"
WIDTH = 110
_COMMAND = re.compile(
    r"(?<![\w/.-])(?:(?P<airflow>airflow)(?= [a-z])|tidewheel (?P<verb>[a-z]+)(?: (?P<archive>[a-z]\w*)\b)?)"
)
_BEFORE_COMMAND = re.compile(r":\s+(?=(?:airflow|tidewheel|python -m) [a-z])")


def lines_of(error: TidewheelError, archive_file: str) -> list[str]:
    """Return the error, and below it the remedy; a command has a line of its own, which is not broken."""
    lines = _folded(f"{error.kind}: {error.message}", archive_file)
    if error.remedy:
        lines += ["what to do:", *(f"    {line}" for line in _folded(error.remedy, archive_file))]
    return lines


def _folded(text: str, archive_file: str) -> list[str]:
    lines = []
    for line in _BEFORE_COMMAND.sub(":\n", text).splitlines():
        said = typed_here(line.strip(), archive_file)
        lines += [said] if _COMMAND.match(line.strip()) else textwrap.wrap(said, WIDTH, break_on_hyphens=False)
    return lines


def typed_here(text: str, archive_file: str) -> str:
    """The text, with commands that work wherever it is read."""
    text = PLACEHOLDER.sub(Path(archive_file).stem, text)
    folder = os.environ.get(COMMANDS_VARIABLE)
    if not folder:
        return text

    def in_full(match: re.Match[str]) -> str:
        if match["airflow"]:
            return f"{shlex.quote(folder)}/airflow"
        named = match["archive"] or ""
        known = shlex.quote(archive_file) if named == Path(archive_file).stem else named
        return f"{shlex.quote(folder)}/tidewheel {match['verb']}" + (f" {known}" if named else "")

    return _COMMAND.sub(in_full, text)
