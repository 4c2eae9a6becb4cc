"""An archive file from a sample, a shell that completes, the program as a module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from tests.support.archives.asked_archive import asked_archive
from tidewheel.cli import COMPLETE_VARIABLE, main
from tidewheel.commands.beginning import SHELLS
from tidewheel.indexing.durations import parse_duration
from tidewheel.resolve import read_archive_file

FLOWS = """
SELECT i AS flow_id, '10.0.0.' || (i % 200) AS src_ip, TIMESTAMP '2026-11-18 04:00:00' + to_seconds(i % 300) AS started,
  started + to_minutes(10 + i % 170) AS valid_until, i * 1.5 AS bytes
FROM range(5000) t(i)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, query: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    return path


def new(name: str, sample: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["new", name, "--from", str(sample), "--no-trial", *more])


def test_a_sample_becomes_an_archive_file(folder: Path) -> None:
    written(folder / "in/2026-11-18T0400/part.parquet", FLOWS)
    said = new("flows", folder / "in/2026-11-18T0400", "--json")
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert document["key_candidates"] == ["src_ip", "flow_id"]
    file = read_archive_file(folder / "archives/flows.toml")
    assert file.source.path == str(folder / "in/{start:%Y-%m-%dT%H%M}")
    assert file.key == ("src_ip",)
    assert file.inserted_at == "started"
    # The archive has a column valid_until itself.
    assert file.expires_at == "given_valid_until"
    assert file.axis.interval_us == parse_duration("5m")
    assert file.max_lifetime_us == parse_duration("6h")
    # 5,000 records in five minutes that live for 94.5 minutes on average.
    assert 90_000 < document["live_rows"] < 99_000


