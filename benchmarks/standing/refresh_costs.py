"""What a refresh costs, as it is told on the page: the constants, and predicted against measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.harness.store import RESULTS

FILE = "sharing.json"
# What constants are of; commits have what is compared before them, too.
STAGES = {
    "partials": ("tree_ns", "record_ns", "predicate_ns", "written_ns"),
    "kernels": ("read_ns", "report_ns", "answer_ns"),
    "commits": ("refresh_ns",),
}


def known(folder: Path = RESULTS) -> dict[str, Any]:
    """What `python -m benchmarks sharing` found; nothing if it was not run."""
    path = folder / FILE
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def lines(folder: Path = RESULTS) -> Iterator[str]:
    found = known(folder)
    if not found:
        return
    yield (
        f"What a refresh of standing queries costs, fitted to {found['samples_fitted']} refreshed plans (`python -m "
        f"benchmarks sharing`): of {found['samples_tested']} others, predicted and measured differ by "
        f"{found['error_median']:.0%} in the median."
    )
    yield ""
    yield "| stage | nanoseconds of a processor |\n|---|---|"
    for stage, names in STAGES.items():
        told = (f"{name.removesuffix('_ns')} {found['constants_ns'][name]:,.0f}" for name in names)
        yield f"| {stage} | {', '.join(told)} |"
    tested = found.get("tested", ())
    if tested:
        yield ""
        yield "| queries | records a slot | planner | measured | predicted |\n|---|---|---|---|---|"
    for key in dict.fromkeys((one["queries"], one["rows"], one["planner"]) for one in tested):
        mine = [one for one in tested if (one["queries"], one["rows"], one["planner"]) == key]
        measured, predicted = (fmean(one[name] for one in mine) for name in ("seconds", "predicted_s"))
        yield f"| {key[0]} | {key[1]:,} | {key[2]} | {measured:.3f} s | {predicted:.3f} s |"
