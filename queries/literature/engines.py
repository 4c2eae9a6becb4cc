"""All engines of the literature by name: what `tidewheel derive trace --engine` knows."""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.family import Joins
from tidewheel.queries.literature.patterns.family import Patterns
from tidewheel.queries.literature.trace import Family, Played, Trace

FAMILIES: tuple[Family, ...] = (Patterns(), Joins())
NAMES: tuple[str, ...] = tuple(name for family in FAMILIES for name in family.names)


def trace(name: str, played: Played) -> Trace:
    """Play a plan through the engine of this name."""
    for family in FAMILIES:
        if family.knows(name):
            return family.trace(name, played)
    raise InvalidInput(f"no engine is named {name}", f"engines: {', '.join(NAMES)}")
