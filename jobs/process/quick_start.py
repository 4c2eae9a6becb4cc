"""Spark that starts in a third of the time: a small update from a cold start mostly waits for Java.

A small update on Java 17 takes 27 processor seconds from a cold start. Of these, 19 go into loading classes and into
compiling code that runs once. Two options of the JVM save them, and neither changes what Spark does:

    class archive    the classes of an update, loaded once and kept as a file that later starts map into memory;
                     made by `tidewheel-setup classes`, used when it is there
    quick compiler   for small batches only: its code is half as fast, which pays once a run has a million rows

Measured by `python -m benchmarks.process.scheduled` and `python -m benchmarks cold`; see docs/airflow.md.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tidewheel.jobs.process.jars import cache_dir

# "off" leaves Java as it is.
VARIABLE = "TIDEWHEEL_QUICK_START"
OPTIONS_VARIABLE = "SPARK_SUBMIT_OPTS"
LAUNCHER_VARIABLE = "SPARK_LAUNCHER_OPTS"
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
QUICK_COMPILER_ROWS_MAX = 1_000_000


def use_class_archive(environment: MutableMapping[str, str]) -> None:
    """Let the next Java map the classes of an update instead of loading them, if they are on file."""
    archive = class_archive()
    if archive is not None and archive.exists():
        # What was made by another Java is passed over; without a word, since nothing is wrong.
        _add(environment, f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
    # The small Java that puts the command line together, before the real one starts.
    if environment.get(VARIABLE) != "off":
        environment.setdefault(LAUNCHER_VARIABLE, f"{QUICK_COMPILER} -XX:+UseSerialGC")


def use_quick_compiler(environment: MutableMapping[str, str], rows: int) -> None:
    """Let the next Java compile quickly rather than well, if it has only so many rows to read."""
    if rows <= QUICK_COMPILER_ROWS_MAX:
        _add(environment, QUICK_COMPILER)


@contextmanager
def kept(environment: MutableMapping[str, str]) -> Iterator[None]:
    """Restore the two variables of the environment afterwards."""
    before = {name: environment.get(name) for name in (OPTIONS_VARIABLE, LAUNCHER_VARIABLE)}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value


def _add(environment: MutableMapping[str, str], *options: str) -> None:
    if environment.get(VARIABLE) == "off":
        return
    given = environment.get(OPTIONS_VARIABLE, "").split()
    environment[OPTIONS_VARIABLE] = " ".join([*given, *(option for option in options if option not in given)])


def class_archive() -> Path | None:
    """Return the path of the class archive for this Java and this Spark, made or not; None without one of them."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if not java or not os.path.exists(java):
        return None
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return None
    real = os.path.realpath(java)
    said = f"{real} {os.stat(real).st_mtime_ns} {spark} {sys.prefix}"
    return cache_dir() / f"classes-{hashlib.sha256(said.encode()).hexdigest()[:16]}.jsa"
