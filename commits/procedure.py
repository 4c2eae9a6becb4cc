"""Procedures: the differences between update, expire, forget, migrate, undo and fence; tried on one snapshot at a time.

A `Hand` writes the files of a plan: Spark's (`jobs/hand.py`) or another. A procedure that moves rows of the archive's
own files says in its plan what stays and where it goes; it does not know which hand carries that out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tidewheel.commits.commit import commit
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import Selection
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.state import FileFact, TableState
from tidewheel.storage.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.commits.archive import ArchiveJob

Lap = Callable[[str], None]


@dataclass(frozen=True)
class Try:
    """One try of an attempt, pinned to a snapshot."""

    job: ArchiveJob
    snapshot: Snapshot
    state: TableState
    attempt: str
    started_version: int


class Procedure(ABC):
    """One operation. By default: always needed, nothing to write, and its plan in one commit."""

    # Whether it may be carried out on a newer version than the one it was asked for on.
    plans_again: ClassVar[bool] = True

    @abstractmethod
    def plan(self, one: Try) -> Plan:
        """Decide, or refuse."""

    def is_needed(self, one: Try, plan: Plan) -> bool:
        """Tell whether the plan changes anything."""
        return True

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """Write what the plan needs into a folder of the attempt's own."""
        return Work(plan, folder, NOTHING_WRITTEN)

    def still_fits(self, one: Try, work: Work) -> bool:
        """Tell whether work for the same plan on an older version may be committed on this one."""
        return True

    @abstractmethod
    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        """Return the receipt of the commit to come; the last chance to refuse."""

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        """Commit once; return the version it became."""
        removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
        return commit(one.snapshot, receipt, work.written.files, removed)


@dataclass(frozen=True)
class Hits:
    """The records of one file that a selection matches: their cells, live or dead; for a predicate, their digests."""

    cells: Mapping[tuple[int, int], Cell] = field(default_factory=dict)
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Swept:
    """The records beside an archive that a selection matches.

    `rows` counts them; for a predicate there are their digests, and the slots of those that standing queries count.
    """

    rows: int = 0
    digests: frozenset[str] = frozenset()
    slots: frozenset[int] = frozenset()

    def beside(self, other: Swept) -> Swept:
        """Return the sum of both."""
        return Swept(self.rows, self.digests | other.digests, self.slots | other.slots)


class Hand(Protocol):
    """Reads and writes rows of the archive's own files, for plans that bring no new ones."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """Write the remaining rows of the files to rewrite, sorted, into the sub-indices where they belong."""

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        """Return the selected records, by file."""

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        """Return the digests of these keys for tombstones; refuse values that are not of their column's type."""

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        """Return the digests of these records for tombstones that know them by these columns."""

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        """Remove the selected records from the side tables."""
