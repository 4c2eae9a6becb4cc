"""No Share: a tree for each request. What all savings are measured against.

No listing is printed: one tree each.
"""

from __future__ import annotations

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner


def no_share(loom: Loom, _: Draw) -> list[Tree]:
    return list(loom.singles)


NO_SHARE = Planner("No Share", "a tree for each query", no_share)
