"""Spark's Java is started before anything of PySpark is imported: the two take about as long, and go side by side.

Java's output while it starts is kept, for it tells why it fails; once Spark runs, all goes to our standard error.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from struct import unpack_from
from subprocess import PIPE, Popen
from threading import Lock, Thread
from time import sleep
from typing import IO

from tidewheel.jobs.process.java_needs import require_java
from tidewheel.jobs.process.quick_start import use_class_archive
from tidewheel.jobs.process.settings import session_settings

# Said by every JVM that Spark starts, and by no option to be silenced.
_NO_NEWS = b"WARNING: Using incubator modules"
_KEPT_LINES_MAX = 50
# Spark's own names for where its Java tells how to reach it, and for a Java that started us.
_TOLD_VARIABLE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_RUNNING_VARIABLE = "PYSPARK_GATEWAY_PORT"
_LOOK_EVERY_S = 0.01
# It is for us to answer; Java would end in the middle of a sentence.
_DEAF_TO_CTRL_C = ("/bin/sh", "-c", "trap '' INT && exec \"$@\"", "sh")


class JavaWords:
    """The lines that Java writes to its standard error."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept: deque[bytes] = deque(maxlen=_KEPT_LINES_MAX)
        self._passes_on = False
        self._lock = Lock()
        self._thread = Thread(target=self._listen, name="java-stderr", daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """Send the kept lines, and all later ones, to our standard error: Spark runs."""
        with self._lock:
            os.write(2, b"".join(self._kept))
            self._passes_on = True

    def kept(self) -> list[bytes]:
        """Return the lines of a Java that has ended."""
        self._thread.join(timeout=1)
        with self._lock:
            return list(self._kept)

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


class StartingJava:
    """A Java that was started, by Spark's own script, and may not be there yet."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._told = self._folder / "connection"
        reading, writing = os.pipe()
        self.words = JavaWords(os.fdopen(reading, "rb"))
        submitted = environment.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        options = [word for setting in settings.items() for word in ("--conf", "=".join(setting))]
        with os.fdopen(writing, "wb") as stderr:
            self.process = Popen(
                [*_DEAF_TO_CTRL_C, str(spark_home() / "bin" / "spark-submit"), *options, *shlex.split(submitted)],
                # Java ends when this pipe breaks, however we end.
                stdin=PIPE,
                stderr=stderr,
                env={**environment, "SPARK_CONNECT_MODE": "0", _TOLD_VARIABLE: str(self._told)},
            )

    def reached_at(self) -> tuple[int, str] | None:
        """Wait for Java and return its port and secret; None if it has ended."""
        try:
            while not self._told.exists() and self.process.poll() is None:
                sleep(_LOOK_EVERY_S)
            said = self._told.read_bytes() if self._told.exists() else b""
        except BaseException:  # a Java that finds no folder to tell its port in would never look at the pipe
            self.process.kill()
            raise
        finally:
            shutil.rmtree(self._folder)
        if not said:
            return None
        port, length = unpack_from("!ii", said)
        return port, said[8 : 8 + length].decode()


_begun: list[StartingJava] = []


def begin_java() -> None:
    """Start Spark's Java, unless there is one, and wait for nothing: `session.py` takes it from here."""
    let_go_of_dead_java()
    if not _begun and not is_there():
        require_java()
        environment = dict(os.environ)
        use_class_archive(environment)
        _begun.append(StartingJava(session_settings(os.environ), environment))


def begun_java() -> StartingJava | None:
    """Return the Java that was begun, to whoever asks first."""
    return _begun.pop() if _begun else None


def is_there() -> bool:
    """Tell whether this process talks to a Java already, or was started by one."""
    pyspark = sys.modules.get("pyspark")
    context = getattr(pyspark, "SparkContext", None)
    return _RUNNING_VARIABLE in os.environ or getattr(context, "_gateway", None) is not None


def let_go_of_dead_java() -> None:
    """Forget a Java that was started here and has ended, so that the next piece of work starts a new one.

    PySpark holds on to it for good, and fails for good.
    """
    pyspark = sys.modules.get("pyspark")
    context = getattr(pyspark, "SparkContext", None)
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    if context is None or process is None or process.poll() is None:
        return
    with suppress(Exception):  # its end of the line is broken already
        context._gateway.shutdown()
    for name in ("_gateway", "_jvm", "_active_spark_context"):
        setattr(context, name, None)
    for name in ("_instantiatedSession", "_activeSession"):
        setattr(sys.modules["pyspark.sql"].SparkSession, name, None)


def spark_home() -> Path:
    """Return the folder of Spark, as PySpark finds it."""
    if said := os.environ.get("SPARK_HOME"):
        return Path(said)
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    return Path(found.origin).parent
