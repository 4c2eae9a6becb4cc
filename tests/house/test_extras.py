"""Installed by choice: what reads needs no extra, and what is missing is named with the command that brings it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement

from tests.commands.test_light_commands import SLOTS, at, eight_slots_built
from tests.support.archives.local_archive import LocalArchive
from tests.support.services.lacking import environment_without, tidewheel_in
from tidewheel.indexing.extras import EXTRAS
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

__all__ = ["eight_slots_built"]

ROOT = Path(__file__).parent.parent.parent
OURS = ("bench", "dev", "docs")  # extras of those who work on the project
WITHOUT = (
    "pyspark",
    "py4j",
    "delta_spark",
    "airflow",
    "apache_airflow",
    "pandas",
    "polars",
    "_polars",
    "matplotlib",
    "datasketches",
    "highspy",
    "confluent_kafka",
    "openlineage",
)
PROBE = """
import sys, tidewheel
from tidewheel.indexing.errors import NotInstalled
archive = tidewheel.open(sys.argv[1])
print(len(archive.probe("k1").rows()), archive.audit().left_out != "")
try:
    archive.audit(deep=True)
except NotInstalled as missing:
    print(missing.remedy)
"""


@cache
def project() -> dict[str, list[str]]:
    """The requirements by extra; what everybody gets under no name."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": said["dependencies"], **said["optional-dependencies"]}


def names(extra: str) -> set[str]:
    return {Requirement(text).name for text in project()[extra]}


def test_each_extra_brings_what_its_message_says():
    assert set(project()) == {"", "all", *OURS, *EXTRAS}
    brought = packages_distributions()
    for extra, packages in EXTRAS.items():
        found = {name.replace("_", "-") for package in packages for name in brought[package]}
        assert names(extra) & found or extra == "airflow", extra
        # py4j comes with pyspark, and what Airflow is made of with it.
        assert {one for one in found if not one.startswith(("py4j", "apache-airflow"))} <= names(extra), extra
        assert not found & names(""), extra


def test_all_is_every_extra_of_a_user():
    (everything,) = map(Requirement, project()["all"])
    assert (everything.name, everything.extras) == ("tidewheel", set(EXTRAS))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of this environment but those of the extras."""
    folder = environment_without(tmp_path_factory.mktemp("bare") / "packages", *WITHOUT)
    (folder / "delta").unlink()
    return folder


def test_without_extras_an_archive_is_read_and_looked_at(eight_slots_built: LocalArchive, bare: Path, tmp_path: Path):
    shutil.copytree(eight_slots_built.folder / "table", tmp_path / "table")
    for command in ("status", "history --json", f"expire --through {at(SLOTS)} --allow-jump"):
        name, *words = command.split()
        done = tidewheel_in(bare, name, "table", *words, cwd=tmp_path)
        assert done.returncode == 0, command + done.stderr
    done = tidewheel_in(bare, "sql", "table", "select count(*) > 0 as some from live", "--format", "csv", cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ['"some"', "true"]), done.stderr


def test_without_spark_an_audit_goes_as_far_as_it_can(eight_slots_built: LocalArchive, bare: Path, tmp_path: Path):
    shutil.copytree(eight_slots_built.folder / "table", tmp_path / "table")
    done = tidewheel_in(bare, "audit", "table", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["clean"]
    assert re.search(r"no row's hash was computed again.*pip install 'tidewheel\[spark\]'", done.stderr, re.S)
    path = damaged(Location.of(tmp_path / "table"))
    done = tidewheel_in(bare, "audit", "table", cwd=tmp_path)
    assert (done.returncode, path.name in done.stdout) == (6, True), done.stdout + done.stderr


def damaged(location: Location) -> Path:
    """A bit of the people's own column, by which no cell is counted, is another; no checksum lies beside the file."""
    path = Path(location.child(open_snapshot(location).files[0].path))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(content)
    return path


def test_what_is_missing_is_named_with_its_command(eight_slots_built: LocalArchive, bare: Path, tmp_path: Path):
    table = str(eight_slots_built.folder / "table")
    for words in (["audit", table, "--deep"], ["forget", table, "--where", "k = 'k1'", "--yes"]):
        done = tidewheel_in(bare, *words, cwd=tmp_path)
        assert (done.returncode, "run: pip install 'tidewheel[spark]'" in done.stderr) == (7, True), done.stderr
        assert "Traceback" not in done.stderr
    done = in_python(bare, PROBE, table)
    assert done.stdout.splitlines()[1:] == ["run: pip install 'tidewheel[spark]'"], done.stderr
    assert done.stdout.splitlines()[0].endswith("True")


