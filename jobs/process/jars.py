"""The jars that Spark needs beside its own: their place, and the one download at set-up.

Resolving packages at every session start costs seconds and a network; so Spark's own resolver runs once,
here, and sessions take the files by path. `jars.toml` lists them in sets. The set for Delta is always needed; the
others are fetched by name (`tidewheel-setup s3 postgresql`), and sessions use those that are there.

A mirror of Maven Central is named as for Spark itself, in the variable DEFAULT_ARTIFACT_REPOSITORY.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tidewheel.indexing.errors import InvalidInput, NotInstalled, TidewheelError
from tidewheel.indexing.extras import needed

DELTA_VERSION = "4.4.0"
ALWAYS = "delta"
# What `tidewheel-setup` is told to make beside: the class archive of `quick_start.py`.
CLASSES = "classes"


@dataclass(frozen=True)
class JarSet:
    """Jars that come together. `sha256` goes by the name the resolver gives a jar: group_name."""

    name: str
    purpose: str
    packages: tuple[str, ...]
    without: tuple[str, ...]
    sha256: Mapping[str, str]
    needs: tuple[str, ...] = ()  # sets that go with this one
    given_folder: Path | None = None  # of a set that is not Spark's

    @property
    def folder(self) -> Path:
        return self.given_folder or cache_dir()

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.folder / _file_name(resolved) for resolved in self.sha256)

    @property
    def missing(self) -> list[str]:
        return [path.name for path in self.paths if not path.is_file()]

    @property
    def remedy(self) -> str:
        command = "tidewheel-setup"
        return f"make setup, or {command}" if self.name == ALWAYS else f"{command} {self.name}"


@cache
def jar_sets() -> Mapping[str, JarSet]:
    """Return the sets by name."""
    text = Path(__file__).with_name("jars.toml").read_text(encoding="utf-8")
    return {
        name: JarSet(
            name, one["purpose"], tuple(one["packages"]), tuple(one["without"]), one["sha256"], (*one.get("needs", ()),)
        )
        for name, one in tomllib.loads(text).items()
    }


def cache_dir() -> Path:
    """Return the directory of the jars: $TIDEWHEEL_JARS, or one under the user's cache."""
    if named := os.environ.get("TIDEWHEEL_JARS"):
        return Path(os.path.expanduser(named)).resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(cache)) / "tidewheel" / "jars" / DELTA_VERSION


def jar_paths() -> tuple[Path, ...]:
    """Return the jars, for `spark.jars`; NotInstalled if set-up has not fetched Delta's. Never touches the network."""
    require(ALWAYS)
    return tuple(path for one in jar_sets().values() if not one.missing for path in one.paths)


def require(name: str) -> None:
    """Raise NotInstalled, with the command that fetches it, unless a set is there whole."""
    wanted = jar_sets()[name]
    if missing := [jar for one in (name, *wanted.needs) for jar in jar_sets()[one].missing]:
        raise NotInstalled(
            f"the jars for {wanted.purpose} are not on this machine: {cache_dir()} lacks {', '.join(missing)}",
            wanted.remedy,
            missing=missing,
        )


def fetch_jars(names: Iterable[str] = ()) -> tuple[Path, ...]:
    """Fetch Delta's jars and the named sets into the cache, unless there; a jar appears in it whole or not at all."""
    wanted = {ALWAYS, *names}
    if unknown := wanted - jar_sets().keys():
        raise InvalidInput(f"there are no jars called {', '.join(unknown)}", f"known are {', '.join(jar_sets())}")
    for name in sorted(wanted.union(*(jar_sets()[name].needs for name in wanted))):
        fetch_set(jar_sets()[name])
    return jar_paths()


