"""The command line, cold: each command a process of its own, with the interpreter, Spark and the JVM to start."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.archives.stream import Source, Stream, as_of_us
from benchmarks.harness.race import timed
from tidewheel.indexing.core.slots import iso
from tidewheel.jobs.process import quick_start

EXPERIMENT = "cold_commands"
COMMANDS = ("update", "update, Java as it is", "probe", "status")
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
    """Seconds of each command, each so many times, on an archive with a span of slots."""
    archive = quick_start.class_archive()
    with _archive(work, times * 2, stream) as file:
        slots = iter(range(stream.span, stream.span + times * 2))
        update, plain, probe, status = COMMANDS
        return {
            "class_archive": archive is not None and archive.exists(),
            update: [_update_parts(file, next(slots), {}) for _ in range(times)],
            plain: [_update_parts(file, next(slots), {quick_start.VARIABLE: "off"}) for _ in range(times)],
            probe: [_parts("probe", str(file), str(2 * n)) for n in range(times * 2)],
            status: [_parts("status", str(file)) for _ in range(times * 2)],
        }


def _parts(*command: str) -> dict[str, float]:
    processor = _processor_seconds()
    total = timed(lambda: _tidewheel(*command))[0] / 1000
    return {"total": total, "of Python's processor": _processor_seconds() - processor}


def _update_parts(file: Path, slot: int, settings: dict[str, str]) -> dict[str, float]:
    started, processor = perf_counter(), _processor_seconds()
    said = json.loads(_tidewheel("update", str(file), "--slot", _start(slot), "--json", settings=settings))
    total = perf_counter() - started
    spent = {name: ms / 1000 for name, ms in said["receipt"]["timings_ms"].items()}
    parts = {"total": total, **spent, "rest": total - sum(spent.values())}
    return {**parts, "of Python's processor": _processor_seconds() - processor}


def _processor_seconds() -> float:
    """Of the programs that were started here and waited for. Java is not among them: it ends by itself."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _archive(work: Path, times: int, stream: Stream) -> Iterator[Path]:
    """An archive filled with a span of slots, and batches for some more updates."""
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
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(slot: int) -> str:
    return iso(as_of_us(slot - 1))


def _tidewheel(*arguments: str, settings: Mapping[str, str] | None = None) -> str:
    command = [str(Path(sys.executable).with_name("tidewheel")), *arguments]
    # A running session's gateway must not be taken for the command's own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    environment |= settings or {}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