def test_the_archive_of_such_a_file_takes_its_sample(folder: Path, spark: object) -> None:
    sample = written(folder / "in/2026-11-18T0400.csv", FLOWS)
    assert new("flows", sample).exit_code == 0
    assert CliRunner().invoke(main, ["init", "flows"]).exit_code == 0
    done = CliRunner().invoke(main, ["update", "flows", "--slot", "2026-11-18T04:00Z", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(
        CliRunner().invoke(main, ["probe", "flows", "10.0.0.7", "--as-of", "2026-11-18T04:05Z", "--json"]).stdout
    )
    assert len(rows["rows"]) == 25


HOUR = ("2026-11-18T04:00:00Z", "2026-11-18T05:00:00Z")
NESTED = {"user": {"id": 7, "first name": "z"}, "src ip": "i", "at": HOUR[0], "until": HOUR[1]}
AWKWARD = {
    "semicolons.csv": "".join(";".join(row) + "\n" for row in (("id", "at", "until"), ("x", *HOUR), ("y", *HOUR))),
    "tabs.tsv": "".join("\t".join(row) + "\n" for row in (("id", "at", "until"), ("x", *HOUR), ("y", *HOUR))),
    "headless.csv": "".join(",".join(row) + "\n" for row in (("x", *HOUR), ("y", *HOUR))),
    "nested.json": "".join(json.dumps({"id": key, **NESTED}) + "\n" for key in "xy"),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_sample_is_taken_whole(folder: Path, spark: object, name: str) -> None:
    """Another delimiter, no header, names with spaces, values of several parts."""
    sample = folder / "in" / f"2026-11-18T0400.{name.split('.')[1]}"
    sample.parent.mkdir()
    sample.write_text(AWKWARD[name])
    assert new("awkward", sample).exit_code == 0
    text = (folder / "archives/awkward.toml").read_text()
    assert "CHECK: the schema" not in text
    assert CliRunner().invoke(main, ["init", "awkward"]).exit_code == 0
    done = CliRunner().invoke(main, ["update", "awkward", "--slot", "2026-11-18T04:00Z", "--json"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["scan", "awkward", "--as-of", "2026-11-18T04:30Z", "--json"])
    rows = json.loads(done.stdout)["rows"]
    assert sorted(row.get("id", row.get("column0")) for row in rows) == ["x", "y"]
    if name == "nested.json":
        assert all((row["user"], row["src_ip"]) == ({"id": 7, "first name": "z"}, "i") for row in rows)


def test_a_column_that_no_schema_can_name_is_told(folder: Path) -> None:
    sample = folder / "in.json"
    sample.write_text("".join(json.dumps({"id": key, "gap": "10:00:00"}) + "\n" for key in "xy"))
    assert new("lacking", sample).exit_code == 0
    assert "CHECK: the schema has no type for gap" in (folder / "archives/lacking.toml").read_text()


def on_a_full_disk(*words: str) -> subprocess.CompletedProcess[str]:
    """A command that can write ten bytes into a file, and no more."""
    limit = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); "
    program = [sys.executable, "-c", f"{limit}runpy.run_module('tidewheel', run_name='__main__')", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_a_draft_is_written_whole_or_not_at_all(folder: Path) -> None:
    done = on_a_full_disk("new", "flows", "--no-trial", "--from", str(written(folder / "in/flows.parquet", FLOWS)))
    assert done.returncode == 2, done.stderr
    assert "flows.toml cannot be written" in done.stderr
    assert not list((folder / "archives").iterdir())


def test_a_query_file_is_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(folder / "archives"))
    asked_archive(folder)
    before = {path: path.read_text() for path in (folder / "archives/queries").iterdir()}
    assert on_a_full_disk("query", "new", "m", "count").returncode != 0
    assert on_a_full_disk("query", "new", "m", "m", "--yes").returncode != 0
    assert {path: path.read_text() for path in (folder / "archives/queries").iterdir()} == before


def test_nothing_is_written_over(folder: Path) -> None:
    sample = written(folder / "in/flows.parquet", FLOWS)
    assert new("flows", sample).exit_code == 0
    before = (folder / "archives/flows.toml").read_text()
    again = new("flows", sample)
    assert again.exit_code == 2
    assert "choose another name" in again.output
    assert (folder / "archives/flows.toml").read_text() == before
    # The sample's name does not say its slot: that is for people to decide.
    assert "CHECK: the path of each slot's batch" in before


def test_a_stream_without_ends_gets_a_fixed_life(folder: Path) -> None:
    sample = written(
        folder / "in/2026-11-18.parquet",
        "SELECT 'a' || i AS device, TIMESTAMP '2026-11-18 05:00' AS at FROM range(9) t(i)",
    )
    assert new("things", sample).exit_code == 0
    file = read_archive_file(folder / "archives/things.toml")
    assert file.expires_at == "at + INTERVAL '30' DAY"
    assert file.source.path.endswith("in/{start:%Y-%m-%d}.parquet")
    assert file.axis.interval_us == parse_duration("1d")


def test_moments_of_nanoseconds_are_moments(folder: Path) -> None:
    """As pandas writes them."""
    ends = [1_795_003_200_000_000_000 + hour * 3_600_000_000_000 for hour in (1, 2)]
    begins = [1_795_003_200_000_000_000] * 2
    kind = pa.timestamp("ns", "UTC")
    rows = pa.table({"id": ["a", "b"], "at": pa.array(begins, kind), "until": pa.array(ends, kind)})
    pq.write_table(rows, folder / "flows.parquet")
    assert new("flows", folder / "flows.parquet").exit_code == 0
    file = read_archive_file(folder / "archives/flows.toml")
    assert (file.inserted_at, file.expires_at, file.max_lifetime_us) == ("at", "until", parse_duration("2h"))


def test_a_draft_names_the_command_that_creates_its_archive(folder: Path, spark: object) -> None:
    """Columns that the file does not name are those of a slot."""
    written(folder / "in/2026-11-18T0400/part.parquet", FLOWS)
    assert new("flows", folder / "in/2026-11-18T0400").exit_code == 0
    command = (folder / "archives/flows.toml").read_text().partition("then: tidewheel ")[2].partition(",")[0]
    assert CliRunner().invoke(main, command.replace("START", "2026-11-18T04:00Z").split()).exit_code == 0


def test_a_number_that_says_how_long_a_record_is_kept(folder: Path) -> None:
    query = "SELECT 's' || i AS sensor, TIMESTAMP '2026-11-18 05:00' AS at, 2 + i % 4 AS keep_hours FROM range(9) t(i)"
    assert new("readings", written(folder / "in/2026-11-18T05.json", query)).exit_code == 0
    file = read_archive_file(folder / "archives/readings.toml")
    assert file.expires_at == "at + make_interval(0, 0, 0, 0, keep_hours)"
    assert file.max_lifetime_us == parse_duration("6h")
    assert file.source.path.endswith("in/{start:%Y-%m-%dT%H}.json")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.parquet", None, "there is no file"),
        ("text.txt", "hello", "does not say what it is"),
        ("broken.parquet", "PAR1", "cannot be read"),
        ("empty.csv", "a,b\n", "holds no records"),
        ("numbers.csv", "a,b\n1.5,2.5\n", "could be a key"),
    ],
)
def test_a_sample_that_is_none(folder: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (folder / name).write_text(content)
    done = new("flows", folder / name)
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not (folder / "archives").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_is_given_calls_us(shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell]).stdout
    assert f"{COMPLETE_VARIABLE}={shell}_complete" in script


def test_bash_completes_commands_options_and_archives(folder: Path) -> None:
    (folder / "archives").mkdir()
    (folder / "archives/netflow.toml").touch()
    program = Path(sys.executable).parent
    asked = """
source <(tidewheel completion bash)
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _tidewheel_completion tidewheel
  echo "${COMPREPLY[*]}"
}
try tidewheel vac; try tidewheel status ne; try tidewheel probe netflow --as
"""
    environment = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["vacuum", "netflow", "--as-of"]


def test_the_package_is_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "tidewheel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tidewheel ")
