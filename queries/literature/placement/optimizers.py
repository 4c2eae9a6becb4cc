"""All thirteen optimizers that place trees on nodes, by name."""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.placement.by_turns import BY_TURNS
from tidewheel.queries.literature.placement.inserted import INSERTED
from tidewheel.queries.literature.placement.placed_nodes import Optimizer
from tidewheel.queries.literature.placement.to_lowest import TO_LOWEST
from tidewheel.queries.literature.placement.to_nodes import TO_NODES

OPTIMIZERS: tuple[Optimizer, ...] = (*BY_TURNS, *TO_LOWEST, *TO_NODES, *INSERTED)


def optimizer_named(name: str) -> Optimizer:
    """
    >>> optimizer_named("wg_tn").about
    'woven, then the dearest first to the lowest node'
    """
    found = next((one for one in OPTIMIZERS if one.name.lower() == name.lower()), None)
    if found is None:
        raise InvalidInput(f"no optimizer {name!r}", f"there are {', '.join(one.name for one in OPTIMIZERS)}")
    return found
