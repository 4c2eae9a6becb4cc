"""The plan of an update whose batch brings new columns: what it takes out must be whole partitions of the table.

delta-rs removes exact files only in commits that leave the columns as they are. A commit that changes them replaces
all files of some layouts, rows and columns. So that it stays one commit, the files there that would have stayed are
rewritten as well; this happens once for a new column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidewheel.indexing.core.plan import FileChange, Plan
from tidewheel.indexing.core.state import FileFact, TableState

REASON = "a column is added"


def with_new_columns(state: TableState, plan: Plan) -> Plan:
    """Return the plan with whole partitions taken out, and their remaining rows rewritten.

    Cost: one pass over the files.
    """
    going = [change.file for change in (*plan.dropped, *plan.rewritten)]
    paths, sides = {file.path for file in going}, partitions_of(going)
    beside = tuple(
        FileChange(file, REASON)
        for file in state.files
        if file.path not in paths and all(at in side for at, side in zip(file.subindex, sides, strict=True))
    )
    return replace(plan, rewritten=(*plan.rewritten, *beside))


def partitions_of(files: Iterable[FileFact]) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Return the layouts, rows and columns of files: a commit replaces every combination of these.

    >>> partitions_of([])
    (frozenset(), frozenset(), frozenset())
    """
    places = frozenset(file.subindex for file in files)
    return frozenset(at[0] for at in places), frozenset(at[1] for at in places), frozenset(at[2] for at in places)
