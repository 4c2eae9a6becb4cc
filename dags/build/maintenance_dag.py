"""`<archive>__maintenance`, every `[retention] vacuum_period`: expire, vacuum, audit, watch.

    expire   moves the watermark where no data came to move it, so that the bytes' deadline holds without data
    vacuum   deletes the files that are past their grace
    audit    compares the ledger with the files; what it finds fails the task
    watch    fails when the archive is late, expiry or an erasure is overdue, or slots are missing; it always runs
    refresh  lets the answers of standing queries follow; vacuum and audit look after these as well

Only `expire` may need Spark, and only if it has to rewrite something. A run started by hand may do something else
instead: `migrate` to the layout that the archive file has now, or `forget` records.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, DeltaTriggerTimetable, TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from tidewheel.dags.build.priority import BY_HAND
from tidewheel.dags.tasks.operations import FORGET, MAINTAIN, MIGRATE, ChooseOperation, Forget, Migrate, operations_form
from tidewheel.dags.tasks.operators import RETRIES, ArchiveOperator, say, skip_without_table
from tidewheel.dags.tasks.refreshing import refresh_behind
from tidewheel.dags.tasks.reporting import small_receipt, write_metrics
from tidewheel.dags.watch.watching import overdue_expiry
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.indexing.printable import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidewheel.archive import Archive


def maintenance_dag(path: str, file: ArchiveFile, common: dict[str, Any]) -> DAG:
    """The maintenance of one archive."""
    period = timedelta(microseconds=file.retention.vacuum_period_us)
    with DAG(
        f"{file.name}__maintenance",
        schedule=DeltaTriggerTimetable(period),
        # A fixed past moment: runs keep their rhythm when the file changes, and none is made up for.
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        params=operations_form(),
        description=f"Expire, vacuum, audit and watch the archive {file.name}; or migrate it, or forget records",
        doc_md=__doc__,
        default_args={**RETRIES, "priority_weight": BY_HAND, "weight_rule": "absolute"},
        **common,
    ) as dag:
        pool = {"pool": file.schedule.pool} if file.schedule.pool else {}
        operation = ChooseOperation(task_id="operation", archive_file=path, retries=0)
        expire = ExpireOverdue(task_id="expire", archive_file=path, **pool)
        vacuum = Vacuum(task_id="vacuum", archive_file=path)
        audit = Audit(task_id="audit", archive_file=path, retries=0)
        watch = Watch(task_id="watch", archive_file=path, retries=0, trigger_rule=TriggerRule.ALL_DONE)
        # Airflow judges a run by the tasks that end it: a failed audit before a good watch would be a good run.
        operation >> expire >> vacuum >> [audit, watch]
        forget = Forget(task_id=FORGET, archive_file=path, **pool)
        operation >> [Migrate(task_id=MIGRATE, archive_file=path, **pool), forget]
        # Of the two, the one that the run is not for is skipped.
        refresh_behind([expire, forget], path, file, TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
    return dag


class Caretaker(ArchiveOperator):
    """A task that has nothing to do before the archive's first update."""

    def work(self, archive: Archive, context: Context) -> Any:
        if context["params"]["operation"] != MAINTAIN:
            raise AirflowSkipException("this run was started for something else")
        skip_without_table(archive)
        return self.care(archive)

    def care(self, archive: Archive) -> Any:
        """Carry out the task."""
        raise NotImplementedError


class ExpireOverdue(Caretaker):
    """Carry out the expiry that no update carried out in time."""

    def care(self, archive: Archive) -> dict[str, Any] | None:
        from tidewheel.storage.ledger_store import state_of
        from tidewheel.views.outcomes import outcome_view

        through = overdue_expiry(state_of(archive.snapshot()), archive.now_us())
        if through is None:
            self.log.info("no expiry is overdue")
            return None
        outcome = archive.expire(archive.axis.name(through))
        say(self.log, outcome_view(outcome, archive.axis))
        return None if outcome.receipt is None else small_receipt(outcome.version, outcome.receipt, archive.axis)


class Vacuum(Caretaker):
    """Delete what no version within grace needs."""

    def care(self, archive: Archive) -> dict[str, Any]:
        from tidewheel.derived import derived_archives

        report: dict[str, Any] = archive.vacuum().to_json()
        derived = {one.snapshot().definition.name: one.vacuum().to_json() for one in derived_archives(archive)}
        document = {**report, "derived": derived} if derived else report
        self.log.info("%s", document)
        return document


class Audit(Caretaker):
    """Look for anything in the files that the ledger does not say."""

    def care(self, archive: Archive) -> dict[str, Any]:
        from tidewheel.derived import derived_archives

        for one in derived_archives(archive):
            self._audited(one)
        return self._audited(archive)

    def _audited(self, archive: Archive) -> dict[str, Any]:
        report = archive.audit()
        if not report.clean:
            listed = "; ".join(f"{one.kind.value}: {one.message}" for one in report.findings[:10])
            raise Damaged(f"the audit found {counted(len(report.findings), 'fault')}: {listed}", report.remedy)
        if report.left_out:
            self.log.warning("%s", report.left_out)
        self.log.info("clean: %s cells in %s files", report.cells_checked, report.files_checked)
        return {"clean": True, "version": report.version, "cells": report.cells_checked, "files": report.files_checked}


class Watch(Caretaker):
    """Fail with a clear message when something does not happen that should."""

    ui_color = "#f6e3d9"

    def care(self, archive: Archive) -> None:
        write_metrics(archive, self.log)
        health = archive.status(listing=False).health
        if found := health.worries:
            raise InvalidInput("\n  ".join(one.message for one in found), "\n  ".join(one.remedy for one in found))
        self.log.info("%s%s", health.word, f": {health.said}" if health.said else "")
