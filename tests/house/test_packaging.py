"""What a stranger installs: a wheel that holds the rooms as tidewheel.<room> only, and a full lock."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tidewheel.indexing.errors import NotInstalled
from tidewheel.jobs.process.jars import jar_paths

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("indexing", "queries", "storage", "commits", "local", "jobs", "sql", "dags", "playground")
# Files that the rooms read at run time; planted, so that the test does not depend on today's files.
DATA = ("sql/planted.sql", "indexing/planted.toml", "jobs/planted.json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built by way of the source distribution, as publishing does."""
    place = tmp_path_factory.mktemp("packaging")
    tree = place / "tree"
    for folder in ("tidewheel", "archives", *ROOMS):
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True)
    for file in (ROOT / "pyproject.toml", ROOT / "LICENSE", *ROOT.glob("README*")):
        shutil.copy(file, tree)
    for name in DATA:
        (tree / name).touch()
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place / "dist"), str(tree)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((place / "dist").glob("*.whl"))


def test_the_wheel_holds_the_rooms_under_one_name(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert tops == {"tidewheel", next(top for top in tops if top.endswith(".dist-info"))}
    for room in ROOMS:
        assert f"tidewheel/{room}/__init__.py" in names
    assert {f"tidewheel/{file}" for file in DATA} <= names
    assert "tidewheel/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_core_imports_from_the_wheel_with_nothing_else_installed(wheel: Path, tmp_path: Path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "import importlib, pkgutil, tidewheel.indexing, tidewheel.queries;"
        "[importlib.import_module(found.name)"
        " for room in (tidewheel.indexing, tidewheel.queries)"
        " for found in pkgutil.walk_packages(room.__path__, f'{room.__name__}.')"
        " if '.kernels' not in found.name];"
        "import sql"
    )
    # -S: without site-packages; -I: without the working directory.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'sql'", done.stderr


def test_the_working_tree_is_installed_without_bare_rooms():
    program = "import tidewheel.indexing, sql"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'sql'", done.stderr


def _locked() -> dict[str, set[str]]:
    lock: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.M):
        lock.setdefault(name, set()).add(version)
    return lock


def test_the_lock_answers_every_requirement():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    locked = _locked()
    for text in [*project["dependencies"], *(text for extra in extras for text in extra)]:
        wanted = Requirement(text)
        if wanted.name == project["name"]:  # its other extras
            continue
        assert wanted.name in locked, f"{text}: run make lock"
        assert all(wanted.specifier.contains(version) for version in locked[wanted.name]), f"{text}: run make lock"


def test_the_lock_keeps_spark_whole():
    # pyspark-client overwrites files of pyspark, and the Spark provider brings it in.
    assert {"apache-airflow", "pyspark", "delta-spark", "pyarrow", "duckdb"} <= _locked().keys()
    assert not {"pyspark-client", "apache-airflow-providers-apache-spark"} & _locked().keys()


def test_the_lock_names_hashes_and_no_place():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    for entry in re.split(r"\n(?=\S)", text):
        assert entry.startswith("#") or "--hash=sha256:" in entry, entry


def test_missing_jars_name_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    with pytest.raises(NotInstalled, match="make setup"):
        jar_paths()
