"""Hash functions that are the same in every process: Python's own differ for texts."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any


def hashed(value: Any, number: int) -> int:
    """Return 64 bits of a value by the hash function of this number.

    >>> hashed("a", 1) == hashed("a", 1) != hashed("a", 2)
    True
    """
    digest = blake2b(repr(value).encode(), digest_size=8, salt=number.to_bytes(8, "big"))
    return int.from_bytes(digest.digest(), "big")
