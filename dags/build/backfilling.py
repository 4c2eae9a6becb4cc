"""`<archive>__backfill`, started by hand: a range of slots in one Spark session, many of them in each commit.

It takes no slot of the archive's pool, or the schedule would wait until the range is done. The two take turns at the
archive itself instead: whoever lost the race to a commit queues there, and a newcomer goes behind those who queue
(storage/lease.py), so a scheduled update waits for one commit of the range at most.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param, TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from tidewheel.dags.tasks.assets import announce, archive_assets
from tidewheel.dags.tasks.moved_data import Moved
from tidewheel.dags.tasks.operators import RETRIES, ArchiveOperator, say
from tidewheel.dags.tasks.refreshing import refresh_behind
from tidewheel.dags.tasks.reporting import receipts_together, small_receipt, write_metrics
from tidewheel.dags.tasks.run_forms import CONFIRMATIONS, confirmation_params, flag, moment_param
from tidewheel.dags.watch.timetable import ALWAYS
from tidewheel.indexing.core.definition import ArchiveFile

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome

SLOTS_PER_COMMIT = 24


def backfill_dag(path: str, file: ArchiveFile, common: dict[str, Any]) -> DAG:
    """The range backfill of one archive."""
    with DAG(
        f"{file.name}__backfill",
        schedule=None,
        start_date=ALWAYS,
        max_active_runs=1,
        params=_form(),
        description=f"Bring a range of slots of the archive {file.name}",
        doc_md="Bring a range of slots again, many in each commit. A slot that was applied before is replaced by what "
        "the source holds now; with `missing_only` it is left out. The schedule goes on beside it.",
        default_args=RETRIES,
        **common,
    ) as dag:
        # What a stopped backfill committed is answered for as well.
        backfill = Backfill(task_id="backfill", archive_file=path, **archive_assets(file))
        refresh_behind([backfill], path, file, TriggerRule.ALL_DONE)
    return dag


def _form() -> dict[str, Param]:
    return {
        "start": moment_param("The first slot, by its start."),
        "end": moment_param("The end of the range, itself not in it."),
        "slots_per_commit": Param(
            SLOTS_PER_COMMIT, type="integer", minimum=1, maximum=10_000, description="Slots in one commit."
        ),
        "newest_first": flag("Begin with the latest slot."),
        "missing_only": flag("Leave out slots that were applied before; this also resumes a stopped backfill."),
        **confirmation_params(),
        "allow_many": flag("Confirm a range of very many slots."),
    }


class Backfill(ArchiveOperator):
    """Bring a range of slots in one Spark session, many of them in each commit."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any]:
        from tidewheel.jobs.process.quick_start import use_quick_compiler

        params = context["params"]
        many = params["allow_many"]
        slots = archive.slots_to_fill(params["start"], params["end"], missing=params["missing_only"], allow_many=many)
        each = params["slots_per_commit"]
        self.log.info("%s slots to bring, %s in each commit", len(slots), each)
        use_quick_compiler(os.environ, _rows_expected(archive, len(slots), -(-len(slots) // each)))
        done: list[Outcome] = []

        def committed(outcome: Outcome) -> None:
            done.append(outcome)
            self._say(archive, outcome)

        archive.backfill(
            params["start"],
            params["end"],
            missing=params["missing_only"],
            each=each,
            newest_first=params["newest_first"],
            on_commit=committed,
            allow_many=many,
            **{name: bool(params.get(name)) for name in CONFIRMATIONS},
        )
        write_metrics(archive, self.log)
        if not done:
            raise AirflowSkipException("no slot of the range was missing, so the asset is not announced")
        self._announce(archive, done, context)
        return {"slots": len(slots), "commits": len(done), "version": done[-1].version}

    def _announce(self, archive: Archive, done: Sequence[Outcome], context: Context) -> None:
        receipts = [(one.version, one.receipt) for one in done if one.receipt]
        document = receipts_together([small_receipt(*one, archive.axis) for one in receipts])
        slots = [one.slot for _, receipt in receipts for one in receipt.slots]
        announce(archive.job.require_file(), slots, document, context["outlet_events"])
        self.moved = Moved.of_receipt(document)

    def _say(self, archive: Archive, outcome: Outcome) -> None:
        from tidewheel.views.outcomes import outcome_view

        say(self.log, outcome_view(outcome, archive.axis))


def _rows_expected(archive: Archive, slots: int, commits: int) -> int:
    """Estimate the most rows a backfill reads: batches like the largest known, and all stored rows in every commit."""
    from tidewheel.storage.ledger_store import ledger_of

    ledger = ledger_of(archive.snapshot())
    stored = sum(cell.rows for cell in ledger.cells().values())
    return slots * max((record.rows_in for record in ledger.records.values()), default=0) + commits * stored
