"""The grid of sub-indices as a heat map for the terminal: the fuller a sub-index, the lighter its square.

    layout 0: 1×4 round_robin, expire_rebuild            columns e: expiration classes, rows g: insertion classes

              e0            e1            e2            e3
    g0   ▒▒ 10.1k      ▓▓ 12.3k      ██ 14.0k      ░░  4.2k        records
         412 kB        500 kB        571 kB        171 kB          bytes
         3% dead       0% dead       0% dead       12% dead        share that has expired, still stored
         2 runs        3 runs        1 run         4 runs          sorted runs: a probe looks into each

Squares shrink with the space there is: all four figures, or the records alone, or the shade alone. After a commit
a square may carry a mark: ● files of it were rewritten or dropped, + files were only appended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.state import SubIndex
from tidewheel.indexing.rules.status import SubIndexStatus
from tidewheel.views.definitions import generation_text
from tidewheel.views.figures import size

CHANGED, APPENDED = "●", "+"
_SHADES = "░▒▓█"
# From nearly empty to full: dark to light, told apart without seeing colours too.
_BACKGROUNDS = (17, 18, 24, 30, 36, 72, 108, 144, 180, 222)
_DARK_UNTIL = 4
_WIDTHS = (14, 9, 3)  # of a square with all figures, with the records, with the shade alone


def marks_of(plan: Plan, receipt: Receipt) -> dict[SubIndex, str]:
    """Mark each sub-index that a commit touched."""
    changed = {change.file.subindex for change in (*plan.rewritten, *plan.dropped)}
    return {subindex: CHANGED if subindex in changed else APPENDED for subindex in receipt.subindices_touched}


@dataclass(frozen=True)
class HeatMap:
    """The grids of all generations that hold data, and of the current one."""

    generations: Sequence[Generation]
    squares: Collection[SubIndexStatus]
    marks: Mapping[SubIndex, str] = field(default_factory=dict)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        at = {(square.generation, square.g, square.e): square for square in self.squares}
        fullest = max((square.rows for square in self.squares), default=0)
        for generation in self.generations:
            is_current = generation == self.generations[-1]
            if is_current or any(subindex[0] == generation.number for subindex in at):
                yield _grid(generation, at, self.marks, fullest, options.max_width)


def _grid(
    generation: Generation, at: dict[SubIndex, SubIndexStatus], marks: Mapping[SubIndex, str], fullest: int, width: int
) -> RenderableType:
    layout = generation.layout
    square_width = _square_width(layout.expiration_classes, width)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column()
    for _ in range(layout.expiration_classes):
        grid.add_column(no_wrap=True)
    if square_width > _WIDTHS[2]:
        grid.add_row("", *(f"e{e}".center(square_width - 1) for e in range(layout.expiration_classes)))
    for g in range(layout.insertion_classes):
        squares = []
        for e in range(layout.expiration_classes):
            subindex = (generation.number, g, e)
            squares.append(_square(at.get(subindex), marks.get(subindex, " "), fullest, square_width - 1))
        grid.add_row(f"g{g}", *squares)
    return Group(Text(f"layout {generation.number}: {generation_text(generation)}", style="dim"), grid)


def _square_width(columns: int, width: int) -> int:
    """The largest square that fits so many times."""
    room = max(width - 6, 0) // columns
    return next((one for one in _WIDTHS if one <= room), _WIDTHS[-1])


def _square(square: SubIndexStatus | None, mark: str, fullest: int, width: int) -> Text:
    if square is None or not square.rows:
        lines, style = [f"{mark}·"], "dim"
    else:
        heat = square.rows / fullest
        background = _BACKGROUNDS[min(int(heat * len(_BACKGROUNDS)), len(_BACKGROUNDS) - 1)]
        ink = "white" if background in _BACKGROUNDS[:_DARK_UNTIL] else "black"
        style = f"{'bold ' if mark == CHANGED else ''}{ink} on color({background})"
        lines = list(_lines(square, mark, _SHADES[min(int(heat * 4), 3)], width))
    while len(lines) < (4 if width >= _WIDTHS[0] - 1 else 1):
        lines.append("")
    return Text("\n".join(line.ljust(width) for line in lines), style=style)


def _lines(square: SubIndexStatus, mark: str, shade: str, width: int) -> Iterable[str]:
    if width < _WIDTHS[1] - 1:
        yield mark + shade
        return
    yield f"{mark}{shade * 2 if width >= _WIDTHS[0] - 1 else shade} {short_count(square.rows)}"
    if width >= _WIDTHS[0] - 1:
        yield f" {size(square.bytes)}"
        yield f" {square.dead_share:.0%} dead"
        yield f" {square.runs} run{'' if square.runs == 1 else 's'}"


def short_count(number: int) -> str:
    """A number in at most five characters.

    >>> short_count(950), short_count(12_345), short_count(7_000_000)
    ('950', '12.3k', '7.00M')
    """
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.3g}k"
    return f"{number / 1e6:.2f}M"
