"""The command line, cold: each command a process of its own, with the interpreter, Spark and the JVM to start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.race import timed
from benchmarks.stream import Source, Stream, as_of_us
from tidewheel.indexing.core.slots import iso

TIMEOUT_S = 600

_ARCHIVE = """
[archive]
name = "cold"
path = "{table}"
key = ["key"]
inserted_at = "ins"
expires_at = "until"
clock = "data"
[time]
interval = "1m"
max_lifetime = "{span}m"
[layout]
strategy = "expire_rebuild"
expiration_classes = 4
[source]
path = "{template}"
format = "parquet"
schema = "id bigint, key bigint, body string, ins timestamp, until timestamp"
"""


def cold_commands(work: Path, times: int, stream: Stream) -> dict[str, Any]:
    """Seconds of `update`, `probe` and `status`, each so many times, on an archive with a span of slots."""
    source = Source.below(work, stream)
    source.write(range(stream.span + times))
    folder = work / "cold"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = folder / "cold.toml"
    file.write_text(_ARCHIVE.format(table=folder / "table", span=stream.span, template=source.template))
    try:
        _tidewheel("init", str(file))
        _tidewheel("update", str(file), "--from", iso(0), "--to", iso(as_of_us(stream.span - 1)))
        return {
            "update_seconds": [_seconds("update", str(file), "--slot", _start(stream.span + n)) for n in range(times)],
            "probe_seconds": [_seconds("probe", str(file), str(2 * n)) for n in range(times)],
            "status_seconds": [_seconds("status", str(file)) for _ in range(times)],
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(slot: int) -> str:
    return iso(as_of_us(slot - 1))


def _seconds(*arguments: str) -> float:
    return timed(lambda: _tidewheel(*arguments))[0] / 1000


def _tidewheel(*arguments: str) -> None:
    command = [str(Path(sys.executable).with_name("tidewheel")), *arguments]
    # A running session's gateway must not be taken for the command's own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr[-2000:]}")
