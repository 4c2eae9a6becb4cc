"""What can be asked of an archive, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput


@dataclass(frozen=True)
class Probe:
    """The records of one key; of a composite key, the first columns may do.

    >>> Probe("10.0.0.7"), Probe(("tenant", 5))
    (Probe(key='10.0.0.7'), Probe(key=('tenant', 5)))
    """

    key: Any


@dataclass(frozen=True)
class Range:
    """The records with a key in [low, high); None is no bound."""

    low: Any = None
    high: Any = None


@dataclass(frozen=True)
class Scan:
    """All records, or those for which an SQL expression over the columns holds."""

    where: str | None = None


@dataclass(frozen=True)
class Query:
    """One SELECT over the view `live`."""

    text: str


Question = Probe | Range | Scan | Query


def key_tuple(key: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """A key as its columns' values, a single value standing for the first."""
    values = tuple(key) if isinstance(key, tuple | list) else (key,)
    if not 0 < len(values) <= len(names):
        raise InvalidInput(
            f"the key {key!r} has {len(values)} values, the archive's key has {len(names)}: {', '.join(names)}",
            "give a value for each, or for the first ones",
        )
    return values
