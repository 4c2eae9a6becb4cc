"""The figures of docs/benchmarks.md: by n as in the thesis, Pareto fronts, growth, and where an update's time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from benchmarks.archives.cost_check import checks
from benchmarks.harness.goals import DEFAULT
from benchmarks.harness.results import Results
from benchmarks.harness.summary import Summary
from benchmarks.literature.thesis import NS, by_n

mpl.use("Agg")

OURS, RIVAL, YARDSTICK = "#1f6f8b", "#d1495b", "#8d99ae"
_COLOURS = {"ours": OURS, "rival": RIVAL, "yardstick": YARDSTICK}
# The systems of figures 4.4 to 4.11, and the third strategy.
_SYSTEM_COLOURS = {
    "round robin, rebuild": OURS,
    "round robin, no_rebuild": "#74a892",
    "round robin, expire_rebuild": "#008585",
    "chronological, rebuild": "#c7522a",
    "wave index R-ins": "#e5a03e",
    "wave index R-exp": "#b5446e",
}
_STEPS_TOLD = ("state", "plan", "session", "source", "write", "check")
_STEP_COLOURS = {
    "listing: state": "#264653",
    "planning": "#2a9d8f",
    "session": "#8ab17d",
    "source: schema, expressions": "#e9c46a",
    "reading, shuffling": "#f4a261",
    "sorting, writing": "#e76f51",
    "Spark's planning, footers": "#bc6c25",
    "check": "#8d99ae",
    "receipt, commit": "#6d597a",
}


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Every figure that there are measurements for."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"figure.dpi": 110, "axes.spines.top": False, "axes.spines.right": False, "font.size": 9})
    drawings: dict[str, Callable[[Results], Any]] = {
        "bench-by-n": _by_n,
        "bench-pareto-small": lambda found: _pareto(found.race("small")),
        "bench-pareto-large": lambda found: _pareto(found.race("large")),
        "bench-growth": _growth,
        "bench-update-time": _waterfall,
        "bench-cost-model": _cost_model,
    }
    paths = []
    for name, draw in drawings.items():
        figure = draw(results)
        if figure is not None:
            paths.append(folder / f"{name}.png")
            figure.savefig(paths[-1], bbox_inches="tight")
            plt.close(figure)
    return paths


def _by_n(results: Results) -> Any:
    """Update, probe and scan by the number of sub-indices."""
    found = results.race("thesis_500_mb") or {**results.race("balance"), **results.race("small")}
    lines = {system: by_n(found, system) for system in _SYSTEM_COLOURS}
    if sum(len(points) > 1 for points in lines.values()) == 0:
        return None
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4))
    measures: Sequence[tuple[str, Callable[[Summary], float]]] = (
        ("update, s", lambda one: one.update_seconds),
        ("probe, ms", lambda one: one.probe_ms),
        ("scan, s", lambda one: one.scan_seconds),
    )
    for axis, (title, measure) in zip(axes, measures, strict=True):
        for label, points in lines.items():
            if points:
                axis.plot(
                    [n for n, _ in points], [measure(one) for _, one in points], "o-", ms=3.5, lw=1.4,
                    label=label, color=_SYSTEM_COLOURS[label],
                )  # fmt: skip
        axis.set(title=title, xlabel="sub-indices n", ylim=(0, None))
        axis.set_xticks(NS)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=3, frameon=False)
    figure.subplots_adjust(bottom=0.3)
    return figure


def _pareto(found: dict[str, Summary]) -> Any:
    """Update against probe, both logarithmic; the ring is what is stored beyond the live records."""
    if len(found) < 3:
        return None
    figure, axis = plt.subplots(figsize=(9, 5.6))
    for one in found.values():
        live_mb = max(one.stored_mb - one.dead_mb, 1e-9)
        axis.scatter(one.update_seconds, one.probe_ms, s=26, color=_COLOURS[one.family], zorder=3)
        axis.scatter(
            one.update_seconds, one.probe_ms, s=26 + 700 * one.dead_mb / live_mb,
            facecolors="none", edgecolors=_COLOURS[one.family], lw=0.8, alpha=0.7,
        )  # fmt: skip
        axis.annotate(one.name, (one.update_seconds, one.probe_ms), (4, 3), textcoords="offset points", fontsize=6)
    front = pareto_front(list(found.values()))
    axis.plot([one.update_seconds for one in front], [one.probe_ms for one in front], ":", color="black", lw=1)
    axis.set(xscale="log", yscale="log", xlabel="update, s", ylabel="warm probe, ms (median)")
    axis.set_title("ours (blue), rivals (red), yardsticks (grey); the ring grows with dead bytes", fontsize=9)
    return figure


def pareto_front(found: Sequence[Summary]) -> list[Summary]:
    """Those that no other beats in both update and probe; yardsticks do not compete."""
    front: list[Summary] = []
    for one in sorted((o for o in found if o.family != "yardstick"), key=lambda o: (o.update_seconds, o.probe_ms)):
        if not front or one.probe_ms < front[-1].probe_ms:
            front.append(one)
    return front


def _growth(results: Results) -> Any:
    """Update time as the live data grow at a fixed batch, and as an archive ages."""
    points = []
    for factor in (1, 2, 4, 8):
        for one in results.race(f"growth_{factor}").values():
            points.append((one.stored_mb, one.update_median_seconds))
    _, samples = results.samples("long", DEFAULT)
    if not points and len(samples) < 10:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
    axes[0].plot([mb for mb, _ in points], [s for _, s in points], "o-", color=OURS)
    axes[0].set(title="E ≥ p, one batch size", xlabel="live data, MB", ylabel="update, s", ylim=(0, None))
    axes[1].plot([one["seconds"] for one in samples], lw=0.5, color=OURS)
    axes[1].set(title="one archive, update after update", xlabel="update", ylabel="s", ylim=(0, None))
    return figure


def _waterfall(results: Results) -> Any:
    """Where the time of a warm update goes, step by step; beside it, waiting for the JVM against our own."""
    race, found = results.largest()
    names = [one.name for one in found.values() if one.is_ours][:8]
    few = results.race("few_rows")
    rows = [("few_rows", name) for name in few if few[name].is_ours] + [(race, name) for name in names]
    if not rows:
        return None
    figure, axis = plt.subplots(figsize=(9, 0.45 * len(rows) + 1.4))
    for height, (where, name) in enumerate(reversed(rows)):
        _, samples = results.samples(where, name)
        _stack(axis, height, update_steps(samples))
    axis.set_yticks(range(len(rows)), [f"{name} ({where})" for where, name in reversed(rows)], fontsize=7)
    axis.set_xlabel("ms of a warm update, mean")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in _STEP_COLOURS.values()]
    axis.legend(
        handles, list(_STEP_COLOURS), ncol=5, fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1)
    )
    return figure


def update_steps(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Mean milliseconds by step. Of the step in which Spark works, its stages take their part, and planning and
    the footers of what was written the rest; what no step says went into the receipt, the commit and housekeeping."""

    def mean(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    told = {step: mean(one["timings_ms"].get(step, 0) for one in samples) for step in _STEPS_TOLD}
    feeding, writing = (mean(one.get(part, 0) for one in samples) for part in ("spark_feed_ms", "spark_write_ms"))
    steps = (
        told["state"], told["plan"], told["session"], told["source"],
        feeding, writing, max(0.0, told["write"] - feeding - writing), told["check"],
    )  # fmt: skip
    rest = mean(one["seconds"] for one in samples) * 1000 - sum(told.values())
    return dict(zip(_STEP_COLOURS, (*steps, max(0.0, rest)), strict=True))


def _stack(axis: Axes, height: int, steps: dict[str, float]) -> None:
    left = 0.0
    for step, ms in steps.items():
        axis.barh(height, ms, left=left, color=_STEP_COLOURS[step], height=0.65)
        left += ms


def _cost_model(results: Results) -> Any:
    """Predicted against measured bytes of every contender of ours."""
    found = checks(results)
    if not found:
        return None
    figure, axis = plt.subplots(figsize=(4.2, 4))
    measured = [one.written_data_bytes / 1e6 for one in found]
    predicted = [(one.predicted.appended_bytes + one.predicted.rewritten_bytes) / 1e6 for one in found]
    axis.scatter(measured, predicted, s=12, color=OURS)
    top = max(*measured, *predicted)
    axis.plot([0, top], [0, top], ":", color="black", lw=1)
    axis.set(xlabel="written per update, measured, MB", ylabel="predicted, MB")
    return figure
