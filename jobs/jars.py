"""The two Delta jars that Spark needs: where they lie, and how they get there once, at set-up.

Resolving packages at every session start costs seconds and a network; so Spark's own resolver runs once, here, and
sessions take the files by path. Of the thirty-odd jars it brings, tables addressed by path need only these two.

A mirror of Maven Central is named as for Spark itself: the environment variable DEFAULT_ARTIFACT_REPOSITORY.
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
# File name -> SHA-256 of what Maven Central serves: a mirror or a broken download does not get past it.
_JARS = {
    f"delta-spark_4.2_2.13-{DELTA_VERSION}.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    f"delta-storage-{DELTA_VERSION}.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
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
            "the Delta jars for Spark are not on this machine", _REMEDY, missing=missing, directory=str(cache_dir())
        )
    return paths


def fetch_jars() -> tuple[Path, ...]:
    """Bring the jars into the cache, unless they are there; a killed fetch leaves nothing that looks complete."""
    target = cache_dir()
    if all(_is_intact(target / name) for name in _JARS):
        return jar_paths()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix="fetch-") as staging:
        log = _resolve(Path(staging))
        for name in _JARS:
            found = next(Path(staging, "ivy", "jars").glob(f"*_{name}"), None)
            if found is None or not _is_intact(found):
                raise NotInstalled(
                    f"Spark's resolver did not bring an intact {name}",
                    f"check the way to Maven Central, then: {_REMEDY}",
                    resolver_said=log[-2000:],
                )
            found.replace(target / name)
    return jar_paths()


def _is_intact(jar: Path) -> bool:
    name = next((name for name in _JARS if jar.name.endswith(name)), "")
    return jar.is_file() and hashlib.sha256(jar.read_bytes()).hexdigest() == _JARS[name]


def _resolve(staging: Path) -> str:
    """Run spark-submit on an empty program: it resolves the packages, starts no session, and ends. Gives its output."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise NotInstalled("Spark needs Java 17 or newer, and there is no java here", "scripts/ensure-java")
    import pyspark

    program = staging / "empty.py"
    program.touch()
    # An own user.home, because a partial copy in ~/.m2 makes the resolver fail instead of looking further.
    options = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Duser.home={staging}".strip()
    spark_home = Path(pyspark.__file__).parent
    done = subprocess.run(
        [
            str(spark_home / "bin" / "spark-submit"),
            *("--master", "local[1]", "--packages", ",".join(_COORDINATES)),
            *("--conf", f"spark.jars.ivy={staging / 'ivy'}", str(program)),
        ],
        env={**os.environ, "SPARK_HOME": str(spark_home), "SPARK_SUBMIT_OPTS": options, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def main() -> None:
    """`python -m tidewheel.jobs.jars`, also installed as `tidewheel-setup`."""
    for path in fetch_jars():
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
