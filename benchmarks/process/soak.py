"""`python -m benchmarks.process.soak`: thousands of updates in one archive. Does anything grow that should not?

After each update: its time, the log, the files, the memory of driver, JVM and of a reader that stays open. Vacuum runs
as it would in production, with a grace of seconds. It may be stopped at any moment, also by --minutes: the archive and
the samples stay, and the next call goes on (in new processes, so memory starts anew; `session` tells them apart).
Flatness is the median of the last 100 updates over that of the first 100 after the archive had filled.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness.measures import java_heap_bytes, java_resident_bytes, resident_bytes, sizes_below
from benchmarks.harness.store import RESULTS, machine, write_json
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.hands import archive_job
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import moment
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.create import create
from tidewheel.jobs.process.session import open_session
from tidewheel.jobs.update import update
from tidewheel.storage.location import Location

SPAN, ROWS, KEYS = 36, 400, 200
VACUUM_EVERY, CHECK_EVERY, HEAP_EVERY = 25, 50, 10
WINDOW = 100
DOCS = Path(__file__).parents[2] / "docs"
_FILE = """
[archive]
name = "soak"
path = "{folder}/table"
key = ["key"]
inserted_at = "at"
expires_at = "until"
clock = "data"
[time]
interval = "5m"
max_lifetime = "3h"
[source]
path = "{folder}/source/{{slot}}.parquet"
schema = "key string, number bigint, at timestamp, until timestamp"
[retention]
grace = "20s"
vacuum_period = "10s"
log = "30s"
"""
Sample = dict[str, Any]


@dataclass
class Soak:
    """One archive in a folder, and the samples of every update it has had."""

    folder: Path
    samples: list[Sample] = field(default_factory=list)

    @staticmethod
    def resumed(folder: Path) -> Soak:
        kept = folder / "samples.jsonl"
        lines = kept.read_text().splitlines() if kept.exists() else []
        return Soak(folder, [json.loads(line) for line in lines])

    @property
    def file(self) -> ArchiveFile:
        return parse_archive_file(_FILE.format(folder=self.folder), "soak.toml")

    def run(self, updates: int, minutes: float) -> None:
        """Up to so many updates in all, for so long."""
        ends = perf_counter() + minutes * 60
        job = archive_job(Location.of(self.folder / "table"), self.file)
        if not self.samples:
            create(job)
        session = self.samples[-1]["session"] + 1 if self.samples else 0
        with _Reader(job.location.uri) as reader, (self.folder / "samples.jsonl").open("a") as kept:
            for slot in range(len(self.samples), updates):
                if perf_counter() > ends:
                    return
                sample = self._step(job, slot, reader) | {"session": session}
                self.samples.append(sample)
                print(json.dumps(sample), file=kept, flush=True)

    def _step(self, job: ArchiveJob, slot: int, reader: _Reader) -> Sample:
        source = self.folder / "source" / f"{slot}.parquet"
        source.parent.mkdir(exist_ok=True)
        pq.write_table(self._batch(slot), source)
        start = perf_counter()
        # A run that was stopped after its commit brings the same slot again: it is replaced.
        update(job, [slot])
        sample: Sample = {"slot": slot, "update_seconds": perf_counter() - start}
        source.unlink()
        if slot % VACUUM_EVERY == VACUUM_EVERY - 1:
            start = perf_counter()
            vacuum(job)
            sample["vacuum_seconds"] = perf_counter() - start
        if slot % CHECK_EVERY == CHECK_EVERY - 1:
            found, expected = reader.ask("")["rows"], live_rows(slot)
            assert found == expected, f"after slot {slot}: {found} records are live, not {expected}"
        return sample | self._measures(job, slot, reader.ask(f"k{slot % KEYS}"))

    def _measures(self, job: ArchiveJob, slot: int, probed: Sample) -> Sample:
        sizes = sizes_below(self.folder / "table")
        log = [size for path, size in sizes.items() if "/_delta_log/" in path]
        measures = {
            "probe_ms": probed["ms"],
            "reader_bytes": probed["resident_bytes"],
            "driver_bytes": resident_bytes(),
            "jvm_bytes": java_resident_bytes(open_session()),
            "files": len(sizes),
            "live_files": len(job.snapshot().files),
            "stored_bytes": sum(sizes.values()),
            "log_files": len(log),
            "log_bytes": sum(log),
            "ledger_bytes": sum(size for path, size in sizes.items() if "/_tidewheel/ledger/" in path),
        }
        return measures | ({"heap_bytes": java_heap_bytes(open_session())} if slot % HEAP_EVERY == 0 else {})

    def _batch(self, slot: int) -> pa.Table:
        axis = self.file.axis
        at_us = axis.start_us(slot)
        times = pa.timestamp("us", "UTC")
        until = [moment(at_us + life_of(slot, n) * axis.interval_us) for n in range(ROWS)]
        return pa.table(
            {
                "key": [f"k{(n * 7 + slot) % KEYS}" for n in range(ROWS)],
                "number": pa.array(range(ROWS), pa.int64()),
                "at": pa.array([moment(at_us)] * ROWS, times),
                "until": pa.array(until, times),
            }
        )

    def result(self) -> dict[str, Any]:
        job = archive_job(Location.of(self.folder / "table"), self.file)
        findings = audit(job, deep=True).findings
        return {
            "machine": machine(),
            "updates": len(self.samples),
            "sessions": 1 + max(sample["session"] for sample in self.samples),
            "audit_findings": len(findings),
            "flatness": dict(flatness(self.samples)),
            "samples": self.samples,
        }


def life_of(slot: int, number: int) -> int:
    """Slots that a record lives, from one to the span."""
    return 1 + (number * 5 + slot) % SPAN


def live_rows(watermark: int) -> int:
    """Records that outlive the watermark's slot: valid until the start of slot + life, which must lie after its end."""
    slots = range(max(0, watermark - SPAN), watermark + 1)
    return sum(slot + life_of(slot, number) > watermark + 1 for slot in slots for number in range(ROWS))


