"""Migrate: another layout or strategy, in one of two ways, each one commit.

Run both: the new generation takes new batches, stored records keep expiring under their own; nothing is moved, and the
old generation is empty at most one maximum lifetime later. Stop and rebuild: every live record moves into the new
generation at once. Readers see one table throughout; they never need to know a layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidewheel.commits.accounting import bare_receipt, receipt_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.commit import commit_relocation, commit_schema
from tidewheel.commits.conserved import check_all_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.core.definition import Clock, Definition
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import plan_migration
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.snapshot import with_definition


def migrate(job: ArchiveJob, generation: Generation, *, relocate: bool, dry_run: bool = False) -> Outcome:
    """Make a generation current; its number is given here. With `relocate`, move all live records into it."""
    # The archive file may already describe the new layout, or still the old one: it is not consulted.
    unbound = replace(job, file=None)
    clock = job.file.clock if job.file else None
    return attempt(unbound, _Migrate(generation, relocate, clock), dry_run=dry_run)


@dataclass(frozen=True)
class _Migrate(Procedure):
    wanted: Generation
    relocate: bool
    clock: Clock | None = None  # of the archive file; an archive that holds nothing yet takes it over

    def plan(self, one: Try) -> Plan:
        generation = self._numbered(one)
        same = replace(one.state.definition.current, number=generation.number) == generation
        if same and not self.relocate and self._definition(one) == one.state.definition:
            raise InvalidInput(
                f"archive {one.state.definition.name} already has this layout and strategy",
                "name another one, or rebuild everything in it with --stop-and-rebuild",
            )
        return plan_migration(one.state, generation, relocates=self.relocate)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        sources = [change.file for change in plan.rewritten]
        if not sources:
            return Work(plan, folder, NOTHING_WRITTEN)
        one.job.table.check_files(sources)
        work = one.job.hand.move(one, plan, folder, lap)
        reach("migration_half_done")
        check_all_conserved(one.job.command("audit"), one.state, work.written)
        lap("check")
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        if not self.relocate:
            receipt = bare_receipt(one.job, one.state, Deed.MIGRATE, one.attempt)
            return replace(receipt, generation=plan.generation.number)
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        return replace(receipt, relocated=True)

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        definition = self._definition(one).with_generation(plan.generation)
        schema = with_definition(one.snapshot.schema, definition)
        if self.relocate:
            return commit_relocation(one.snapshot, receipt, work.written.files, schema)
        return commit_schema(one.snapshot, receipt, schema)

    def _definition(self, one: Try) -> Definition:
        definition = one.state.definition
        takes_over = self.clock is not None and one.state.watermark is None
        return replace(definition, clock=self.clock or definition.clock) if takes_over else definition

    def _numbered(self, one: Try) -> Generation:
        definition = one.state.definition
        layout = replace(self.wanted.layout, span=definition.span)
        return replace(self.wanted, number=next_number(definition), layout=layout)


def next_number(definition: Definition) -> int:
    return max(generation.number for generation in definition.generations) + 1
