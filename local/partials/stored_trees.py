"""The trees that partials are derived by, as the definition of their archive keeps them."""

from __future__ import annotations

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.derivation import Derivation
from tidewheel.local.derived.neighbours import derived_by
from tidewheel.queries.standing.tree import NO_TREES, StoredTrees, Tree


def kept_trees(job: ArchiveJob) -> StoredTrees:
    """The trees whose partials are stored, and whose parts were answered from which."""
    with derived_by(job) as derived:
        if not derived:
            return NO_TREES
        content = Derivation.from_text(derived).content
        return StoredTrees(tuple(Tree.from_json(one) for one in content["trees"]), content.get("tree_of", {}))
