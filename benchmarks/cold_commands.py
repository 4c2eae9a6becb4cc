"""The command line, cold: each command a process of its own, with the interpreter, Spark and the JVM to start.

`python -m benchmarks cold` prints where the time of a cold update goes, as it is and without what makes Spark start
quickly (`TIDEWHEEL_QUICK_START=off`), and what `status` and `probe` take.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.race import timed
from benchmarks.stream import Source, Stream, as_of_us
from tidewheel.indexing.core.slots import iso
from tidewheel.jobs.process import quick_start

TIMEOUT_S = 600
TIMES = 2
STREAM = Stream(rows=14_000)

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


def main() -> int:
    """Medians, in seconds; of an update what its receipt tells, and of the rest the interpreter and its imports."""
    archive = quick_start.class_archive()
    there = archive is not None and archive.exists()
    print("with a class archive" if there else "without a class archive: tidewheel-setup classes", flush=True)
    with tempfile.TemporaryDirectory() as folder, _archive(Path(folder), TIMES * 2, STREAM) as file:
        for number, (label, settings) in enumerate((("as it is", {}), ("off", {quick_start.VARIABLE: "off"}))):
            slots = [STREAM.span + number * TIMES + n for n in range(TIMES)]
            found = [_update_parts(file, slot, settings) for slot in slots]
            parts = {name: median(one[name] for one in found) for name in found[0]}
            told = "  ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())
            print(f"update, {label:8} {told}", flush=True)
        for command in (("status", str(file)), ("probe", str(file), "2")):
            processor = _processor_seconds()
            total = median(_seconds(*command) for _ in range(2 * TIMES))
            print(
                f"{command[0]:16} total {total:.2f}  processor {(_processor_seconds() - processor) / (2 * TIMES):.2f}"
            )
    return 0


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


def cold_commands(work: Path, times: int, stream: Stream) -> dict[str, Any]:
    """Seconds of `update`, `probe` and `status`, each so many times, on an archive with a span of slots."""
    with _archive(work, times, stream) as file:
        return {
            "update_seconds": [_seconds("update", str(file), "--slot", _start(stream.span + n)) for n in range(times)],
            "probe_seconds": [_seconds("probe", str(file), str(2 * n)) for n in range(times)],
            "status_seconds": [_seconds("status", str(file)) for _ in range(times)],
        }


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


def _seconds(*arguments: str) -> float:
    return timed(lambda: _tidewheel(*arguments))[0] / 1000


def _tidewheel(*arguments: str, settings: Mapping[str, str] | None = None) -> str:
    command = [str(Path(sys.executable).with_name("tidewheel")), *arguments]
    # A running session's gateway must not be taken for the command's own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    environment |= settings or {}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
