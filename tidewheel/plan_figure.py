"""A plan as a picture: trees below each other, in each a bar for every query's newest window, cut by the tree's edges.

Where bars of one colour are cut alike, queries weave well; a tree with many cuts has many partial rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.phases import phases_of
from tidewheel.queries.windows import Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tidewheel.plans import PoolPlan

SUFFIXES = (".png", ".svg")
QUERIES_SHOWN = 60
EDGES_SHOWN = 400  # of a tree: more are a grey block
_WIDTH, _ROW, _MARGIN = 10.0, 0.24, 1.3  # inches
_COLOURS = "tab10"


def draw_plans(plans: Sequence[PoolPlan], path: Path) -> None:
    """Write the picture, a plot for each pool."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"--plot {path}: the name of a picture ends in {' or '.join(SUFFIXES)}", "give such a name")
    if not plans:
        raise InvalidInput("no query asks this archive", "write one: tidewheel query new ARCHIVE NAME")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidInput(
            "a picture needs a library that is not installed: matplotlib", "run: pip install 'tidewheel[plots]'"
        ) from error
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
    from matplotlib.ticker import FuncFormatter

    windows = {request.name: request.window for request in plan.pool.requests}
    span, palette = max(window.length for window in windows.values()), colormaps[_COLOURS]
    labels: list[str] = []
    for number, tree in enumerate(plan.plan.trees):
        shown = list(tree)[: QUERIES_SHOWN - len(labels)]
        if not shown:
            break
        first = len(labels)
        for name in shown:
            axes.barh(len(labels), windows[name].length, left=-windows[name].length, height=0.6,
                      color=palette(number % palette.N), alpha=0.75)  # fmt: skip
            labels.append(name)
        _draw_edges(axes, [windows[name] for name in tree], first - 0.45, len(labels) - 0.55)
    axes.set_yticks(range(len(labels)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(-span * 1.02, span * 0.01)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _before(at)))
    trees, hidden = len(plan.plan.trees), len(windows) - len(labels)
    more = f", {hidden} queries not shown" if hidden else ""
    made = f"{len(windows)} queries in {trees} tree{'s' * (trees != 1)} by {plan.plan.planner}"
    axes.set_title(f"{plan.pool.about}: {made}{more}", loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)


def _before(at: float) -> str:
    seconds = round(-at / 1_000_000)
    return f"-{duration_text(seconds * 1_000_000)}" if seconds > 0 else "now"


def _draw_edges(axes: Axes, windows: Sequence[Window], top: float, bottom: float) -> None:
    """Where partials of the tree end, over all that a window of it holds; times are before a report of all."""
    longest = max(window.length for window in windows)
    edges: set[int] = set()
    for slide, shift in frozenset[tuple[int, int]]().union(*map(phases_of, windows)):
        if longest // slide > EDGES_SHOWN:
            axes.axhspan(top, bottom, color="0.9", zorder=0)
            return
        edges |= set(range(shift - slide * (longest // slide + 1), 1, slide))
    axes.vlines([at for at in edges if -longest <= at <= 0], top, bottom, color="black", linewidth=0.6, zorder=3)
