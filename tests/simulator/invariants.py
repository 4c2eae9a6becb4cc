"""What must hold: after every commit, after every whole vacuum, and whenever somebody reads.

Each invariant is a function of the world that yields what is wrong, under the name that faults.py plants a bug for.
They look at the store and at the oracle; none asks the plan, the ledger or the log why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.simulator.of_commits import landed, once, queue, superseded, watermark
from tests.simulator.of_content import (
    batches,
    bounds,
    content,
    counts,
    forgotten,
    ledger,
    lineages,
    names,
    overdue,
    placement,
)
from tests.simulator.of_store import (
    audit,
    brought,
    deadline,
    held_readers,
    log,
    named_files,
    orphans,
    restored,
    side_tables,
)
from tests.simulator.world import World

Check = Callable[[World], Iterator[str]]


class Violation(AssertionError):
    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(invariant, what)  # all that a process needs to raise it again in another
        self.invariant = invariant

    def __str__(self) -> str:
        return ": ".join(self.args)


AFTER_COMMIT: dict[str, Check] = {
    "named files": named_files,
    "brought": brought,
    "restored": restored,
    "landed": landed,
    "once": once,
    "superseded": superseded,
    "watermark": watermark,
    "counts": counts,
    "side tables": side_tables,
    "bounds": bounds,
    "placement": placement,
    "forgotten": forgotten,
    "overdue": overdue,
    "content": content,
    "ledger": ledger,
    "batches": batches,
    "names": names,
    "lineages": lineages,
    "queue": queue,
}
AFTER_VACUUM: dict[str, Check] = {
    "named files": named_files,
    "restored": restored,
    "deadline": deadline,
    "orphans": orphans,
    "log": log,
    "side tables": side_tables,
    "audit": audit,
    "held readers": held_readers,
}
