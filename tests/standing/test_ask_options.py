"""`ask` gives the reports of a time, and writes them as other rows are written."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import tidewheel
from tests.support.archives.asked_archive import asked_archive, copied_archive, told
from tidewheel.cli import main


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    asked_archive(folder)
    tidewheel.open(folder / "archives" / "m.toml").queries.refresh()
    return folder


@pytest.fixture(autouse=True)
def place(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copied_archive(built, tmp_path, monkeypatch)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["ask", "m", "total", *words], env={"COLUMNS": "300"})


def ends(*words: str) -> list[str]:
    return [row["window_end"][14:16] for row in told("ask", "m", "total", *words)["answers"]]


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ((), ["06"]),
        (("--from", "1970-01-01T00:04Z"), ["04", "05", "06"]),
        (("--to", "1970-01-01T00:03Z"), ["01", "02"]),
        (("--from", "1970-01-01T00:02Z", "--to", "1970-01-01T00:04Z"), ["02", "03"]),
        (("--from", "1970-01-01", "--to", "2030-01-01"), ["01", "02", "03", "04", "05", "06"]),
    ],
)
def test_reports_of_a_time(words: tuple[str, ...], minutes: list[str]) -> None:
    assert ends(*words) == minutes


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--from", "2030-01-01"), "those that are kept are of 1970-01-01T00:01:00Z to 1970-01-01T00:06:00Z"),
        (("--to", "1960-01-01"), "has no answer of that time"),
        (("--at", "2030-01-01"), "has no answer at 2030-01-01T00:00:00Z yet"),
        (("--from", "1970-01-01", "--last", "2"), "two ways to choose reports"),
        (("--output", "x.csv"), "a file needs a format"),
        (("--json", "--format", "csv"), "two ways to write the rows"),
        (("--plot", "--format", "csv", "--last", "2"), "two ways to write the answers"),
    ],
)
def test_what_cannot_be_told_is_refused(words: tuple[str, ...], wrong: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert wrong in " ".join(done.output.split())


def test_answers_are_written_as_rows_are(place: Path) -> None:
    lines = run("--format", "csv", "--last", "2").output.splitlines()
    assert lines[0].startswith('"window_start","window_end","total","n"')
    assert len(lines) == 3
    done = run("--format", "parquet", "--output", str(place / "answers.parquet"), "--last", "9")
    assert "6 rows in" in done.output
    assert pq.read_table(place / "answers.parquet").column("n").to_pylist() == [2, 4, 6, 6, 6, 6]


def test_python_takes_the_same() -> None:
    queries = tidewheel.open("m").queries
    assert queries.ask("total", start="1970-01-01T00:04Z").num_rows == 3
    assert queries.ask("total", start="1970-01-01T00:04Z", end="1970-01-01T00:05Z").num_rows == 1
