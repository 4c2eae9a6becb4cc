"""Plain Python values as text and back, exactly: those of a technique's state, which JSON alone does not tell apart.

    >>> text = value_text({"nodes": deque([(3, Decimal("1.50"))]), 5: frozenset({"a"})})
    >>> value_of(text)
    {'nodes': deque([(3, Decimal('1.50'))]), 5: frozenset({'a'})}

Nothing in such a text is run. A value of another type is refused, and so are more values than a text should hold.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tidewheel.indexing.errors import InvalidInput

VALUES_MAX = 1_000_000
_AS_THEY_ARE = (type(None), bool, int, float, str)
# By a value's type: its mark, and what JSON holds instead; by the mark, the way back. The first type that fits counts.
_WRITTEN: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (tuple, "tuple", list),
    (list, "list", list),
    (deque, "deque", list),
    (frozenset, "set", lambda value: sorted(value, key=repr)),
    (dict, "dict", lambda value: [list(pair) for pair in value.items()]),
    (Decimal, "decimal", str),
    (bytes, "bytes", bytes.hex),
    (datetime, "moment", datetime.isoformat),
    (date, "day", date.isoformat),
)
_READ: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple, "list": list, "deque": deque, "set": frozenset, "dict": dict, "decimal": Decimal,
    "bytes": bytes.fromhex, "moment": datetime.fromisoformat, "day": date.fromisoformat,
}  # fmt: skip


def value_text(value: Any) -> str:
    """A value as text; `InvalidInput` if it is not plain, or too much."""
    return json.dumps(_marked(value, iter(range(VALUES_MAX))), separators=(",", ":"))


def value_of(text: str) -> Any:
    """Read a text of `value_text`. Any other text raises `ValueError` or `KeyError`."""
    return _unmarked(json.loads(text))


def _marked(value: Any, room: Iterator[int]) -> Any:
    if next(room, None) is None:
        raise InvalidInput(f"more than {VALUES_MAX:,} values in one text")
    if type(value) in _AS_THEY_ARE:
        return value
    for kind, mark, write in _WRITTEN:
        if isinstance(value, kind):
            held = write(value)
            return [mark, [_marked(one, room) for one in held] if isinstance(held, list) else held]
    raise InvalidInput(f"a {type(value).__name__} is no plain value")


def _unmarked(held: Any) -> Any:
    if not isinstance(held, list):
        return held
    mark, content = held
    return _READ[mark]([_unmarked(one) for one in content] if isinstance(content, list) else content)
