"""The image's class archive, without Docker: the step of the build is where it must be, and its command does it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tidewheel.jobs.process.jars import cache_dir

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STAGE = DOCKERFILE.split(" AS tidewheel\n")[1].split("\nFROM ")[0]


def step() -> str:
    """What the build runs, but for the folder that it empties."""
    (command,) = re.findall(r"^RUN (if \[ \"\$CLASS_ARCHIVE\".*)$", STAGE, re.M)
    return str(command).replace("rm -rf /tmp/*", "true")


def built(folder: Path, class_archive: str) -> list[Path]:
    """The class archives after the step, in a folder of the jars that an image has."""
    for jar in cache_dir().glob("*.jar"):
        (folder / jar.name).symlink_to(jar)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {"PATH": path, "TIDEWHEEL_JARS": str(folder), "CLASS_ARCHIVE": class_archive}
    subprocess.run(["sh", "-c", step()], check=True, cwd=folder, env={**os.environ, **given}, capture_output=True)
    return list(folder.glob("classes-*.jsa"))


def test_the_class_archive_is_made_by_default_of_what_the_image_has() -> None:
    """Behind the packages and jars of which it is, in their places; before the user who may not write there."""
    assert "\nARG CLASS_ARCHIVE=yes\n" in STAGE
    order = (
        "COPY --from=build /opt/venv /opt/venv",
        "COPY --from=build /opt/jars /opt/jars",
        "TIDEWHEEL_JARS=/opt/jars",
        "ARG CLASS_ARCHIVE",
        "tidewheel-setup classes",
        "USER 10001",
    )
    places = [STAGE.index(one) for one in order]
    assert places == sorted(places)


def test_it_can_be_left_out(tmp_path: Path) -> None:
    assert built(tmp_path, "no") == []


@pytest.mark.nightly
def test_the_step_makes_one_that_everybody_may_read(tmp_path: Path) -> None:
    (archive,) = built(tmp_path, "yes")
    assert archive.stat().st_size > 100_000_000
    assert archive.stat().st_mode & stat.S_IROTH
