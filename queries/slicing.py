"""Three ways to cut a stream into fragments, so that every window is a run of whole fragments.

- Panes cuts at every multiple of gcd(length, slide): the simplest, and the most fragments.
- Pairs cuts where windows end and where they begin: at most two fragments a slide, first the one of length
  slide - (length mod slide), then the one of length mod slide. (Some texts name them the other way round; a window
  that reports at a multiple of the slide begins that much before one, so only this order has an edge there.)
- Cutty cuts only where windows begin: one fragment a slide, and a report may fall inside the open one.
Departs from the printed listing: of the two fragments of Pairs, slide - (length mod slide) comes first.
"""

from __future__ import annotations

from enum import StrEnum
from math import gcd

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.windows import Window

EDGES_MAX = 10_000_000


class Slicing(StrEnum):
    PANES = "Panes"
    PAIRS = "Pairs"
    CUTTY = "Cutty"


def edge_offsets(window: Window, slicing: Slicing) -> list[int]:
    """The edges of one slide, modulo the slide, ascending.

    >>> edge_offsets(Window(14, 8), Slicing.PAIRS), edge_offsets(Window(14, 8), Slicing.CUTTY)
    ([0, 2], [2])
    """
    end, begin = window.offset % window.slide, (window.offset - window.length) % window.slide
    if slicing is Slicing.CUTTY:
        return [begin]
    if slicing is Slicing.PAIRS:
        return sorted({end, begin})
    pane = gcd(window.length, window.slide)
    if window.slide // pane > EDGES_MAX:
        raise InvalidInput(
            f"Panes cuts a slide of {window.slide} {window.unit} into {window.slide // pane} panes of {pane}",
            "use Pairs, or a range and a slide with a larger common divisor",
        )
    return list(range(end % pane, window.slide, pane))
