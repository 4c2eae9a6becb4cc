"""The one kind of table that all views use: no frame, numbers to the right."""

from __future__ import annotations

from collections.abc import Collection

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tidewheel.indexing.printable import printable


def plain_table(*headers: str, left: Collection[int] = (), title: str | None = None) -> Table:
    """A table whose columns stand to the right, but for those at the positions in `left`."""
    table = Table(
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left", pad_edge=False, show_edge=False
    )
    for position, header in enumerate(headers):
        table.add_column(printable(header), justify="left" if position in left else "right", overflow="fold")
    return table
