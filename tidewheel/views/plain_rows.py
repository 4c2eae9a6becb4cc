"""Rows as a table for logs and pipes: what rich draws there, without loading it, which takes longer than the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from unicodedata import combining, east_asian_width


def plain_rows(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int]) -> str:
    """A table whose columns stand to the right, but for those at the positions in `left`.

    >>> print(plain_rows(["key", "n"], [["a", "1"], ["b", "20"]], {0}))
    key   n
    ───────
    a     1
    b    20
    """
    widths = [max(map(cells, column)) for column in zip(headers, *rows, strict=True)]
    lines = [_line(row, widths, left) for row in (headers, *rows)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([lines[0], rule, *lines[1:]])


def cells(text: str) -> int:
    """How many places a terminal gives to a text."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _line(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    places = []
    for position, (text, width) in enumerate(zip(row, widths, strict=True)):
        blank = " " * (width - cells(text))
        places.append(text + blank if position in left else blank + text)
    return "  ".join(places)
