"""A plan as a picture: trees below each other, in each a bar for every query's newest window, cut by the tree's edges.

Where bars of one colour are cut alike, queries weave well; a tree with many cuts has many partial rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidewheel.indexing.durations import MICROS_PER_UNIT, duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.extras import needed
from tidewheel.indexing.printable import counted
from tidewheel.queries.planning.phases import phases_of
from tidewheel.queries.windows import Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tidewheel.plans import PoolPlan

SUFFIXES = (".png", ".svg")
QUERIES_SHOWN, TICKS_MAX = 60, 9
EDGES_SHOWN = 400  # of a tree: more are a grey block
_WIDTH, _ROW, _MARGIN = 10.0, 0.24, 1.3  # inches
_COLOURS = "tab10"


def draw_plans(plans: Sequence[PoolPlan], path: Path) -> None:
    """Write the picture, a plot for each pool."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"--plot {path}: the name of a picture ends in {' or '.join(SUFFIXES)}", "give such a name")
    if not plans:
        raise InvalidInput("no query asks this archive", "write one: tidewheel query new ARCHIVE NAME")
    with needed("for a picture"):
        from matplotlib.figure import Figure

    rows = [min(len(one.pool.requests), QUERIES_SHOWN) for one in plans]
    figure = Figure(figsize=(_WIDTH, sum(_MARGIN + _ROW * count for count in rows)), layout="constrained")
    heights = [_MARGIN + _ROW * count for count in rows]
    all_axes = figure.subplots(len(plans), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, plan in zip(all_axes, plans, strict=True):
        _draw_pool(axes, plan)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _draw_pool(axes: Axes, plan: PoolPlan) -> None:
    from matplotlib import colormaps

    windows = {request.name: request.window for request in plan.pool.requests}
    span, palette = max(window.length for window in windows.values()), colormaps[_COLOURS]
    labels: list[str] = []
    for number, tree in enumerate(plan.plan.trees):
        shown = list(tree)[: QUERIES_SHOWN - len(labels)]
        if not shown:
            break
        first = len(labels)
        for name in shown:
            look: dict[str, Any] = {"height": 0.6, "color": palette(number % palette.N)}
            axes.barh(len(labels), windows[name].length, left=-windows[name].length, alpha=0.75, **look)
            if plan.pool.endless:
                axes.barh(len(labels), span * 0.15, left=-span * 1.15, alpha=0.3, **look)
            labels.append(name)
        _draw_edges(axes, [windows[name] for name in tree], first - 0.45, len(labels) - 0.55)
    axes.set_yticks(range(len(labels)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(-span * (1.15 if plan.pool.endless else 1.02), span * 0.01)
    ticks = range(0, span + 1, _step_us(span))
    axes.set_xticks([-at for at in ticks], ["now", *(f"-{duration_text(at)}" for at in ticks[1:])])
    hidden = len(windows) - len(labels)
    more = f", {hidden} not shown" if hidden else ""
    made = f"{counted(len(windows), 'query', 'queries')} in {counted(len(plan.plan.trees), 'tree')}"
    axes.set_title(f"{plan.pool.about}: {made} by {plan.plan.planner}{more}", loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)


def _step_us(span_us: int) -> int:
    """From one mark to the next: a duration that people count in.

    >>> [duration_text(_step_us(span_us)) for span_us in (40_000, 90_000_000, 660_000_000, 86_400_000_000)]
    ['5ms', '10s', '2m', '3h']
    """
    counts = {"us": (1, 2, 5), "ms": (1, 2, 5), "s": (1, 2, 5, 10, 15, 30), "m": (1, 2, 5, 10, 15, 30),
              "h": (1, 2, 3, 6, 12), "d": (1, 2)}  # fmt: skip
    steps = sorted(
        number * ten * MICROS_PER_UNIT[unit]
        for unit, numbers in counts.items()
        for number in numbers
        for ten in ((1, 10, 100) if unit in ("us", "ms") else (1,))
    )
    weeks = MICROS_PER_UNIT["w"]
    return next((step for step in steps if span_us <= step * TICKS_MAX), weeks * (1 + span_us // (weeks * TICKS_MAX)))


def _draw_edges(axes: Axes, windows: Sequence[Window], top: float, bottom: float) -> None:
    """Draw where the tree's partials end, over the longest window; times count back from a report of all queries."""
    longest = max(window.length for window in windows)
    edges: set[int] = set()
    for slide, shift in frozenset[tuple[int, int]]().union(*map(phases_of, windows)):
        if longest // slide > EDGES_SHOWN:
            axes.axhspan(top, bottom, color="0.9", zorder=0)
            return
        edges |= set(range(shift - slide * (longest // slide + 1), 1, slide))
    axes.vlines([at for at in edges if -longest <= at <= 0], top, bottom, color="black", linewidth=0.6, zorder=3)