def test_the_demonstration_writes_nothing_without_spark(bare: Path, tmp_path: Path):
    done = tidewheel_in(bare, "demo", "--quick", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "")
    assert "pyspark is needed for the demonstration, and is not installed. Nothing was changed" in done.stderr
    assert "run: pip install 'tidewheel[spark]'" in done.stderr
    assert not list(tmp_path.iterdir())


def in_python(packages: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = f"import site; site.addsitedir({str(packages)!r})\n{program}"
    run = [sys.executable, "-I", "-S", "-c", program, *arguments]
    return subprocess.run(run, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(place), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    return next(place.glob("*.whl"))


@pytest.mark.nightly
@pytest.mark.parametrize("extra", ["", "spark", "airflow", "all"])
def test_the_wheel_in_a_fresh_environment(
    wheel: Path, eight_slots_built: LocalArchive, tmp_path: Path, extra: str
) -> None:
    """Installed at the locked versions; needs PyPI, or what uv keeps of it."""
    python = installed(wheel, extra, tmp_path)
    command, table = str(python.with_name("tidewheel")), str(eight_slots_built.folder / "table")
    for words in (["probe", table, "k1"], ["sql", table, "select count(*) from live"], ["audit", table, "--quick"]):
        subprocess.run([command, *words], check=True, cwd=tmp_path, capture_output=True)
    done = updated(command, tmp_path)
    if extra in ("spark", "all"):
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, "run: pip install 'tidewheel[spark]'" in done.stderr) == (7, True), done.stderr
    factory = subprocess.run([python, "-c", "import tidewheel.dags.build.factory"], capture_output=True, check=False)
    assert (factory.returncode == 0) == (extra in ("airflow", "all")), factory.stderr
    megabytes = size_mb(python.parent.parent)
    assert said_mb(extra) == pytest.approx(megabytes, rel=0.15), "docs/installing.md says the size"


def installed(wheel: Path, extra: str, folder: Path) -> Path:
    """The Python of a new environment with the wheel."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    locked = re.findall(r"^([\w.-]+==[^\\\n]+)", (ROOT / "requirements.lock").read_text(), re.M)
    (folder / "constraints.txt").write_text("\n".join(locked))
    subprocess.run([uv, "venv", "-q", folder / "fresh", "--python", sys.executable], check=True)
    python = folder / "fresh" / "bin" / "python"
    constraints = str(folder / "constraints.txt")
    what = f"tidewheel[{extra}] @ {wheel.as_uri()}" if extra else f"tidewheel @ {wheel.as_uri()}"
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), "-c", constraints, what], check=True)
    return python


def updated(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The README's archive made and fed, as far as it gets."""
    (folder / "archives").mkdir()
    (folder / "landing").mkdir()
    toml = re.search(r"<<'TOML'\n(.*?)TOML\n", (ROOT / "README.md").read_text(), re.S)
    assert toml is not None
    (folder / "archives" / "readings.toml").write_text(toml[1])
    reading = {"sensor": "s", "at": "2026-11-18T00:00:00Z", "value": 1.0, "keep_hours": 2}
    (folder / "landing" / "2026-11-18T00.jsonl").write_text(json.dumps(reading) + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "TIDEWHEEL_ARCHIVES"}
    update = ["init", "readings"], ["update", "readings", "--slot", "2026-11-18T00:00Z"]
    for words in update:
        done = subprocess.run(
            [command, *words], check=False, cwd=folder, capture_output=True, text=True, env=environment
        )
        if done.returncode:
            break
    return done


def size_mb(environment: Path) -> float:
    """Before Python compiles it."""
    files = [one for one in environment.rglob("*") if one.is_file() and not one.is_symlink()]
    return sum(one.stat().st_size for one in files if one.suffix != ".pyc") / 1e6


def said_mb(extra: str) -> float:
    name = f"tidewheel[{extra}]" if extra else "tidewheel"
    row = re.search(rf"^\| `pip install '?{re.escape(name)}'?` \|.*\| (\d+) MB \|$", page(), re.M)
    assert row is not None, name
    return float(row[1])


def page() -> str:
    return (ROOT / "docs" / "installing.md").read_text()
