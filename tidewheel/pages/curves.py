"""Answers over time as SVG: a drawing for each number, a line for each group, broken by gaps.

An answer that lacks some of its slots is a hollow point. Groups are those that `answer_plot` would draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidewheel.figures.answer_plot import GROUPS_SHOWN, AnswerPlot, Series
from tidewheel.figures.heatmap import short_count
from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.printable import counted
from tidewheel.pages.markup import Markup, element, together
from tidewheel.pages.shell import COLOURS
from tidewheel.views.figures import short_iso

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 150, 72, 8, 20


@dataclass(frozen=True)
class Field:
    """From moments and values to places in the drawing."""

    times: Sequence[int]
    low: float
    high: float

    def place(self, at: int, value: float) -> tuple[float, float]:
        span = self.times[-1] - self.times[0]
        x = _LEFT + (_WIDTH - _LEFT - 8) * ((at - self.times[0]) / span if span else 0.5)
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return round(x, 1), round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share, 1)


def curves(plot: AnswerPlot) -> Markup:
    """All numbers of a query's answers; a group has the same colour in all of them."""
    times = sorted({micros(row["window_end"]) for row in plot.rows})
    if not times or not plot.numbers:
        return element("p", "no number to draw", class_="dim")
    lacking = {(plot.name_of(row), micros(row["window_end"])) for row in plot.rows if row.get("complete", 1.0) < 1}
    colours: dict[str, int] = {}
    drawn = [curve(output, plot.series(output), times, lacking, colours) for output in plot.numbers]
    note = "hollow: not every slot of it could be counted" if lacking else None
    return together([*drawn, element("p", note, class_="dim")])


def curve(
    output: str,
    series: Mapping[str, Series],
    times: Sequence[int],
    lacking: set[tuple[str, int]],
    colours: dict[str, int],
) -> Markup:
    """One number: a line for each name. `colours` are those that names have already."""
    shown = dict(list(series.items())[:GROUPS_SHOWN])
    values = [value for one in shown.values() for value in one.values()]
    field = Field(times, min(0.0, *values), max(0.0, *values))
    parts = [*_axes(field)]
    for name, one in shown.items():
        colour = f"c{colours.setdefault(name, len(colours)) % COLOURS}"
        parts.append(_line(name, one, field, {at for group, at in lacking if group == name}, colour))
    more = f"and {counted(len(series) - len(shown), 'group')} with smaller numbers" if len(series) > len(shown) else ""
    legend = [
        element("span", element("span", "■ ", class_=f"c{colour % COLOURS}"), name)
        for name, colour in colours.items()
        if name in shown and name
    ]
    drawing = element(
        "svg", *parts, width=_WIDTH, height=_HEIGHT, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=output
    )
    return together([element("p", output), drawing, element("p", *legend, more, class_="legend")])


def _axes(field: Field) -> Iterator[Markup]:
    for value in {field.low, field.high}:
        _, y = field.place(field.times[0], value)
        yield element("line", x1=_LEFT, x2=_WIDTH, y1=y, y2=y, class_="axis")
        yield element("text", _short(value), x=_LEFT - 6, y=y + 4, text_anchor="end", class_="dim")
    yield element("text", short_iso(field.times[0]), x=_LEFT, y=_HEIGHT - 4, class_="dim")
    yield element("text", short_iso(field.times[-1]), x=_WIDTH, y=_HEIGHT - 4, text_anchor="end", class_="dim")


def _short(value: float) -> str:
    """As the margin has room for.

    >>> _short(1008.0), _short(0.125), _short(-1_595_710.0)
    ('1,008', '0.125', '-1.60M')
    """
    sign = "-" if value < 0 else ""
    return f"{sign}{short_count(round(abs(value)))}" if abs(value) >= 100_000 else f"{value:,.6g}"


def _line(name: str, series: Series, field: Field, lacking: set[int], colour: str) -> Markup:
    parts = [
        element("polyline", points=" ".join(f"{x},{y}" for x, y in run), class_=colour) for run in _runs(series, field)
    ]
    for at, value in sorted(series.items()):
        x, y = field.place(at, value)
        title = element("title", f"{name + ': ' if name else ''}{value:,.6g} at {short_iso(at)}")
        hollow = " lacking" if at in lacking else ""
        parts.append(element("circle", title, cx=x, cy=y, r=3 if hollow else 1.8, class_=colour + hollow))
    return element("g", *parts)


def _runs(series: Series, field: Field) -> Iterator[list[tuple[float, float]]]:
    """The points between gaps: a gap is a report that other groups have."""
    run: list[tuple[float, float]] = []
    for at in field.times:
        if at in series:
            run.append(field.place(at, series[at]))
        elif run:
            yield run
            run = []
    if run:
        yield run
