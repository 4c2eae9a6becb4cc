"""The choice of the hand that moves rows: this process or Spark, by how much it reads and from where.

Spark takes seconds to start, and then moves large files faster, on all cores: twice as fast on two, by `python -m
benchmarks.process.hands`. Up to some size, this process is done before Spark would have started and caught up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidewheel.indexing.core.layouts import MEBIBYTE
from tidewheel.indexing.errors import InvalidInput

# What is read from a local disk, compressed: here a cold Spark is even at about 200 MiB, a warm one at 30.
LOCAL_BYTES_MAX = 128 * MEBIBYTE
# From an object store every byte comes through this process and goes back.
STORE_BYTES_MAX = 64 * MEBIBYTE


class HandKind(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


@dataclass(frozen=True)
class Choice:
    """A hand and the reason for it."""

    kind: HandKind
    reason: str
    asked: bool = False

    def __str__(self) -> str:
        return f"{self.kind.value} ({self.reason})"


def choose_hand(read_bytes: int, *, is_local: bool, asked: str = "") -> Choice:
    """Return the hand for a piece of work that reads so many bytes of files.

    >>> str(choose_hand(3 * MEBIBYTE, is_local=True))
    'local (3.0 MiB to read, up to 128 on a local disk)'
    >>> str(choose_hand(100 * MEBIBYTE, is_local=False))
    'spark (100.0 MiB to read, more than 64 on an object store)'
    """
    if asked:
        return Choice(asked_kind(asked), "as asked", asked=True)
    most = LOCAL_BYTES_MAX if is_local else STORE_BYTES_MAX
    fits = read_bytes <= most
    place = "on a local disk" if is_local else "on an object store"
    said = f"{read_bytes / MEBIBYTE:.1f} MiB to read, {'up to' if fits else 'more than'} {most // MEBIBYTE} {place}"
    return Choice(HandKind.LOCAL if fits else HandKind.SPARK, said)


def asked_kind(asked: str) -> HandKind:
    """Return the hand of a name that somebody gave."""
    try:
        return HandKind(asked)
    except ValueError:
        raise InvalidInput(
            f"there is no hand {asked!r}", f"set TIDEWHEEL_HAND to {' or '.join(HandKind)}, or leave it unset"
        ) from None
