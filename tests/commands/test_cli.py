"""The command line: every example of the help texts is run, in the order in which somebody would type them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tidewheel.archive import Archive, open
from tidewheel.cli import main
from tidewheel.cli_reference import cli_reference, examples_of
from tidewheel.commands import LEAVES
from tidewheel.demo.flow_stream import FlowStream, write_batch
from tidewheel.demo.places import Places
from tidewheel.mishaps import Unexpected
from tidewheel.output import INTERRUPTED, Output

ROOT = Path(__file__).parent.parent.parent
# `undo` takes back the expiry: after a forget or a migration it would be refused. A view over the log begins with the
# checkpoint that `vacuum` writes. The demonstration has its own test.
ORDER = (
    *("new", "init", "update", "backfill", "expire", "undo", "probe", "scan", "query schema"),
    *("query new", "query check", "query test", "refresh", "query list", "query show", "query explain", "plan", "ask"),
    *(
        "status",
        "metrics",
        "history",
        "changes",
        "quarantine",
        "audit",
        "advise",
        "forecast",
        "migrate",
        "forget",
        "vacuum",
        "sql",
        "completion",
        "isolation classify",
        "isolation compare",
        "derive plan",
        "derive trace",
    ),
)
LOOKING = (
    *("query check", "query test", "query list", "query show", "query explain", "plan", "ask"),
    *(
        "derive plan",
        "probe",
        "scan",
        "sql",
        "status",
        "history",
        "changes",
        "quarantine",
        "audit",
        "advise",
        "forecast",
    ),
)
BY_NAME = LEAVES
# What `tidewheel plan --what-if` is asked about.
_DRAFT = """
[query]
name = "bytes_by_plan"
of = "netflow"
select = "sum(bytes) as bytes"
group_by = ["plan"]
window = "1h"
slide = "5m"
"""
# The description that the help of `derive plan` shows.
_STREAMS = textwrap.dedent(
    (BY_NAME["derive plan"].help or "").partition("streams.toml, for example:\n")[2].partition("There are also")[0]
)
EXAMPLES = [example for name in ORDER for example in examples_of(BY_NAME[name])]


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line.removeprefix("tidewheel ")))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the archive file and a small stream; everything here runs in it."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "archives").mkdir()
    shutil.copy(ROOT / "archives" / "netflow.toml", folder / "archives")
    shutil.copytree(ROOT / "archives" / "queries", folder / "archives" / "queries")
    (folder / "drafts").mkdir()
    (folder / "streams.toml").write_text(_STREAMS, encoding="utf-8")
    (folder / "drafts" / "new.toml").write_text(_DRAFT, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    archive, places = open("netflow"), Places.of("netflow", Output())
    stream = FlowStream(archive.axis, rows_per_slot=120)
    for slot in archive.slots("2026-11-18T04:00Z", "2026-11-18T05:30Z"):
        write_batch(stream.batch(slot), places.slot_folder(slot))
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def answers(workshop: Path, spark: object) -> dict[str, Result]:
    """What each example said."""
    return {example: run(example) for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, answers: dict[str, Result]) -> None:
    answer = answers[example]
    assert answer.exit_code == 0, answer.output
    assert answer.output


@pytest.mark.parametrize("example", [e for name in LOOKING for e in examples_of(BY_NAME[name]) if "--format" not in e])
def test_json_is_one_document(example: str, answers: dict[str, Result]) -> None:
    answer = run(example if example.endswith("--json") else f"{example} --json")
    assert answer.exit_code == 0, answer.output
    assert isinstance(json.loads(answer.stdout), dict)


def test_updates_tell_what_they_did(answers: dict[str, Result]) -> None:
    assert "2026-11-18T04:00Z" in answers["tidewheel update netflow --slot 2026-11-18T04:00Z"].stdout
    assert "nothing was changed" in answers["tidewheel update netflow --slot 2026-11-18T04:30Z --dry-run"].stdout
    assert "nothing is missing" in answers["tidewheel backfill netflow --missing"].stdout


def test_a_forgotten_key_stays_away(answers: dict[str, Result]) -> None:
    assert json.loads(run("tidewheel probe netflow 10.0.0.7 --json").stdout)["rows"] == []


def test_a_file_of_rows_is_written_whole(answers: dict[str, Result], workshop: Path) -> None:
    from pyarrow import parquet

    assert set(parquet.read_table(workshop / "audit.parquet").column("plan").to_pylist()) == {"audit"}
    assert not list(workshop.glob(".*.part"))


def test_every_command_has_help_with_examples() -> None:
    for name, command in LEAVES.items():
        assert examples_of(command), name
        assert all(line.startswith(f"tidewheel {name} ") for line in examples_of(command))
        assert {"--json", "--debug"} <= {one for p in command.params for one in p.opts}
        assert all(p.help for p in command.params if isinstance(p, click.Option)), name
    assert {*ORDER, "demo"} == set(BY_NAME)


def test_the_reference_page_is_current() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == cli_reference(), "run: make docs"


def test_a_backfill_that_stops_says_how_to_go_on(answers: dict[str, Result], workshop: Path) -> None:
    answer = run("backfill netflow --from 2026-11-18T05:20Z --to 2026-11-18T05:40Z --each 2")
    assert answer.exit_code == 2
    assert "2 of 4 slots were brought in and stay" in answer.stderr
    assert "go on with --from 2026-11-18T05:30:00Z --to 2026-11-18T05:40:00Z" in answer.stderr


# What goes wrong.


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("update netflow --slot 2026-11-18T04:00", 2, ["no time zone", "2026-11-18T04:00Z"]),
        ("update netflow --slot yesterday", 2, ["not a moment"]),
        ("update netflow --slot 2026-11-18T04:01Z", 2, ["not a slot boundary", "04:05"]),
        ("update netflow", 2, ["needs a slot or a range", "the next one is"]),
        ("update netflow --from 2026-11-18", 2, ["needs a slot or a range"]),
        ("update netflo --slot 2026-11-18", 2, ["no archive netflo", "did you mean netflow"]),
        ("probe netflow", 2, ["a key or a range"]),
        ("probe netflow 10.0.0.9 --columns colour", 2, ["unknown column colour", "src_ip"]),
        ("probe netflow 10.0.0.9 --as-of 2020-01-01", 2, ["2020-01-01"]),
        ("sql netflow 'delete from live'", 2, ["SELECT"]),
        ("scan netflow --output x", 2, ["--format"]),
        ("forget netflow --key 10.0.0.9", 3, ["--yes"]),
        ("undo netflow", 3, ["--yes"]),
        ("expire netflow", 2, ["--through"]),
        ("advise", 2, ["--rows-per-interval"]),
        ("status /no/such/table", 2, ["no archive at"]),
        ("status no/such/file.toml", 2, ["no archive file"]),
        ("status ~nobody-knows", 2, ["no archive ~nobody-knows"]),
        ("status ~nobody-knows/table", 2, ["no archive at"]),
        ("frobnicate", 2, ["No such command"]),
    ],
)
def test_bad_input_says_what_to_do(line: str, code: int, words: list[str], answers: dict[str, Result]) -> None:
    before = run("history netflow --json").stdout
    answer = run(line)
    assert answer.exit_code == code, answer.output
    for word in words:
        assert word in answer.stderr
    assert not answer.stdout
    assert run("history netflow --json").stdout == before


def test_an_error_as_json(answers: dict[str, Result]) -> None:
    answer = run("forget netflow --key 10.0.0.9 --json")
    said = json.loads(answer.stderr)["error"]
    assert (said["kind"], answer.exit_code) == ("refused", 3)
    assert {"message", "remedy", "values"} <= said.keys()


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), INTERRUPTED, ["nothing was committed unless the history says so", "history netflow"]),
        (RuntimeError("boom\nand more"), Unexpected.exit_code, ["RuntimeError: boom", "--debug"]),
    ],
)
def test_the_unexpected_is_told(
    raised: BaseException, code: int, words: list[str], monkeypatch: pytest.MonkeyPatch, workshop: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(Archive, "update", fail)
    answer = run("update netflow --slot 2026-11-18T04:00Z")
    assert answer.exit_code == code
    for word in words:
        assert word in answer.stderr
    assert "Traceback" not in answer.stderr
    if code == Unexpected.exit_code:
        assert "Traceback" in run("update netflow --slot 2026-11-18T04:00Z --debug").stderr


# What only a process of its own shows.


def test_help_loads_nothing_heavy() -> None:
    heavy = "{'pyspark', 'duckdb', 'pyarrow', 'deltalake', 'rich'}"
    code = f"import sys, tidewheel.cli; sys.exit(len({heavy} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reading_needs_no_java(answers: dict[str, Result], workshop: Path) -> None:
    surroundings = {**os.environ, "PATH": "", "JAVA_HOME": "", "SPARK_HOME": "/nowhere"}
    for line in ("probe netflow 10.0.0.9", "status netflow", "history netflow", "forecast netflow"):
        done = _process(line, surroundings)
        assert done.returncode == 0, done.stderr
    done = _process("update netflow --slot 2026-11-18T05:25Z", surroundings)
    assert done.returncode == 7
    assert "apt-get install" in done.stderr


def test_spark_starts_without_a_word(workshop: Path) -> None:
    (workshop / "archives" / "other.toml").write_text(
        (ROOT / "archives" / "netflow.toml").read_text("utf-8").replace('"netflow"', '"other"').replace(
            "archives/netflow", "archives/other"
        )
    )  # fmt: skip
    done = _process("init other --slot 2026-11-18T04:00Z", dict(os.environ))
    assert (done.returncode, done.stderr) == (0, "")
    assert "5m" in done.stdout


def test_a_reader_that_leaves_is_no_error(answers: dict[str, Result], workshop: Path) -> None:
    command = f"{sys.executable} -m tidewheel.cli scan netflow --format csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "flow_start" in done.stdout
    assert done.stderr == ""


def _process(line: str, surroundings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "tidewheel.cli", *shlex.split(line)]
    return subprocess.run(words, capture_output=True, text=True, env=surroundings, check=False)
