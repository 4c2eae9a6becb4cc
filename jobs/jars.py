"""The two Delta jars that Spark needs: where they lie, and how they get there once, at set-up.

Resolving packages at every session start costs seconds and a network; so Spark's own resolver runs once,
here, and sessions take the files by path. Delta names some thirty jars; tables addressed by path need two.

A mirror of Maven Central is named as for Spark itself, in the variable DEFAULT_ARTIFACT_REPOSITORY.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tidewheel.indexing.errors import NotInstalled

DELTA_VERSION = "4.4.0"
_COORDINATES = (f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}", f"io.delta:delta-storage:{DELTA_VERSION}")
# What else Delta names, path tables do not need or Spark has already: 4 seconds without it, 20 with it.
_UNWANTED = ("org.*:*", "com.*:*", "io.unitycatalog:*")
# File name -> SHA-256 of what Maven Central serves: neither a broken download nor a strange one gets past it.
_JARS = {
    "delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
_REMEDY = "make setup, or python -m tidewheel.jobs.jars"


def cache_dir() -> Path:
    """The directory the jars lie in: $TIDEWHEEL_JARS, or one under the user's cache."""
    if named := os.environ.get("TIDEWHEEL_JARS"):
        return Path(named).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "tidewheel" / "jars" / DELTA_VERSION


def jar_paths() -> tuple[Path, ...]:
    """The jars, for `spark.jars`; NotInstalled if set-up has not fetched them. Never touches the network."""
    paths = tuple(cache_dir() / name for name in _JARS)
    if missing := [path.name for path in paths if not path.is_file()]:
        raise NotInstalled(
            f"the Delta jars for Spark are not on this machine: {cache_dir()} lacks {', '.join(missing)}",
            _REMEDY,
            missing=missing,
        )
    return paths


def fetch_jars() -> tuple[Path, ...]:
    """Bring the jars into the cache, unless they are there; a jar appears in it whole or not at all."""
    target = cache_dir()
    if all(_is_intact(target / name, digest) for name, digest in _JARS.items()):
        return jar_paths()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix="fetch-") as staging:
        log = _resolve(Path(staging))
        for name, digest in _JARS.items():
            found = Path(staging, "ivy", "jars", f"io.delta_{name}")
            if not _is_intact(found, digest):
                raise NotInstalled(
                    f"Spark's resolver did not bring an intact {name}; it said:\n{_gist(log)}",
                    f"see that Maven Central can be reached, then {_REMEDY}",
                    jar=name,
                )
            found.replace(target / name)
    return jar_paths()


def _is_intact(jar: Path, digest: str) -> bool:
    return jar.is_file() and hashlib.sha256(jar.read_bytes()).hexdigest() == digest


def _resolve(staging: Path) -> str:
    """Let Spark resolve the packages into `staging`/ivy; gives what it printed.

    spark-submit on an empty program does that and ends, without starting a session.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise NotInstalled("Spark needs Java 17 or newer, and there is no java here", "scripts/ensure-java")
    # Imported here: who only asks for the paths need not pay for it.
    import pyspark

    spark_home = Path(pyspark.__file__).parent
    program = staging / "empty.py"
    program.touch()
    # A user.home of its own: a partial copy in ~/.m2 makes the resolver fail instead of looking further.
    java_options = f'{os.environ.get("SPARK_SUBMIT_OPTS", "")} -Duser.home="{staging}"'
    command = [
        str(spark_home / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *("--packages", ",".join(_COORDINATES)),
        *("--exclude-packages", ",".join(_UNWANTED)),
        *("--conf", f"spark.jars.ivy={staging / 'ivy'}"),
        str(program),
    ]
    surroundings = {
        "SPARK_HOME": str(spark_home),
        "SPARK_SUBMIT_OPTS": java_options.strip(),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        command,
        env=os.environ | surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _gist(log: str) -> str:
    """The end of the resolver's talk, without Java's stack."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("\tat ")]
    return "\n".join(lines[-12:])


def main() -> None:
    """`python -m tidewheel.jobs.jars`, also installed as `tidewheel-setup`."""
    try:
        paths = fetch_jars()
    except NotInstalled as missing:
        sys.stderr.write(f"{missing}\n")
        sys.exit(missing.exit_code)
    for path in paths:
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
