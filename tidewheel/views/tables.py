"""The one kind of table that all views use: no frame, numbers to the right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from tidewheel.indexing.printable import printable

_UNBOUND = 1_000_000
_LAID_OUT_MAX = 200


def plain_table(*headers: str, left: Collection[int] = (), title: str | None = None) -> Table:
    """A table whose columns stand to the right, but for those at the positions in `left`."""
    table = Table(
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left", pad_edge=False, show_edge=False
    )
    for position, header in enumerate(headers):
        table.add_column(printable(header), justify="left" if position in left else "right", overflow="fold")
    return table


def long_table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> RenderableType:
    """A table of any length: a long one is plain lines, as rich takes a second to lay out 2,000 rows."""
    if len(rows) <= _LAID_OUT_MAX:
        table = plain_table(*headers, left=left)
        for row in rows:
            table.add_row(*row)
        return table
    widths = [max(map(cell_len, cells)) for cells in zip(headers, *rows, strict=True)]
    lines = [headers, ["─" * width for width in widths], *rows]
    return Text("\n".join(_line(cells, widths, left) for cells in lines), no_wrap=True, overflow="ignore")


def _line(cells: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    """One line of a table whose columns are so wide."""
    padding = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    pairs = zip(cells, padding, strict=True)
    return " ".join(cell + pad if at in left else pad + cell for at, (cell, pad) in enumerate(pairs)).rstrip()


@dataclass(frozen=True)
class Rows:
    """Rows of data as a table; where the screen is too narrow for one, with a line for each value instead.

    A table that is squeezed breaks every moment and name in pieces, which nobody can read or copy.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = plain_table(*self.headers, left=self.left)
        for row in self.rows:
            table.add_row(*map(Text, row))
        unbound = options.update(max_width=_UNBOUND)
        if console.measure(table, options=unbound).maximum <= options.max_width:
            yield table
            return
        for number, row in enumerate(self.rows, 1):
            yield Text(f"── {number} ".ljust(min(40, options.max_width), "─"))
            values = Table.grid(padding=(0, 2, 0, 0))
            values.add_column(style="bold", overflow="fold")
            values.add_column(overflow="fold")
            for header, value in zip(self.headers, row, strict=True):
                values.add_row(Text(printable(header)), Text(value))
            yield values
