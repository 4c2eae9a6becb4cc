"""The planner By Group needs no figures: requests of one group-by share a tree, others do not.

No listing is printed: ours.
"""

from __future__ import annotations

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner


def by_group(loom: Loom, _: Draw) -> list[Tree]:
    found: dict[frozenset[str], list[int]] = {}
    for position, request in enumerate(loom.workload.requests):
        found.setdefault(request.groups, []).append(position)
    return [loom.tree(members) for members in found.values()]


BY_GROUP = Planner("By Group", "a tree for each group-by", by_group)
