"""An archive as it is changed: each method makes one commit, or refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidewheel.derived import refuse_derived
from tidewheel.handle import Handle
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.guards import guard_count
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.slots import count_of, gaps_of, gaps_within, range_members
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.extras import needed
from tidewheel.indexing.rules.care import Vacuumed
from tidewheel.mishaps import faults_told
from tidewheel.moments import Moment

if TYPE_CHECKING:
    from tidewheel.commits.attempt import Outcome
    from tidewheel.commits.operations.forget import Forgotten
    from tidewheel.commits.operations.undo import Undone
    from tidewheel.commits.vacuum.deleted import VacuumReport
    from tidewheel.indexing.core.guards import Confirmations
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.state import TableState
    from tidewheel.storage.snapshot import Snapshot


class Writing(Handle):
    """Batches in, and what leaves."""

    def create(self, example: Moment | None = None) -> Snapshot:
        """Create the empty archive; `example` names a slot to learn the columns from, if the file has no schema."""
        refuse_derived(self, "init")
        with needed("to create an archive"):
            from tidewheel.jobs.create import create

        with faults_told(self.job):
            return create(self.job, None if example is None else self.slots(example)[0])

    def update(
        self,
        start: Moment,
        end: Moment | None = None,
        *,
        dry_run: bool = False,
        allow_future: bool = False,
        allow_jump: bool = False,
        allow_shrink: bool = False,
        allow_many: bool = False,
        allow_set_aside: bool = False,
        on_plan: Callable[[TableState, Plan], None] | None = None,
    ) -> Outcome:
        """Bring in the batch of the slot that starts at `start`, or of all slots of [start, end), in one commit.

        A slot that comes again is replaced. `archive.update("2026-11-18T10:00Z").receipt`
        `on_plan` is told of the plan before it is carried out, and of the next one if somebody else was first.
        """
        refuse_derived(self, "update")
        confirmed = _confirmations(allow_future, allow_jump, allow_shrink, allow_many, allow_set_aside)
        return self._update(self.slots(start, end), confirmed, dry_run, on_plan)

    def backfill(
        self,
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        missing: bool = False,
        each: int = 1,
        newest_first: bool = False,
        on_commit: Callable[[Outcome], None] = lambda outcome: None,
        allow_future: bool = False,
        allow_jump: bool = False,
        allow_shrink: bool = False,
        allow_many: bool = False,
        allow_set_aside: bool = False,
    ) -> list[Outcome]:
        """Update the slots of [start, end), `each` so many in a commit; with `missing`, only those not applied.

        What is committed stays when a later commit fails; with `missing`, a second call goes on from there.
        """
        refuse_derived(self, "backfill")
        confirmed = _confirmations(allow_future, allow_jump, allow_shrink, allow_many, allow_set_aside)
        slots = self.slots_to_fill(start, end, missing=missing, allow_many=allow_many)
        outcomes = []
        for group in groups(slots, each, newest_first=newest_first):
            outcomes.append(self._update(group, confirmed, dry_run=False))
            on_commit(outcomes[-1])
        return outcomes

    def expire(
        self,
        through: Moment | None = None,
        *,
        dry_run: bool = False,
        allow_future: bool = False,
        allow_jump: bool = False,
    ) -> Outcome:
        """Carry out expiry through the slot that starts at `through`, without a batch.

        Without it, through the last complete slot by the wall clock.
        """
        from tidewheel.commits.operations.expire import expire

        refuse_derived(self, "expire")
        confirmed = _confirmations(allow_future, allow_jump)
        slot = self._last_complete_slot() if through is None else self.slots(through)[0]
        with faults_told(self.job):
            return expire(self.job, slot, confirmed=confirmed, dry_run=dry_run)

    def migrate(self, generation: Generation | None = None, *, rebuild: bool = False, dry_run: bool = False) -> Outcome:
        """Move to another layout, that of the archive file unless one is given.

        New batches go there, what is stored expires where it is; with `rebuild`, everything moves at once,
        if only the table is known into the layout that it has.
        """
        from tidewheel.commits.operations.migrate import migrate

        refuse_derived(self, "migrate")
        if generation is None:
            # All in the layout that it has can be made anew without a file.
            same = rebuild and self.file is None
            generation = self.snapshot().definition.current if same else self.job.require_file().generation
        with faults_told(self.job):
            return migrate(self.job, generation, relocate=rebuild, dry_run=dry_run)

    def forget(self, keys: Iterable[Sequence[Any]] = (), *, where: str = "", dry_run: bool = False) -> Forgotten:
        """Remove the records of keys, each a sequence of values, or those that an SQL predicate selects, for good.

        A value is one of its column's type, or its text as on the command line. `found_nothing` of the answer says
        that there was no such record.
        """
        from tidewheel.commits.operations.forget import forget

        refuse_derived(self, "forget")
        with faults_told(self.job):
            return forget(self.job, keys=keys, where=where, dry_run=dry_run)

    def undo(self, to_version: int | None = None, *, dry_run: bool = False) -> Undone:
        """Go back to an earlier version, the one before the last operation unless another is named."""
        from tidewheel.commits.operations.undo import undo

        refuse_derived(self, "undo")
        with faults_told(self.job):
            return undo(self.job, to_version=to_version, dry_run=dry_run)

    def vacuum(self, *, dry_run: bool = False) -> VacuumReport:
        """Delete the files that left the archive longer ago than the grace period."""
        from tidewheel.commits.vacuum.vacuum import vacuum
        from tidewheel.storage.care_notes import note_care

        with faults_told(self.job):
            report = vacuum(self.job, dry_run=dry_run)
        if not dry_run:
            deleted = sum(report.files.values()), sum(report.bytes.values())
            note_care(self.location, Vacuumed(self.now_us(), report.version, *deleted))
        return report

    def slots_to_fill(
        self,
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        missing: bool = False,
        allow_many: bool = False,
    ) -> Sequence[int]:
        """The slots that a backfill brings: a range, or what was never applied, within the range if one is given."""
        ranged = None if start is None or end is None else self.slots(start, end)
        if missing:
            gaps = self._gaps(ranged)
            guard_count(count_of(gaps), allow_many=allow_many)
            return list(range_members(gaps))
        if ranged is None:
            raise InvalidInput("a backfill needs a range, or --missing", "give --from and --to")
        guard_count(len(ranged), allow_many=allow_many)
        return ranged

    def _gaps(self, within: range | None) -> Sequence[tuple[int, int]]:
        from tidewheel.storage.ledger_store import ledger_of

        ledger = ledger_of(self.snapshot())
        if within is not None:
            return gaps_within(ledger.applied, within)
        return gaps_of(ledger.applied, -1 if ledger.watermark is None else ledger.watermark)

    def _update(
        self,
        slots: Sequence[int],
        confirmed: Confirmations,
        dry_run: bool,
        on_plan: Callable[[TableState, Plan], None] | None = None,
    ) -> Outcome:
        with needed("to update an archive"):
            from tidewheel.jobs.process.java_start import spark_home
            from tidewheel.jobs.update import update

            # PySpark itself is imported later, beside the start of its Java.
            spark_home()

        if not dry_run:
            self.queries.observe()
        job = replace(self.job, planned=on_plan) if on_plan else self.job
        with faults_told(self.job):
            return update(job, slots, confirmed=confirmed, dry_run=dry_run)

    def _last_complete_slot(self) -> int:
        """Return the last slot that ended by the wall clock; an archive of historic data has no present to go by."""
        definition = self.snapshot().definition
        if definition.clock is Clock.DATA:
            raise InvalidInput(
                f"archive {definition.name} keeps historic data, so there is no present to expire through",
                "name the last slot whose expiry to carry out: --through",
            )
        return self.axis.slot_of(self.now_us()) - 1


def groups(slots: Sequence[int], each: int, *, newest_first: bool = False) -> Iterator[Sequence[int]]:
    """Slots in groups of a size, in order or from the newest back.

    >>> list(groups([1, 2, 3], 2)), list(groups([1, 2, 3], 2, newest_first=True))
    ([[1, 2], [3]], [[3, 2], [1]])
    """
    if each < 1:
        raise InvalidInput(f"{each} slots in a commit are not possible", "give 1 or more")
    ordered = sorted(slots, reverse=newest_first)
    for first in range(0, len(ordered), each):
        yield ordered[first : first + each]


def _confirmations(
    allow_future: bool,
    allow_jump: bool,
    allow_shrink: bool = False,
    allow_many: bool = False,
    allow_set_aside: bool = False,
) -> Confirmations:
    from tidewheel.indexing.core.guards import Confirmations

    return Confirmations(allow_future, allow_jump, allow_shrink, allow_many, allow_set_aside)
