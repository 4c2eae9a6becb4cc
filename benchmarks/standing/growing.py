"""Does anything grow that should not? Ever longer windows over one archive, and very many refreshes of another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.archives.feeding import feed
from benchmarks.harness.measures import MEGABYTE, resident_bytes, sizes_below
from benchmarks.standing.beside import Samples, Say, over_a_copy
from benchmarks.standing.ours import Ours
from benchmarks.standing.stream import AXIS, GROUPS, MINUTE_US, SLOT_ZERO, Size, batch, query_text, read
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.clock import now_us
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import Retention
from tidewheel.queries.standing.query import Query

HOUR_SLOTS = 12
WINDOW_ROWS, WINDOW_MEASURED = 500, 6  # rows a slot, refreshes
# Of the long history: records a slot, slots that they live at most, refreshes from vacuum to vacuum.
ROWS, LIFE_SLOTS, VACUUM_EVERY = 400, 36, 25
WINDOWS_MINUTES, SLIDES_MINUTES = (30, 60, 120, 180), (5, 10, 15, 30)
HUNDRED = 100
SECOND_US = 1_000_000
RETENTION = Retention(20 * SECOND_US, 10 * SECOND_US, 30 * SECOND_US, 86_400 * SECOND_US)


def longer_windows(folder: Path, size: Size, say: Say) -> Samples:
    """The same batches and groups, and windows that reach further back; over copies of one archive."""
    if not size.windows_hours:
        return []
    slots = max(size.windows_hours) * HOUR_SLOTS + 2 + WINDOW_MEASURED
    small = replace(size, rows=min(size.rows, WINDOW_ROWS), slots=slots)
    found = []
    for hours in size.windows_hours:
        say(f"windows of {hours} h")
        asked = _asked([hours * 60], [5])
        first, samples, _ = over_a_copy(folder, small, asked, range(SLOT_ZERO - WINDOW_MEASURED, SLOT_ZERO))
        found.append({"hours": hours, "first": first, "refresh": samples})
    shutil.rmtree(folder)
    return found


def history(folder: Path, size: Size, say: Say) -> dict[str, Any]:
    """One archive refreshed very often, records, partials and answers expiring: medians of each hundred refreshes."""
    if size.history < 2:
        return {}
    small = replace(size, rows=ROWS)
    ours = Ours(folder, small, _asked(WINDOWS_MINUTES, SLIDES_MINUTES), SLOT_ZERO, RETENTION, now_us)
    jobs = [ours.job, ours.handle.partials, ours.handle.answers]
    samples: Samples = []
    hundreds: Samples = []
    for number in range(size.history):
        slot = SLOT_ZERO + number
        feed(ours.job, [slot], _short_lived(batch(small, slot), slot))
        one = ours.refresh()
        samples.append(
            {"seconds": one["seconds"], "processor_seconds": one["processor_seconds"], **_kept(folder, jobs)}
        )
        if number % VACUUM_EVERY == VACUUM_EVERY - 1:
            for job in jobs:
                vacuum(job)
        if len(samples) == min(HUNDRED, size.history // 2):
            hundreds.append(medians(samples))
            say(f"{number + 1} refreshes: {1000 * hundreds[-1]['seconds']:.0f} ms, {hundreds[-1]['files']:,.0f} files")
            samples = []
    shutil.rmtree(folder)
    return {"refreshes": size.history, "queries": len(ours.asked), "hundreds": hundreds}


def medians(samples: Samples) -> dict[str, Any]:
    return {name: median(one[name] for one in samples) for name in samples[0]}


def _asked(windows_minutes: Sequence[int], slides_minutes: Sequence[int]) -> list[Query]:
    """Each window over each group-by; slides in turn."""
    pairs = [(window, groups) for window in windows_minutes for groups in GROUPS]
    texts = [
        query_text(
            f"q{number:02}", "count(*) as n, sum(v) as total, max(v) as most", groups, window * MINUTE_US,
            slides_minutes[number % len(slides_minutes)] * MINUTE_US, 'revise = "15m"\n', keep="3h",
        )
        for number, (window, groups) in enumerate(pairs)
    ]  # fmt: skip
    return read(texts)


def _short_lived(rows: pa.Table, slot: int) -> pa.Table:
    lives = np.random.default_rng(slot).integers(1, LIFE_SLOTS, rows.num_rows)
    until = AXIS.start_us(slot) + lives * AXIS.interval_us
    columns = {"exp_slot": pa.array(slot + lives), "valid_until": pa.array(until, pa.int64())}
    for name, values in columns.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, values.cast(rows.schema.field(place).type))
    return rows


def _kept(folder: Path, jobs: Sequence[ArchiveJob]) -> dict[str, float]:
    """What lies there, and what this process holds."""
    sizes = sizes_below(folder)
    return {
        "files": len(sizes),
        "ledger_files": sum("/_tidewheel/ledger/" in path for path in sizes),
        "live_files": sum(len(job.snapshot().files) for job in jobs),
        "stored_mb": sum(sizes.values()) / MEGABYTE,
        "resident_mb": resident_bytes() / MEGABYTE,
    }
