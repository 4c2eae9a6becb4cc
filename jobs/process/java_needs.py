"""Java's needs of this machine, checked without starting it: Java itself, and a folder it may run libraries from.

Java brings Zstandard, Snappy and LZ4 as libraries of the system. It writes them into its temporary folder and maps them
as code. Containers and hardened machines mount /tmp without that right (`noexec`), and then not one file can be
written.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidewheel.indexing.errors import NotInstalled
from tidewheel.jobs.process.jars import cache_dir

_JAVA_OPTIONS = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
_GIVEN_FOLDER = re.compile(r"-Djava\.io\.tmpdir=(\"[^\"]+\"|\S+)")
# Java's own choice on Linux, whatever TMPDIR says.
_DEFAULT_FOLDER = "/tmp"


def require_java() -> None:
    """Name what is missing before Spark fails with a gateway error."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (home and Path(home, "bin", "java").exists()):
        return
    raise NotInstalled(
        "Spark needs Java 17 or newer, and there is no `java` on the PATH nor in JAVA_HOME",
        "Debian, Ubuntu: apt-get install openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; "
        "macOS: brew install openjdk@17",
    )


def options_given(environment: Mapping[str, str]) -> str:
    """Return all options that users give Java by other ways than ours."""
    given = [environment.get(name, "") for name in _JAVA_OPTIONS]
    if "SPARK_CONF_DIR" in environment:
        defaults = Path(environment["SPARK_CONF_DIR"], "spark-defaults.conf")
        given += [defaults.read_text(encoding="utf-8")] if defaults.is_file() else []
    return "\n".join(given)


def library_folder(environment: Mapping[str, str], *, is_driver: bool = True) -> Path:
    """Return the folder for Java's libraries: the user's, else the first one that lets a driver run them.

    We start drivers only: other processes keep the folder they are told, or Java's own choice.
    """
    if said := _GIVEN_FOLDER.findall(options_given(environment)):
        candidates = [Path(said[-1].strip('"'))]
    elif is_driver:
        candidates = list(dict.fromkeys(_candidates(environment)))
    else:
        candidates = [Path(_DEFAULT_FOLDER)]
    for folder in candidates:
        if may_execute(folder):
            return folder
    raise NotInstalled(
        f"Java can run the libraries that it brings from none of {', '.join(map(str, candidates))}: the folder is not "
        "there, cannot be written or is mounted with noexec",
        "name a folder where it may: SPARK_LOCAL_DIRS=/folder, on the workers of a cluster "
        "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/folder",
    )


def library_options(environment: Mapping[str, str]) -> list[str]:
    """Return the option that leads Java there, if its own choice does not serve."""
    folder = library_folder(environment)
    settled = str(folder) == _DEFAULT_FOLDER or _GIVEN_FOLDER.search(options_given(environment))
    return [] if settled else [f'-Djava.io.tmpdir="{folder}"']


def may_execute(folder: Path) -> bool:
    """Tell whether a file of this folder can be mapped as code: tried, for a mount's options do not tell all."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
            file.flush()
            mmap.mmap(file.fileno(), 1, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    except OSError:
        return False
    return True


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield Java's own choice first, then Spark's shuffle folders, then the folder of the jars."""
    yield Path(_DEFAULT_FOLDER)
    yield from (Path(one) for one in environment.get("SPARK_LOCAL_DIRS", "").split(",") if one)
    yield Path(tempfile.gettempdir())
    yield cache_dir()
