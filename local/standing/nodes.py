"""One of several nodes that refresh an archive side by side, as (2, 4) for the second of four: its share of the trees.

Nobody hands them out: each node computes the same placement from the same archive. Should two disagree, since records
came between, the next refresh finds what neither did.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.archive_file.fields import NODES_MAX
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.statistics import known_of
from tidewheel.queries.planning.load import node_of
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Assignment

Node = tuple[int, int]
ALONE = (1, 1)


def check_node(node: Node) -> None:
    """Refuse one that there is not."""
    number, nodes = node
    if not 1 <= number <= nodes <= NODES_MAX:
        raise InvalidInput(
            f"there is no node {number} of {nodes}",
            f"number them from 1 on, up to {NODES_MAX}: 2/4 is the second of four",
        )


def without_others(assignment: Assignment, node: Node, job: ArchiveJob, queries: Sequence[Query]) -> Assignment:
    """The assignment without the trees that other nodes refresh."""
    number, nodes = node
    if nodes == 1:
        return assignment
    placed = node_of(assignment, queries, known_of(job, queries), nodes)
    return assignment.without({tree for tree, one in placed.items() if one != number})
