"""HTML and SVG from values: whatever is not markup already is escaped, so no text of anybody can become any.

>>> element("p", "1 < 2 & ", element("b", "so"), title='"x"')
'<p title="&quot;x&quot;">1 &lt; 2 &amp; <b>so</b></p>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tidewheel.indexing.printable import printable


class Markup(str):
    """Text that is markup, because it was made here."""

    __slots__ = ()


Content = str | int | None  # None is nothing
_VOID = ("meta", "br", "circle", "rect", "line", "polyline")


def text(content: Content) -> Markup:
    """Escaped, and without what turns or hides the text around it; markup stays as it is."""
    if content is None:
        return Markup()
    return content if isinstance(content, Markup) else Markup(escape(printable(str(content))))


def element(name: str, /, *contents: Content, **attributes: str | float | None) -> Markup:
    """`class_` is the attribute class, `font_size` is font-size; an attribute that is None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not contents:
        return Markup(f"<{name}{said}/>")
    return Markup(f"<{name}{said}>{together(contents)}</{name}>")


def together(contents: Iterable[Content]) -> Markup:
    return Markup("".join(map(text, contents)))


def table(headers: Sequence[Content], rows: Iterable[Sequence[Content]], class_: str | None = None) -> Markup:
    """A row that is an element already is taken as it is."""
    head = element("tr", *(element("th", one) for one in headers))
    body = [row if isinstance(row, Markup) else element("tr", *(element("td", one) for one in row)) for row in rows]
    shown = element("table", element("thead", head), element("tbody", *body), class_=class_)
    return element("div", shown, class_="wide")
