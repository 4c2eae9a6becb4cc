"""Widen an archive by new nullable columns, as its policy allows: a commit of the schema alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deltalake import Schema
from pyspark.sql.types import StructField, StructType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, Try, attempt
from tidewheel.commits.commit import commit_schema
from tidewheel.commits.receipt import bare_receipt
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.receipts import Operation as Kind
from tidewheel.indexing.receipts import Receipt
from tidewheel.jobs.schema import delta_fields


def widen(job: ArchiveJob, columns: Sequence[StructField]) -> Outcome:
    """Add columns; those that somebody else added meanwhile are left alone."""
    return attempt(job, _Widen(tuple(columns)))


@dataclass(frozen=True)
class _Widen:
    columns: tuple[StructField, ...]

    def plan(self, one: Try) -> Plan:
        return plan_update(one.state, ())

    def is_needed(self, one: Try, plan: Plan) -> bool:
        return bool(self._new(one))

    def work(self, one: Try, plan: Plan, folder: str, lap: Callable[[str], None]) -> Work:
        return Work(plan, folder, NOTHING_WRITTEN)

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        names = ", ".join(column.name for column in self._new(one))
        return bare_receipt(one.job, one.state, Kind.WIDEN, one.attempt, note=f"new columns: {names}")

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        fields = list(one.snapshot.schema.fields)
        after = len(one.snapshot.columns)
        new = delta_fields(StructType(self._new(one)))
        return commit_schema(one.snapshot, receipt, Schema([*fields[:after], *new, *fields[after:]]))

    def _new(self, one: Try) -> list[StructField]:
        known = {field.name for field in one.snapshot.columns}
        return [column for column in self.columns if column.name not in known]
