"""The Java process behind Spark: started, listened to, and named where it is what failed.

What Java says while it starts is kept, for it tells why it does not; once Spark stands, all goes to our standard error.
"""

from __future__ import annotations

import os
import re
from collections import deque
from subprocess import TimeoutExpired
from threading import Lock, Thread
from typing import IO

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from tidewheel.indexing.errors import NotInstalled, TidewheelError, Unavailable
from tidewheel.storage.machine import machine_fault

# Said by every JVM that Spark starts, and by no option to be silenced.
_NO_NEWS = b"WARNING: Using incubator modules"
_OPTIONS_NEWS = b"Picked up "
# What Spark's start script says of a Java that ended without a word: it was killed.
_SCRIPT_AT_A_LOSS = re.compile(rb"spark-class: line \d+: (?:CMD: bad array subscript|.*\bKilled\b)")
_KEPT_LINES_MAX = 50
# Spark ends its own process with this code when the heap is full.
_OUT_OF_MEMORY = 52
# The connection breaks a little before the process is gone.
_END_WAIT_S = 3.0
_AGAIN = "run the command again"


class JavaWords:
    """What Java says on its standard error."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept: deque[bytes] = deque(maxlen=_KEPT_LINES_MAX)
        self._passes_on = False
        self._lock = Lock()
        self._thread = Thread(target=self._listen, name="java-stderr", daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """Spark stands: what was said, and whatever is said from now on, goes to our standard error."""
        with self._lock:
            os.write(2, b"".join(self._kept))
            self._passes_on = True

    def gist(self) -> str:
        """The first line that says what is wrong; nothing if Java ended without a word."""
        self._thread.join(timeout=1)
        with self._lock:
            telling = [line for line in self._kept if not line.startswith(_OPTIONS_NEWS)]
        lines = [line.decode(errors="replace").strip() for line in telling if not _SCRIPT_AT_A_LOSS.search(line)]
        return next((line for line in lines if line), "")

    def _listen(self) -> None:
        with self._stream:
            for line in self._stream:
                if not line.startswith(_NO_NEWS):
                    self._hear(line)

    def _hear(self, line: bytes) -> None:
        with self._lock:
            self._kept.append(line)
            if self._passes_on:
                os.write(2, line)


def start_java(conf: SparkConf) -> JavaWords | None:
    """Start the JVM with its standard error in our hands, unless one is running or Spark itself started us."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    reading, writing = os.pipe()
    words = JavaWords(os.fdopen(reading, "rb"))
    try:
        with os.fdopen(writing, "wb") as stderr:
            gateway = launch_gateway(conf, popen_kwargs={"stderr": stderr})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        raise _no_java(words.gist()) from error
    SparkContext._ensure_initialized(gateway=gateway)
    return words


def _no_java(said: str) -> TidewheelError:
    """The JVM ended before it could be talked to."""
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
    """The error to tell when Java runs and Spark does not start in it."""
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
    """The error to tell if the Java process that was started here has ended; None if it is there."""
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
    """The line of a Spark error that says something."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in (text or type(error).__name__).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(error).__name__
