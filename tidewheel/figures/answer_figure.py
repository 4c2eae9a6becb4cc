"""Answers over time as a picture: one plot below the other for each number, a line for each group, broken by gaps.

An answer that lacks some of its slots is a hollow point. Groups are those that `answer_plot` would draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.figures.answer_plot import GROUPS_SHOWN, AnswerPlot
from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIX = ".png"
_WIDTH, _HEIGHT = 9.0, 3.2  # inches; the height is that of one plot
_COLOURS = "tab20"


def check_path(path: Path) -> None:
    """Refuse what is no picture's name: an argument after --plot is taken for one."""
    if path.suffix.lower() != SUFFIX:
        raise InvalidInput(
            f"--plot {path}: the name of a picture ends in {SUFFIX}",
            "give such a name; to draw in the terminal, write --plot last",
        )


def draw(plot: AnswerPlot, title: str, path: Path) -> None:
    """Write the picture; `InvalidInput` if there is nothing to draw, `NotInstalled` if nothing to draw with."""
    numbers = plot.numbers
    if not numbers:
        raise InvalidInput("no number to draw", "choose other reports with --last or --at; without --plot all is told")
    with needed("for a picture (--plot without a name draws in the terminal)"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _HEIGHT * len(numbers)), layout="constrained")
    all_axes = figure.subplots(len(numbers), 1, sharex=True, squeeze=False)[:, 0]
    colours: dict[str, int] = {}
    for axes, output in zip(all_axes, numbers, strict=True):
        _draw_output(axes, plot, output, colours)
    all_axes[0].set_title(title, loc="left")
    some_lack = any(row.get("complete", 1.0) < 1 for row in plot.rows)
    all_axes[-1].set_xlabel("end of the window, UTC" + some_lack * "; hollow: not every slot of it could be counted")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _draw_output(axes: Axes, plot: AnswerPlot, output: str, colours: dict[str, int]) -> None:
    """`colours` are those of the groups, by number: a group has the same in all plots."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.ticker import EngFormatter

    series, palette = plot.series(output), colormaps[_COLOURS]
    times = sorted({micros(row["window_end"]) for row in plot.rows})
    lacking = {(plot.name_of(row), micros(row["window_end"])) for row in plot.rows if row.get("complete", 1.0) < 1}
    moments = np.array(times, "datetime64[us]")
    for name, known in list(series.items())[:GROUPS_SHOWN]:
        values = np.array([known.get(at, np.nan) for at in times])
        hollow = np.array([(name, at) in lacking for at in times])
        colour = palette(colours.setdefault(name, len(colours)) % palette.N)
        axes.plot(moments, values, marker="o", markersize=3, color=colour, label=name)
        axes.plot(moments[hollow], values[hollow], "o", markersize=6, markerfacecolor="white", markeredgecolor=colour)
    hidden = len(series) - GROUPS_SHOWN
    axes.set_ylabel(output if hidden <= 0 else f"{output}\n({hidden:,} more groups, smaller)")
    axes.set_ylim(bottom=min(0.0, *(min(one.values()) for one in series.values())) * 1.05)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if plot.groups:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
