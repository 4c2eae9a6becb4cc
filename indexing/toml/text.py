"""Values written as TOML: for messages, which show what the file holds, and for the reference."""

from __future__ import annotations

import json
import re
from datetime import date, time

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(value: object, depth_max: int = 8) -> str:
    """Return a value as a TOML file would hold it, in one line; a deeper nested part becomes an ellipsis.

    >>> toml_text({"header": True, "a.b": ["x", 1]})
    '{ header = true, "a.b" = ["x", 1] }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | dict):
        return _nested_text(value, depth_max) if depth_max else "…"
    if isinstance(value, int):
        # Python refuses to write numbers of thousands of digits in base 10.
        return hex(value) if value.bit_length() > 64 else str(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _nested_text(value: list[object] | dict[str, object], depth_max: int) -> str:
    if isinstance(value, list):
        return f"[{', '.join(toml_text(one, depth_max - 1) for one in value)}]"
    pairs = ", ".join(f"{_key_text(key)} = {toml_text(one, depth_max - 1)}" for key, one in value.items())
    return f"{{ {pairs} }}" if pairs else "{}"


def _key_text(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
