"""Procedures: what differs between update, expire, forget, migrate, undo and fence; tried on one snapshot at a time.

Who writes files for a plan is a `Hand`: Spark's (`jobs/hand.py`) or another. A procedure that moves rows of the
archive's own files says in its plan what stays and where it goes; it does not know which hand carries that out.
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
    """One try of an attempt: what it is pinned to."""

    job: ArchiveJob
    snapshot: Snapshot
    state: TableState
    attempt: str
    started_version: int


class Procedure(ABC):
    """By default: always needed, nothing to write, and what its plan says in one commit."""

    # Whether it may be carried out on a newer version than the one it was asked for on.
    plans_again: ClassVar[bool] = True

    @abstractmethod
    def plan(self, one: Try) -> Plan:
        """Decide, or refuse."""

    def is_needed(self, one: Try, plan: Plan) -> bool:
        """Whether the plan changes anything."""
        return True

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """Write what the plan needs into a folder of the attempt's own."""
        return Work(plan, folder, NOTHING_WRITTEN)

    def still_fits(self, one: Try, work: Work) -> bool:
        """Whether what was worked, of the same plan on an older version, may be committed on this one."""
        return True

    @abstractmethod
    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        """What the commit will have done; the last chance to refuse."""

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        """One commit; the version it became."""
        removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
        return commit(one.snapshot, receipt, work.written.files, removed)


@dataclass(frozen=True)
class Hits:
    """The records of one file that a selection matches: their cells, live or dead; of a predicate, their digests."""

    cells: Mapping[tuple[int, int], Cell] = field(default_factory=dict)
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Swept:
    """The records beside an archive that a selection matches: how many; of a predicate, their digests, and in which
    slots those came that standing queries count."""

    rows: int = 0
    digests: frozenset[str] = frozenset()
    slots: frozenset[int] = frozenset()

    def beside(self, other: Swept) -> Swept:
        """What both found."""
        return Swept(self.rows, self.digests | other.digests, self.slots | other.slots)


class Hand(Protocol):
    """Reads and writes rows of the archive's own files, for plans that bring no new ones."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        """What stays of the files to rewrite, sorted, in the sub-indices where it belongs."""

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        """By file, the records that are selected."""

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        """What tombstones say of these keys; values that are not of their column's type are refused."""

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        """What tombstones say of these records, if they know them by these columns."""

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        """Remove the selected records from the side tables."""
