"""A window query as a document describes it: streams, tables, joins, selections, the price of a join, and bounds.

Keys are those of `KEYS`; a key that is not known is named with those that are. `distinct` is the prior for a pair that
was never measured: one over the larger number of distinct values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.regimes import capacity
from tidewheel.queries.literature.optimiser.window_query import (
    JoinMethod,
    Selection,
    WindowQuery,
    WindowStream,
    tau,
    window_query,
)

KEYS = {
    "": ("budget", "headroom", "drop_price", "join_price", "stream", "table", "join", "selection", "method"),
    "stream": ("name", "rate", "rows", "length", "keep_at_least", "weight"),
    "table": ("name", "rows"),
    "join": ("on", "selectivity", "distinct"),
    "selection": ("name", "on", "selectivity", "price"),
    "method": ("name", "probe", "insert", "invalidate", "per_row", "per_match"),
}


@dataclass(frozen=True)
class Described:
    """A query, the budget of the document, and what is asked of drops."""

    query: WindowQuery
    budget: float | None
    headroom: float
    drop_price: float
    least: dict[str, float]
    weights: dict[str, float]

    def time(self, budget: float | None) -> float:
        """Return the time there is in a unit of time: of a budget that is given, of the document's, or all of it."""
        given = budget if budget is not None else self.budget
        return float(capacity(1.0 if given is None else given, self.headroom, self.drop_price, self.query))


def described(document: Mapping[str, Any]) -> Described:
    """Read a document.

    >>> streams = [{"name": "A", "rate": 5, "rows": 10}, {"name": "B", "rate": 2, "length": 3}]
    >>> told = described({"join_price": 0.01, "stream": streams})
    >>> [one.window for one in told.query.streams], told.time(None)
    ([10, 6], 1.0)
    """
    top = _Table("", document)
    streams = [_Table("stream", one) for one in top.tables("stream")]
    query = window_query(
        (*map(_stream, streams), *(_table(_Table("table", one)) for one in top.tables("table"))),
        tuple(_join(_Table("join", one)) for one in top.tables("join")),
        tuple(_selection(_Table("selection", one)) for one in top.tables("selection")),
        _methods(top),
    )
    return Described(
        query,
        top.number("budget"),
        top.number("headroom") or 0.0,
        top.number("drop_price") or 0.0,
        {one.text("name"): least for one in streams if (least := one.number("keep_at_least")) is not None},
        {one.text("name"): weight for one in streams if (weight := one.number("weight")) is not None},
    )


class _Table:
    """A part of the document whose keys are known."""

    def __init__(self, kind: str, content: Any) -> None:
        self.kind, self.content = kind, content
        if not isinstance(content, Mapping):
            raise InvalidInput(f"{self.place} is {content!r}", f"it has keys: {', '.join(KEYS[kind])}")
        for key in content:
            if key not in KEYS[kind]:
                raise InvalidInput(f"{self.place} has no key '{key}'", f"it has {', '.join(KEYS[kind])}")

    @property
    def place(self) -> str:
        name = self.content.get("name") if isinstance(self.content, Mapping) else None
        return " ".join(["a" if not name else "the", self.kind or "description", *([f"'{name}'"] if name else [])])

    def tables(self, key: str) -> list[Any]:
        found = self.content.get(key, [])
        if not isinstance(found, list):
            raise InvalidInput(f"'{key}' is no list", f"write each as [[{key}]]")
        return found

    def text(self, key: str) -> str:
        found = self.content.get(key)
        if not isinstance(found, str) or not found or set(found) & set(" ()[]"):
            raise InvalidInput(
                f"{self.place} has {key} = {found!r}", "give a name without spaces, parentheses and brackets"
            )
        return found

    def number(self, key: str) -> float | None:
        found = self.content.get(key)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int | float) or math.isnan(found)):
            raise InvalidInput(f"{self.place} has {key} = {found!r}", "give a number")
        return found

    def needed(self, key: str) -> float:
        found = self.number(key)
        if found is None:
            raise InvalidInput(f"{self.place} has no {key}", f"give its {key}")
        return found

    def pair(self, key: str) -> list[Any]:
        found = self.content.get(key)
        if not isinstance(found, list) or len(found) != 2:
            raise InvalidInput(f"{self.place} has {key} = {found!r}", "give two, one for each side")
        return found


def _stream(one: _Table) -> WindowStream:
    return WindowStream(one.text("name"), one.needed("rate"), one.number("rows"), one.number("length"))


def _table(one: _Table) -> WindowStream:
    return WindowStream(one.text("name"), rows=one.needed("rows"), is_table=True)


def _join(one: _Table) -> tuple[str, str, float]:
    left, right = map(str, one.pair("on"))
    if "distinct" not in one.content:
        return left, right, one.needed("selectivity")
    counts = one.pair("distinct")
    if "selectivity" in one.content or any(not isinstance(count, int) or count < 1 for count in counts):
        raise InvalidInput(
            f"the join of '{left}' and '{right}' has distinct = {counts}",
            "give how many distinct values either side has, or a selectivity in its place",
        )
    return left, right, 1 / max(counts)


def _selection(one: _Table) -> Selection:
    return Selection(one.text("name"), one.text("on"), one.needed("selectivity"), one.number("price") or 0)


def _methods(top: _Table) -> tuple[JoinMethod, ...]:
    price, methods = top.number("join_price"), [_Table("method", one) for one in top.tables("method")]
    if (price is None) is not bool(methods):
        raise InvalidInput(
            "the description needs one price of joins" if price is None else "joins have a price and methods",
            "give join_price, the time for each tuple that comes into a join, or [[method]] with prices of its own",
        )
    return (tau(price),) if price is not None else tuple(map(_method, methods))


def _method(one: _Table) -> JoinMethod:
    prices = {key: one.number(key) or 0 for key in KEYS["method"][1:]}
    return JoinMethod(one.text("name"), **prices)