def fetch_set(wanted: JarSet) -> None:
    """Fetch one set into its folder, unless it is there."""
    target = wanted.folder
    if all(_is_intact(target / _file_name(resolved), digest) for resolved, digest in wanted.sha256.items()):
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix="fetch-") as staging:
        log = _resolve(wanted, Path(staging))
        for resolved, digest in wanted.sha256.items():
            found = Path(staging, "ivy", "jars", resolved)
            if not _is_intact(found, digest):
                raise NotInstalled(
                    f"Spark's resolver did not bring an intact {resolved}; it said:\n{_gist(log)}",
                    f"see that Maven Central can be reached, then {wanted.remedy}",
                    jar=resolved,
                )
            found.replace(target / _file_name(resolved))


def _file_name(resolved: str) -> str:
    """Return a jar's name without its group, as it lies in the cache."""
    return resolved.partition("_")[2]


def _is_intact(jar: Path, digest: str) -> bool:
    return jar.is_file() and hashlib.sha256(jar.read_bytes()).hexdigest() == digest


def _resolve(wanted: JarSet, staging: Path) -> str:
    """Let Spark resolve the packages into `staging`/ivy; return what it printed.

    spark-submit on an empty program does that and ends, without starting a session.
    """
    # Imported here: who only asks for the paths need not pay for it.
    with needed("to fetch jars with Spark's resolver"):
        import pyspark

    from tidewheel.jobs.process.java_needs import require_java

    require_java()

    spark_home = Path(pyspark.__file__).parent
    program = staging / "empty.py"
    program.touch()
    # A user.home of its own: a partial copy in ~/.m2 makes the resolver fail instead of looking further.
    java_options = f'{os.environ.get("SPARK_SUBMIT_OPTS", "")} -Duser.home="{staging}"'
    command = [
        str(spark_home / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *("--packages", ",".join(wanted.packages)),
        *("--exclude-packages", ",".join(wanted.without)),
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
    """Return the end of the resolver's output, without Java's stack."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("\tat ")]
    return "\n".join(f"  {line}" for line in lines[-12:])


def main() -> None:
    """Run `python -m tidewheel.jobs.process.jars [set...] [classes]`, also installed as `tidewheel-setup`."""
    given = _command_line().parse_args().sets
    names = [name for name in given if name != CLASSES]
    try:
        paths = fetch_jars(names)
        if CLASSES in given:
            _require_class_archive()
    except TidewheelError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    sys.stdout.write(f"{len(paths)} jars for Spark in {cache_dir()}\n")
    if CLASSES in given:
        # A program of its own: it carries out updates, which this room knows nothing of.
        sys.exit(subprocess.call([sys.executable, "-m", "tidewheel.playground.class_archive"]))
    sys.stdout.write(_way_to_classes())


def _command_line() -> argparse.ArgumentParser:
    purposes = {name: f"for {one.purpose}" for name, one in jar_sets().items()}
    purposes[ALWAYS] += "; always fetched"
    purposes[CLASSES] = "not jars: what makes each start of Spark twice as fast; a minute, and 180 MB"
    parser = argparse.ArgumentParser(
        prog="tidewheel-setup",
        description=f"Fetch the jars that Spark needs, once, each checked by its hash, into {cache_dir()}.",
        epilog="\n".join(["sets:", *(f"  {name:13} {purpose}" for name, purpose in purposes.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help="what to fetch beside the jars for Delta tables")
    return parser


def _require_class_archive() -> None:
    """Refuse a class archive of another Java."""
    from tidewheel.jobs.process.java_needs import require_java
    from tidewheel.jobs.process.quick_start import class_archive

    with needed("to make a class archive"):
        import pyspark  # noqa: F401
    require_java()
    if class_archive() is None:
        raise NotInstalled("JAVA_HOME leads to no Java", "set it to the folder of Java 17 or newer, or leave it out")


def _way_to_classes() -> str:
    """Tell users without a class archive how to make one: it costs two updates, and helps only those who update."""
    from tidewheel.jobs.process.quick_start import class_archive

    archive = class_archive()
    if archive is None or archive.exists():
        return ""
    return f"`tidewheel-setup {CLASSES}` makes each start of Spark twice as fast from then on: a minute, and 180 MB\n"


if __name__ == "__main__":
    main()
