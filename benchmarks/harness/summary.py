"""Samples to the few numbers that tables, ratios and plots use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.measures import MEGABYTE


@dataclass(frozen=True)
class Summary:
    """One contender in one race. Updates are averaged, as their cost differs from slot to slot; probes are medians."""

    name: str
    label: str
    family: str
    note: str
    off_disk: str
    update_seconds: float
    update_median_seconds: float
    update_p99_seconds: float
    update_spread_seconds: float
    written_mb: float
    rows_rewritten: float
    probe_ms: float
    probe_p99_ms: float
    probe_cold_ms: float
    absent_ms: float
    range_ms: float
    scan_seconds: float
    stored_mb: float
    dead_mb: float
    files: float
    overdue_updates: int
    pulse_ms: float

    @property
    def is_ours(self) -> bool:
        return self.family == "ours"

    @property
    def is_rival(self) -> bool:
        return self.family == "rival"


def summarized(name: str, result: Mapping[str, Any]) -> Summary:
    """The summary of a result as the store holds it."""
    updates = result["updates"]
    seconds = np.array([one["seconds"] for one in updates])
    read = [one for one in updates if "probe_ms" in one]
    probes = [ms for one in read for ms in one["probe_ms"]]
    return Summary(
        name=name,
        label=result["label"],
        family=result["family"],
        note=result["note"],
        off_disk=result["off_disk"],
        update_seconds=float(seconds.mean()),
        update_median_seconds=float(np.median(seconds)),
        update_p99_seconds=float(np.quantile(seconds, 0.99)),
        update_spread_seconds=float(seconds.std()),
        written_mb=_mean(one["written_bytes"] for one in updates) / MEGABYTE,
        rows_rewritten=_mean(one.get("rows_rewritten", np.nan) for one in updates),
        probe_ms=_median(probes),
        probe_p99_ms=float(np.quantile(probes, 0.99)) if probes else np.nan,
        probe_cold_ms=_median(result["cold_probe_ms"]),
        absent_ms=_median(ms for one in read for ms in one["absent_ms"]),
        range_ms=_median(one["range_ms"] for one in read),
        scan_seconds=_median(result["scan_seconds"]),
        stored_mb=_mean(one["stored_bytes"] for one in read) / MEGABYTE,
        dead_mb=_mean(one["stored_dead_bytes"] for one in read) / MEGABYTE,
        files=_mean(one["stored_files"] for one in read),
        overdue_updates=max((one["oldest_dead"] for one in read), default=0),
        pulse_ms=max(result["pulse_ms"]),
    )


def summaries(race: Mapping[str, Any]) -> dict[str, Summary]:
    """All finished contenders of a race, by name."""
    return {name: summarized(name, one) for name, one in race.items() if "updates" in one}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.median(found)) if found else float("nan")
