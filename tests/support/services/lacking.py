"""A Python without some of the packages that are installed here: the others as links in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

_RUN = "import site; site.addsitedir({folder!r}); from tidewheel.cli import main; main()"


def environment_without(folder: Path, *packages: str) -> Path:
    """A folder of packages that lacks those whose names begin so."""
    folder.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not path.name.lstrip("_").startswith(packages):
            (folder / path.name).symlink_to(path)
    return folder


def tidewheel_in(environment: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command, by a Python that sees these packages and no others."""
    run = [sys.executable, "-I", "-S", "-c", _RUN.format(folder=str(environment)), *arguments]
    return subprocess.run(run, check=False, cwd=cwd, capture_output=True, text=True, timeout=120)
