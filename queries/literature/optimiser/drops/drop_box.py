"""Run a drop box: keep a tuple if the hash of seed, stream and tuple is below x of the hash's range.

The same tuples are kept by a retry, a replay and any engine that hashes alike, and a larger x keeps all that a smaller
one does. In a self-join the stream is the alias, so that both sides are drawn apart. Constant time.
"""

from __future__ import annotations

from hashlib import blake2b

RANGE = 2**64


def keeps(seed: int, stream: str, tuple_id: object, share: float) -> bool:
    """Return whether a tuple is kept.

    >>> sum(keeps(7, "A", number, 0.25) for number in range(1000))
    263
    """
    digest = blake2b(f"{seed}\0{stream}\0{tuple_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * RANGE
