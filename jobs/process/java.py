"""The Java process behind Spark: waited for, connected to, and named where it is what failed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import import_module
from subprocess import Popen, TimeoutExpired
from typing import Any

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from tidewheel.indexing.errors import NotInstalled, TidewheelError, Unavailable
from tidewheel.jobs.process.java_start import JavaWords, begin_java, begun_java
from tidewheel.storage.machine import machine_fault

_OPTIONS_NEWS = b"Picked up "
# What Spark's start script says of a Java that ended without a word: it was killed.
_SCRIPT_AT_A_LOSS = re.compile(rb"spark-class: line \d+: (?:CMD: bad array subscript|.*\bKilled\b)")
# Spark ends its own process with this code when the heap is full.
_OUT_OF_MEMORY = 52
# The connection breaks a little before the process is gone.
_END_WAIT_S = 3.0
_AGAIN = "run the command again"


def start_java() -> JavaWords | None:
    """Have a Java, begun here or before, with its standard error in our hands; unless Spark itself started us."""
    begin_java()
    # PySpark imports it with the first value that is handed to Java: here it costs nothing, as Java is not there yet.
    import_module("pyspark.testing.utils")
    begun = begun_java()
    if begun is None:
        return None
    reached = begun.reached_at()
    if reached is None:
        raise _no_java(_gist(begun.words.kept()))
    SparkContext._ensure_initialized(gateway=_connected(*reached, begun.process))
    return begun.words


def _connected(port: int, secret: str, process: Popen[bytes]) -> Any:
    """Return PySpark's end of the line, as PySpark makes it for a Java that is there already."""
    known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(known)
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in known:
            del os.environ[name]
    gateway.proc = process
    return gateway


def _gist(lines: Sequence[bytes]) -> str:
    """Return the first line that says what is wrong; nothing if Java ended without a word."""
    telling = [line for line in lines if not line.startswith(_OPTIONS_NEWS) and not _SCRIPT_AT_A_LOSS.search(line)]
    said = [line.decode(errors="replace").strip() for line in telling]
    return next((line for line in said if line), "")


def _no_java(said: str) -> TidewheelError:
    """Return the error for a JVM that ended before it could be talked to."""
    refused = machine_fault(said, "while Java started")
    if refused is not None:
        return refused
    if not said:
        return Unavailable("Spark's Java process ended while it started. Nothing was changed", _AGAIN)
    home = os.environ.get("JAVA_HOME")
    return NotInstalled(
        f"Spark's Java does not start: {said}. Nothing was changed",
        f"JAVA_HOME ({home or 'not set'}) must lead to Java 17 or newer; options for Java come from SPARK_SUBMIT_OPTS, "
        "JAVA_TOOL_OPTIONS and spark-defaults.conf",
    )


def not_started(error: Exception) -> TidewheelError:
    """Return the error to raise when Java runs and Spark does not start in it."""
    said = first_line(error).rstrip(".")
    return (
        spark_lost(error, "Nothing was changed")
        or machine_fault(said, "while Spark started")
        or Unavailable(
            f"Spark does not start: {said}. Nothing was changed",
            f"{_AGAIN}; if it fails again, look at TIDEWHEEL_SPARK_MASTER and the settings of Spark",
        )
    )


def spark_lost(error: Exception, state: str) -> TidewheelError | None:
    """Return the error to raise if the Java process that was started here has ended; None if it is there."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        code = process.wait(_END_WAIT_S if isinstance(error, Py4JNetworkError | ConnectionError) else 0)
    except TimeoutExpired:
        return None
    if code == _OUT_OF_MEMORY:
        return machine_fault("OutOfMemoryError", "in Spark", "its Java process ended for want of heap", state=state)
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    return Unavailable(
        f"Spark's Java process ended {how} in the middle of the work, often for want of memory. {state}",
        f"{_AGAIN}; if it ends again, give this machine or container more memory",
    )


def first_line(error: Exception) -> str:
    """Return the line of a Spark error that says something."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in (text or type(error).__name__).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(error).__name__