MEASURES = (
    *("update_seconds", "vacuum_seconds", "probe_ms", "log_bytes", "log_files", "ledger_bytes", "files", "live_files"),
    *("stored_bytes", "driver_bytes", "jvm_bytes", "heap_bytes", "reader_bytes"),
)


def flatness(samples: Sequence[Sample]) -> Iterator[tuple[str, dict[str, float]]]:
    """First and last hundred of each measure; not before the archive has filled, vacuum has run and Java is warm."""
    settled = samples[WINDOW:]
    for name in MEASURES:
        first = [sample[name] for sample in settled[:WINDOW] if name in sample]
        last = [sample[name] for sample in settled[-WINDOW:] if name in sample]
        if first and last:
            yield name, {"first": median(first), "last": median(last), "ratio": median(last) / median(first)}


class _Reader:
    """A process of its own that keeps the archive open."""

    def __init__(self, table: str) -> None:
        command = [sys.executable, "-m", "benchmarks.process.soak_reader", table]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def ask(self, key: str) -> Sample:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(key, file=self._process.stdin, flush=True)
        answer: Sample = json.loads(self._process.stdout.readline())
        return answer


def main(given: Sequence[str] | None = None) -> int:
    """The exit code: 1 if the audit found something."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.process.soak", description=__doc__)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=24 * 60, help="stop after so long; the next call goes on")
    parser.add_argument("--fresh", action="store_true", help="begin anew")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-soak")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    if arguments.fresh:
        shutil.rmtree(arguments.work, ignore_errors=True)
    for folder in (arguments.work, arguments.results):
        folder.mkdir(parents=True, exist_ok=True)
    soak = Soak.resumed(arguments.work)
    soak.run(arguments.updates, arguments.minutes)
    if len(soak.samples) < 2 * WINDOW:
        print(f"{len(soak.samples)} updates; from {2 * WINDOW} on there is a result")
        return 0
    result = soak.result()
    write_json(arguments.results / "soak.json", result)
    if arguments.results == RESULTS:
        from benchmarks.process.soak_plot import draw

        draw(result, DOCS / "images" / "soak.png")
    for name, one in result["flatness"].items():
        print(f"{name:16} {one['first']:14.4g} {one['last']:14.4g}  ×{one['ratio']:.2f}")
    print(f"{result['updates']} updates, {result['sessions']} sessions, {result['audit_findings']} audit findings")
    return 1 if result["audit_findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
