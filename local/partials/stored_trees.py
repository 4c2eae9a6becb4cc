"""The trees that partials are derived by, as the definition of their archive keeps them."""

from __future__ import annotations

import json

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.derived.neighbours import is_there
from tidewheel.queries.standing.tree import NOTHING_KEPT, Kept, Tree


def kept_trees(job: ArchiveJob) -> Kept:
    """The trees whose partials are stored, and whose parts were answered from which."""
    if not is_there(job):
        return NOTHING_KEPT
    told = json.loads(job.snapshot().definition.derived)
    return Kept(tuple(Tree.from_json(one) for one in told["trees"]), told.get("tree_of", {}))
