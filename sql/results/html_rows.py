"""Rows as a notebook shows them: an HTML table of the first ones, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from tidewheel.indexing.printable import printable

ROWS_SHOWN = 20


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], said: str) -> str:
    """
    >>> html_table(["a<b"], [(None,)], "1 row")
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td></td></tr></tbody></table><p>1 row</p>'
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{_text(said)}</p>"


def _text(value: Any) -> str:
    return "" if value is None else escape(printable(str(value)))
