"""What a terminal, a log, a closed stream and a program get of a command: answers apart from progress, values whole."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.cli import main
from tidewheel.output import INTERRUPTED
from tidewheel.views.queries import answers_view
from tidewheel.views.tables import Rows

SHOWS_CURSOR = b"\x1b[?25h"  # rich does so when progress ends


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    archive = LocalArchive(tmp_path_factory.mktemp("terminals")).create()
    archive.update({0: [Event("नेपाल", 1, 5, MINUTE_US * 4)]})
    return str(archive.folder / "table")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tidewheel.cli", *words]


def in_terminal(columns: int, words: list[str]) -> bytes:
    """All that a terminal of that width is sent."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    sent = b""
    while chunk := _read(terminal):
        sent += chunk
    assert os.waitpid(child, 0)[1] == 0, sent
    return sent


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # as Linux says that nobody writes there any more
        return b""


@pytest.mark.parametrize("words", [("probe", "नेपाल", "--columns", "k,v"), ("scan", "--format", "csv"), ("scan",)])
def test_an_answer_begins_where_progress_ends(table: str, words: tuple[str, ...]) -> None:
    sent = in_terminal(100, command(words[0], table, *words[1:]))
    progress, _, answer = sent.partition(SHOWS_CURSOR)
    assert "नेपाल".encode() in answer
    assert b"ing" in progress
    assert "नेपाल".encode() not in progress
    assert SHOWS_CURSOR not in answer


def test_a_table_that_is_too_wide_becomes_lines_of_whole_values() -> None:
    rows = Rows(["moment", "name"], [["2026-11-18T05:30:00Z", "x" * 30], ["2026-11-18T05:35:00Z", "y"]])
    assert drawn(rows, 60).splitlines()[0].split() == ["moment", "name"]
    lines = [line.split() for line in drawn(rows, 40).splitlines()]
    assert lines[1:3] == [["moment", "2026-11-18T05:30:00Z"], ["name", "x" * 30]]
    assert lines[4:6] == [["moment", "2026-11-18T05:35:00Z"], ["name", "y"]]


def drawn(view: object, width: int) -> str:
    console = Console(width=width, file=StringIO())
    console.print(view)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_what_is_not_complete_is_not_shown_as_complete() -> None:

    shown = [
        line.strip() for line in drawn(answers_view(pa.table({"complete": [1.0, 0.9996, 2 / 3]})), 60).splitlines()
    ]
    assert shown[2:] == ["1", "0.999", "0.667"]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_fault(table: str, closed: str, tmp_path: Path) -> None:
    line = f'exec "$@" {closed}'
    assert subprocess.run(["sh", "-c", line, "sh", *command("scan", table)], check=False).returncode == 0


ENDLESS = """
import os, signal, sys, threading
import tidewheel.sql.session
from tidewheel.cli import main
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
main(["sql", sys.argv[1], "select count(*) from range(1000000000000)"])
"""


def test_a_question_is_interrupted(table: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS, table], capture_output=True, text=True, check=False)
    assert done.returncode == INTERRUPTED, done.stderr
    assert "interrupted: nothing was committed" in done.stderr


INTERRUPTED_EARLY = """
import os, runpy, signal, sys
class Impatient:
    def find_spec(self, name, *rest):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Impatient())
runpy.run_module("tidewheel", run_name="__main__")
"""


def test_ctrl_c_before_the_command_line_is_there_leaves_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_sign_that_an_encoding_lacks_is_no_fault(table: str, encoding: str) -> None:
    def told(*words: str) -> bytes:
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(command(*words), env=environment, stdout=subprocess.PIPE, check=True).stdout

    assert b"round_robin" in told("status", table)
    assert json.loads(told("scan", table, "--json"))["rows"][0]["k"] == "नेपाल"


@pytest.mark.parametrize(
    "words", [["frobnicate"], ["status"], ["history", "x", "--limit", "0"], ["status", "x", "--no"]]
)
def test_a_program_is_told_of_a_misused_command_as_of_any_error(words: list[str]) -> None:
    done = CliRunner().invoke(main, [*words, "--json"])
    assert (done.exit_code, done.stdout) == (2, "")
    told = json.loads(done.stderr)["error"]
    assert told["kind"] == "invalid_input"
    assert told["remedy"].endswith("--help")


def test_a_program_is_told_of_the_file_that_was_written(table: str, tmp_path: Path) -> None:
    path = str(tmp_path / "rows.csv")
    done = CliRunner().invoke(main, ["scan", table, "--format", "csv", "--output", path, "--json"])
    told = json.loads(done.stdout)
    assert (told["file"], told["format"], told["rows"], told["version"]) == (path, "csv", 1, 1)
    done = CliRunner().invoke(main, ["scan", table, "--format", "csv", "--json"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "leave one of them out" in done.stderr
