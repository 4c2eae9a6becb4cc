"""One contender over one stream: load, settle, measured updates, then reads with the caches hot and dropped.

Between two measured updates, and outside every measured time: the contents are counted and compared with the
oracle, the handle is refreshed, probes are timed, and files that have left the table are deleted, which stands in
for vacuum. A contender runs whole, alone in the session that all Spark contenders share, after the session was
warmed by others; `pulse` times the same small work before and after it, so that a disturbed run can be told.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from json import dumps
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.archives.stream import Source, Stream
from benchmarks.harness.contender import Contender, Course
from benchmarks.harness.measures import (
    java_heap_bytes,
    java_resident_bytes,
    put_out_of_cache,
    resident_bytes,
    sizes_below,
)
from benchmarks.harness.spark_work import SparkWork
from benchmarks.harness.truth import Truth
from benchmarks.process.java_time import JavaTime

PULSE_BYTES = 1 << 25
HEAP_SAMPLES = 60


@dataclass(frozen=True)
class Race:
    """A stream, who runs on it, and how much is measured of each.

    `reads_every`: probes and checks at every so many measured updates; long runs need not look each time.
    """

    name: str
    stream: Stream
    contenders: tuple[str, ...]
    updates: int = 12
    probes: int = 10
    scans: int = 3
    cold_probes: int = 3
    reads_every: int = 1

    @property
    def fingerprint(self) -> str:
        """A name for what is measured, whoever runs: results of another one cannot stand in for it."""
        values = {**asdict(self), "contenders": ()}
        return sha256(dumps(values, sort_keys=True).encode()).hexdigest()[:12]


class Run:
    """One contender's run through a race."""

    def __init__(self, race: Race, contender: Contender, course: Course, say: Callable[[str], None]) -> None:
        self.race, self.contender, self.course, self.say = race, contender, course, say
        self.truth = Truth(course.source)
        self.chance = np.random.default_rng([race.stream.seed, 99])
        self.updates = contender.updates_measured(race.updates, course.span)
        self.reads_every = max(1, race.reads_every * self.updates // race.updates)
        self.spark_work = SparkWork(course.spark)
        self.known: Set[str] = frozenset()  # the files there were after the last update

    def result(self) -> dict[str, Any]:
        """Run it; every sample as plain values."""
        pulse_ms = [pulse()]
        load = os.getloadavg()[0]
        shutil.rmtree(self.course.folder, ignore_errors=True)
        self.course.folder.mkdir(parents=True)
        try:
            self.contender.create(self.course)
            load_seconds = self._load()
            updates = list(self._updates())
            reads = self._last_reads()
        finally:
            self.contender.close()
            shutil.rmtree(self.course.folder, ignore_errors=True)
        pulse_ms.append(pulse())
        first = self.course.span + self.contender.settle
        shares, rows = self.course.source.lifetimes(range(first, first + self.updates))
        return {
            "label": self.contender.label,
            "family": self.contender.family.value,
            "note": self.contender.note,
            "off_disk": self.contender.off_disk,
            "load_seconds": load_seconds,
            "load_average": load,
            "lifetimes": {"shares": shares, "rows_per_slot": rows},
            "pulse_ms": pulse_ms,
            "updates": updates,
            **reads,
        }

    def _load(self) -> float:
        self.say("loading")
        start = perf_counter()
        self.contender.load(range(self.course.span))
        seconds = perf_counter() - start
        for number in range(self.contender.settle):
            self.say(f"settling {number + 1}/{self.contender.settle}")
            self.contender.update([self.course.span + number])
            self._sweep(self.course.span + number)
        self.contender.refresh(self.course.span + self.contender.settle - 1)
        return seconds

    def _updates(self) -> Iterator[dict[str, Any]]:
        first = self.course.span + self.contender.settle
        self.known = sizes_below(self.course.folder).keys()
        for number in range(self.updates):
            self.say(f"update {number + 1}/{self.updates}")
            if number % self.reads_every == 0:
                gc.collect()  # what reads left behind is not to be collected within an update
            sample = self._update(first + number)
            if number % self.reads_every == 0:
                sample |= self._reads(first + number)
                self._sweep(first + number)
            if number % max(1, self.updates // HEAP_SAMPLES) == 0:
                sample |= {"java_heap_bytes": java_heap_bytes(self.course.spark)}
            yield sample

    def _update(self, slot: int) -> dict[str, Any]:
        written_before = self.contender.written_bytes()
        with self.spark_work as work, JavaTime() as java:
            start = perf_counter()
            details = self.contender.update([slot])
            seconds = perf_counter() - start
        written_after = self.contender.written_bytes()
        sizes = sizes_below(self.course.folder)
        new = {path: size for path, size in sizes.items() if path not in self.known}
        self.known = sizes.keys()
        written = sum(new.values())
        if written_before is not None and written_after is not None:
            written = written_after - written_before
        return {
            "slot": slot,
            "seconds": seconds,
            "written_bytes": written,
            "written_files": sum(1 for path in new if path.endswith(".parquet") and "/_delta_log/" not in path),
            "resident_bytes": resident_bytes(),
            "java_resident_bytes": java_resident_bytes(self.course.spark),
            **work.figures(),
            **java.figures(),
            **details,
        }

    def _reads(self, slot: int) -> dict[str, Any]:
        """The answers of the open handle, timed and checked."""
        name, stream = self.contender.name, self.race.stream
        refresh_ms, _ = timed(lambda: self.contender.refresh(slot))
        contents = self.contender.contents()
        self.truth.check(slot, contents.live, name)
        keys = (2 * self.chance.integers(0, stream.keys, self.race.probes)).tolist()
        first_ms, answer = timed(lambda: self.contender.probe(keys[0]))
        self.truth.check_rows(slot, f"key = {keys[0]}", answer.num_rows, name)
        probe_ms = [timed(partial(self.contender.probe, key))[0] for key in keys]
        absent_ms = [timed(partial(self.contender.probe, key + 1))[0] for key in keys[: len(keys) // 2]]
        low, high = keys[-1], keys[-1] + 2 * max(2, stream.keys // 100)
        self.contender.probe_range(low, high)
        range_ms, answer = timed(lambda: self.contender.probe_range(low, high))
        self.truth.check_rows(slot, f"key >= {low} AND key < {high}", answer.num_rows, name)
        stored = asdict(contents)
        del stored["live"]
        return {
            **{f"stored_{name}": value for name, value in stored.items() if name != "oldest_dead"},
            "live_rows": contents.live.rows,
            "oldest_dead": contents.oldest_dead,
            "refresh_ms": refresh_ms,
            "probe_first_ms": first_ms,
            "probe_ms": probe_ms,
            "absent_ms": absent_ms,
            "range_ms": range_ms,
        }

    def _last_reads(self) -> dict[str, Any]:
        """Whole scans, one of them checked value by value, and probes after the caches were dropped."""
        slot = self.course.span + self.contender.settle + self.updates - 1
        self.contender.refresh(slot)
        self.truth.check_content(slot, self.contender.scan(), self.contender.name)
        scans = []
        for number in range(self.race.scans):
            self.say(f"scan {number + 1}/{self.race.scans}")
            scans.append(timed(lambda: sum(batch.num_rows for batch in self.contender.scan()))[0] / 1000)
        return {"scan_seconds": scans, "cold_probe_ms": list(self._cold_probes(slot))}

    def _cold_probes(self, slot: int) -> Iterator[float]:
        for _ in range(self.race.cold_probes):
            key = int(2 * self.chance.integers(0, self.race.stream.keys))
            self.contender.forget_caches()
            self.contender.refresh(slot)
            if put_out_of_cache(self.contender.files()):
                yield timed(partial(self.contender.probe, key))[0]

    def _sweep(self, slot: int) -> None:
        """Delete data files that have left the table. Without it a long race fills the disk."""
        if self.contender.written_bytes() is not None:
            return
        self.contender.refresh(slot)
        current = set(self.contender.files())
        for path in sizes_below(self.course.folder):
            if path.endswith(".parquet") and "/_delta_log/" not in path and path not in current:
                _delete_with_sidecar(Path(path))


def run(race: Race, contender: Contender, work: Path, spark: Any, say: Callable[[str], None]) -> dict[str, Any]:
    """One contender's samples in one race."""
    source = Source.below(work, race.stream)
    say("writing the stream")
    updates = contender.updates_measured(race.updates, race.stream.span)
    source.write(range(race.stream.span + contender.settle + updates))
    course = Course(source, work / "tables" / f"{race.name}-{contender.name}", spark)
    return Run(race, contender, course, say).result()


def _delete_with_sidecar(path: Path) -> None:
    """And the folders that become empty: walking through thousands of them would be most of a long race."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    with suppress(OSError):
        os.removedirs(path.parent)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds, and what the call gave."""
    start = perf_counter()
    value = call()
    return (perf_counter() - start) * 1000, value


def pulse() -> float:
    """Milliseconds for a fixed piece of work: what a disturbed machine makes longer."""
    block = bytes(PULSE_BYTES)
    return min(timed(lambda: sha256(block).digest())[0] for _ in range(3))
