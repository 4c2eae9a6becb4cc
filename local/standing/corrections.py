"""Corrected answers against those that are there: one that says the same is left as it was given.

A report is compared whole, with all of its groups: it is another one if any row of it came, went or changed. The
answers of a slot are stored anew together, so those that did not change are copied, with their revision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.rows import file_schema, in_schema, rows_of
from tidewheel.local.standing.derived import PART
from tidewheel.queries.standing.staleness import DueAnswers
from tidewheel.sql.quoting import quote_identifier

# What tells of the giving, not of the answer.
_GIVING = ("revision", "source_version", "slots_late")

Reports = Collection[tuple[str, int]]  # by part and time


def corrected(
    job: ArchiveJob, connection: duckdb.DuckDBPyConnection, rows: pa.Table | None, due: Sequence[DueAnswers]
) -> tuple[pa.Table | None, list[DueAnswers]]:
    """The rows with those kept that say what they said before; and what of all that is due is another answer now."""
    again = [one for one in due if one.revision and one.reports]
    if rows is None or not again:
        return rows, list(due)
    stored = _stored(job, rows.schema, again)
    connection.register("tw_new", rows)
    connection.register("tw_old", stored)
    named = ", ".join(quote_identifier(name) for name in rows.column_names if name not in _GIVING)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE tw_changed AS SELECT DISTINCT {PART}, window_end FROM ("
        f"(SELECT {named} FROM tw_new EXCEPT ALL SELECT {named} FROM tw_old) UNION ALL "
        f"(SELECT {named} FROM tw_old EXCEPT ALL SELECT {named} FROM tw_new))"
    )
    told = connection.sql(
        f"SELECT n.* REPLACE (coalesce(k.revision + 1, n.revision)::INTEGER AS revision) FROM tw_new n "
        f"JOIN tw_changed USING ({PART}, window_end) LEFT JOIN (SELECT {PART}, window_end, max(revision) AS revision "
        f"FROM tw_old GROUP BY ALL) k USING ({PART}, window_end) "
        f"UNION ALL BY NAME SELECT o.* FROM tw_old o ANTI JOIN tw_changed USING ({PART}, window_end)"
    ).to_arrow_table()
    changed = connection.execute(f"SELECT {PART}, epoch_us(window_end) FROM tw_changed").fetchall()
    return in_schema(told, rows.schema), list(_changed(due, set(changed)))


def _stored(job: ArchiveJob, schema: pa.Schema, again: Iterable[DueAnswers]) -> pa.Table:
    """The answers that are given again, as they are. Cost: the files that may hold their slots."""
    snapshot = job.snapshot()
    keys = {one.key for one in again}
    slots = sorted({slot for slot, _ in keys})
    condition = pc.field("ins_slot").isin(slots)
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    files = [one for one in snapshot.files if one.ins_max >= slots[0] and one.ins_min <= slots[-1]]
    rows = rows_of(job.location, files, file_schema(snapshot)).to_table(columns=schema.names, filter=condition)
    pairs = zip(rows.column("ins_slot").to_pylist(), rows.column(PART).to_pylist(), strict=True)
    return in_schema(rows.filter(pa.array([pair in keys for pair in pairs], pa.bool_())), schema)


def _changed(due: Iterable[DueAnswers], changed: Reports) -> Iterable[DueAnswers]:
    """Of answers that are given again only the reports that say something else; the rest as it is."""
    for one in due:
        reports = tuple(report for report in one.reports if (one.part, report.at_us) in changed)
        if not one.revision or not one.reports:
            yield one
        elif reports:
            yield replace(one, reports=reports)
