"""The grid of sub-indices as a heat map: the fuller a sub-index, the stronger its colour, with its four figures."""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.figures.heatmap import short_count
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.status import Status, SubIndexStatus
from tidewheel.pages.markup import Markup, element, together
from tidewheel.views.definitions import generation_text
from tidewheel.views.figures import size

_WIDTH, _HEIGHT, _LEFT, _TOP = 104, 66, 30, 18
_STRONGEST = 0.62  # figures are read on it


def grids(status: Status) -> Markup:
    """The grids of all generations that hold data, and of the current one."""
    fullest = max((square.rows for square in status.grid), default=0)
    return together(_grid(generation, status, fullest) for generation in status.generations)


def _grid(generation: Generation, status: Status, fullest: int) -> Markup:
    at = {(square.g, square.e): square for square in status.grid if square.generation == generation.number}
    rows, columns = generation.layout.insertion_classes, generation.layout.expiration_classes
    parts = [element("text", f"e{e}", x=_LEFT + e * _WIDTH + 6, y=12, class_="dim") for e in range(columns)]
    for g in range(rows):
        parts.append(element("text", f"g{g}", x=4, y=_TOP + g * _HEIGHT + 16, class_="dim"))
        parts += [_square(at.get((g, e)), g, e, fullest) for e in range(columns)]
    width, height = _LEFT + columns * _WIDTH + 2, _TOP + rows * _HEIGHT + 2
    drawn = element("svg", *parts, width=width, height=height, viewBox=f"0 0 {width} {height}", role="img")
    title = f"layout {generation.number}: {generation_text(generation)}"
    return together([element("p", title, class_="dim"), element("div", drawn, class_="wide")])


def _square(square: SubIndexStatus | None, g: int, e: int, fullest: int) -> Markup:
    x, y = _LEFT + e * _WIDTH, _TOP + g * _HEIGHT
    place = {"x": x, "y": y, "width": _WIDTH - 3, "height": _HEIGHT - 3, "rx": 3}
    parts = [element("rect", **place, class_="square")]
    if square is not None and square.rows:
        heat = f"{_STRONGEST * square.rows / fullest:.3f}"
        parts.append(element("rect", **place, class_="heat", fill_opacity=heat))
        parts += [element("text", one, x=x + 7, y=y + 15 + 14 * n) for n, one in enumerate(_lines(square))]
    return element("g", *parts)


def _lines(square: SubIndexStatus) -> Iterator[str]:
    yield f"{short_count(square.rows)} rows"
    yield size(square.bytes)
    yield f"{square.dead_share:.0%} dead"
    yield counted(square.runs, "run")
