"""The task that brings the slots of a run into the archive: plan into the log, Spark, one commit, receipt.

The receipt goes with the same task into its XCom, into the asset event and into the metrics: a task of its own would
cost each run another second of scheduling, and would let the asset be announced without the update or the other way.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidewheel.dags.tasks.assets import announce
from tidewheel.dags.tasks.intervals import backfill_command, slots_of_run
from tidewheel.dags.tasks.moved_data import Moved
from tidewheel.dags.tasks.operators import ArchiveOperator, say
from tidewheel.dags.tasks.reporting import small_receipt, write_metrics
from tidewheel.dags.tasks.run_forms import CONFIRMATIONS
from tidewheel.indexing.core.file_sizes import rows_expected
from tidewheel.indexing.core.guards import set_aside_text
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import iso, micros
from tidewheel.indexing.errors import Damaged, InvalidInput, OutcomeUnknown, Refused

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidewheel.archive import Archive
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.state import TableState

# After an unknown outcome: how long to wait before each look into the log.
LOOKS_S = (1, 5, 15, 30)
_ATTEMPT = "attempt_of_unknown_outcome"


class UpdateArchive(ArchiveOperator):
    """Replace the slots of the run's data interval by what the source holds now, in one commit."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any]:
        file = archive.job.require_file()
        slots = slots_of_run(context, file)
        version, receipt = self._landed_before(archive, context) or self._updated(archive, slots, context)
        document = {**small_receipt(version, receipt, archive.axis), "ended": iso(archive.now_us())}
        announce(file, slots, document, context["outlet_events"])
        self.moved = Moved.of_receipt(document)
        write_metrics(archive, self.log)
        return document

    def _updated(self, archive: Archive, slots: range, context: Context) -> tuple[int | None, Receipt]:
        from tidewheel.jobs.process.quick_start import use_quick_compiler
        from tidewheel.views.outcomes import plan_view, receipt_view

        self._create_if_absent(archive, slots, context)
        axis = archive.axis
        bounds = iso(axis.start_us(slots[0])), iso(axis.end_us(slots[-1]))
        confirmed: Any = {name: bool(context["params"].get(name)) for name in CONFIRMATIONS}
        # The schedule says how many slots a run holds.
        confirmed["allow_many"] = True

        def planned(state: TableState, plan: Plan) -> None:
            say(self.log, plan_view(plan, axis))
            use_quick_compiler(os.environ, rows_expected(state, plan))

        try:
            outcome = archive.update(*bounds, on_plan=planned, **confirmed)
        except Refused as error:
            raise _with_command(error, context) from error
        except OutcomeUnknown as error:
            return self._looked_up(archive, error, context)
        assert outcome.receipt is not None
        say(self.log, receipt_view(outcome.version, outcome.receipt, axis))
        aside = [one for one in outcome.receipt.slots if one.quarantined]
        if aside:
            name = archive.job.require_file().name
            self.log.warning("set aside: %s; see them: tidewheel quarantine %s", set_aside_text(aside), name)
        return outcome.version, outcome.receipt

    def _looked_up(self, archive: Archive, error: OutcomeUnknown, context: Context) -> tuple[int | None, Receipt]:
        """Look before anything else; if the log stays silent, the next try begins with the same look."""
        attempt = error.values["attempt"]
        context["task_state_store"].set(_ATTEMPT, attempt)
        for wait_s in LOOKS_S:
            self.log.warning("%s; looking for it in %s s", error.message, wait_s)
            time.sleep(wait_s)
            try:
                found = find_attempt(archive, attempt)
            except Exception as unreadable:
                self.log.warning("the log cannot be read yet: %s", unreadable)
                continue
            if found:
                self.log.info("attempt %s is in the log as version %s: it was committed", attempt, found[0])
                return found
            break
        raise error

    def _landed_before(self, archive: Archive, context: Context) -> tuple[int | None, Receipt] | None:
        """Return what an earlier try of this run committed without knowing it."""
        if context["ti"].try_number <= 1:
            return None
        attempt = context["task_state_store"].get(_ATTEMPT)
        found = find_attempt(archive, str(attempt)) if attempt else None
        if found:
            self.log.info("attempt %s of an earlier try is in the log as version %s", attempt, found[0])
        return found

    def _create_if_absent(self, archive: Archive, slots: Sequence[int], context: Context) -> None:
        """The first run creates the table; a later one that finds none stops, since a mount may be missing."""
        from tidewheel.jobs.process.quick_start import use_quick_compiler

        try:
            archive.snapshot()
            return
        except InvalidInput:
            if archive.location.has_log():
                raise
        earlier = context.get("prev_data_interval_end_success")
        if earlier:
            raise Damaged(
                f"there is no table at {archive.path}, but runs of this DAG were successful before (through {earlier})",
                "mount or restore what is missing; to begin anew with an empty archive: "
                f"tidewheel init {archive.job.require_file().name}",
            )
        self.log.info("creating the archive at %s", archive.path)
        use_quick_compiler(os.environ, 0)
        try:
            archive.create(iso(archive.axis.start_us(slots[0])))
        except InvalidInput:
            # Another run may have been first.
            if not archive.location.has_log():
                raise


def find_attempt(archive: Archive, attempt: str) -> tuple[int, Receipt] | None:
    """The version and receipt of an attempt, if it was committed."""
    from tidewheel.storage.ledger_store import all_receipts

    for version, receipt in all_receipts(archive.snapshot()):
        if receipt.attempt == attempt and receipt.slots:
            return version, receipt
    return None


def _with_command(error: Refused, context: Context) -> Refused:
    """The refusal, with the way to confirm it in Airflow."""
    run = context["dag_run"]
    option = next((name for name in CONFIRMATIONS if f"--{name.replace('_', '-')}" in error.remedy), CONFIRMATIONS[0])
    assert run.data_interval_start is not None  # a run without an interval was refused before
    start = iso(micros(run.data_interval_start))
    command = backfill_command(run.dag_id, start, start, f'{{"{option}": true}}')
    return Refused(error.message, f"{error.remedy.partition(', or confirm')[0]}, or confirm: {command}", **error.values)
