"""The figure of a soak: each measure over all updates, with what the first hundred made of it as a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from benchmarks.harness.plots import OURS, RIVAL, YARDSTICK

mpl.use("Agg")
# Measure → its title, and what one unit of the axis is.
_PANELS = {
    "update_seconds": ("update, s", 1.0),
    "probe_ms": ("probe, ms", 1.0),
    "log_bytes": ("log, kB", 1e3),
    "files": ("files, live and awaiting grace", 1.0),
    "heap_bytes": ("Java heap in use, MB", 1e6),
    "driver_bytes": ("driver, MB resident", 1e6),
    "reader_bytes": ("reader, MB resident", 1e6),
    "ledger_bytes": ("ledger, kB", 1e3),
}


def draw(result: dict[str, Any], path: Path) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(13, 5), sharex=True)
    samples = result["samples"]
    starts = [
        one["slot"] for one, before in zip(samples[1:], samples, strict=False) if one["session"] > before["session"]
    ]
    for axis, (name, (title, unit)) in zip(axes.flat, _PANELS.items(), strict=True):
        points = [(sample["slot"], sample[name] / unit) for sample in samples if name in sample]
        axis.plot(*zip(*points, strict=True), ".", ms=2, color=OURS)
        axis.axhline(result["flatness"][name]["first"] / unit, color=RIVAL, lw=0.8)
        for start in starts:
            axis.axvline(start, color=YARDSTICK, lw=0.6, ls=":")
        axis.set(title=f"{title}  ×{result['flatness'][name]['ratio']:.2f}", ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("updates (dotted: a new process)", fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
