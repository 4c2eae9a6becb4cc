"""Shared: one tree for all, as Shared Time Slices has it.

No listing is printed: one tree.
"""

from __future__ import annotations

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner


def shared(loom: Loom, _: Draw) -> list[Tree]:
    return [loom.tree(range(len(loom.singles)))]


SHARED = Planner("Shared", "one tree for all", shared)
