"""Quarantine: records that break a rule are kept beside the archive, as JSON, with the rule they broke.

A side Delta table keyed by (slot, attempt), written before the commit; a row counts only if a committed receipt
names its attempt for its slot, so neither a failed attempt nor a replaced batch can add to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.quarantine import FOLDER, open_quarantine
from tidewheel.commits.work import Work
from tidewheel.commits.written import Written
from tidewheel.indexing.definition import STORED_COLUMNS, Verdict
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.fates import MALFORMED, RULES
from tidewheel.indexing.plan import Plan
from tidewheel.indexing.slots import moment
from tidewheel.jobs.session import open_session
from tidewheel.jobs.source_reader import TEXT_COLUMN
from tidewheel.storage.location import Location
from tidewheel.storage.python_values import python_values

_SCHEMA = pa.schema(
    [
        pa.field("slot", pa.int64()),
        pa.field("attempt", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("quarantined_at", pa.timestamp("us", "UTC")),
        pa.field("record", pa.string()),
        pa.field("text", pa.string()),
    ]
)
EXAMPLES_SHOWN = 3
_NOT_STORED = (
    "cast(null as bigint) as exp_slot", "cast(null as timestamp) as valid_until", "cast(null as bigint) as row_hash",
)  # fmt: skip


def store_quarantined(job: ArchiveJob, plan: Plan, work: Work, attempt: str) -> None:
    """Move the attempt's quarantined records into the side table, or refuse the run where the policy says so."""
    rows = _quarantined(job, work.written)
    policy = job.require_file().policy
    rejected = [row for row in rows if getattr(policy, RULES[row["exp_slot"]]) is Verdict.REJECT]
    if rejected:
        raise InvalidInput(_rejection(job, rejected), "correct the source, or set the rule to quarantine in [policy]")
    now = moment(job.clock())
    table = pa.Table.from_pylist(
        [
            {
                "slot": row["ins_slot"],
                "attempt": attempt,
                "rule": RULES[row["exp_slot"]],
                "quarantined_at": now,
                "record": json.dumps(_user_values(row), default=_plain, ensure_ascii=False),
                "text": row.get(TEXT_COLUMN),
            }
            for row in rows
        ],
        schema=_SCHEMA,
    )
    side = job.location.side_location(FOLDER)
    if job.location.is_local:
        # delta-rs creates the table's own folder, not the one above it.
        job.location.filesystem.create_dir(side.root)
    # Merged: a quarantine may be older than the column of texts.
    write_deltalake(side.delta_uri, table, mode="append", schema_mode="merge", storage_options=side.storage_options)
    for path in (*work.written.quarantine_paths, *work.written.unparsed_paths):
        job.location.delete(path)


def _quarantined(job: ArchiveJob, written: Written) -> list[dict[str, Any]]:
    """The records that an attempt quarantines, with the text of what could not be parsed, in full or not at all."""
    rows = [row for path in written.quarantine_paths for row in _rows(job.location, path)]
    if not written.unparsed_paths:
        return rows
    texts = [{**row, "exp_slot": MALFORMED} for path in written.unparsed_paths for row in _rows(job.location, path)]
    rows = [row for row in rows if row["exp_slot"] != MALFORMED] + texts
    counted = Counter((row["ins_slot"], row["exp_slot"]) for row in rows)
    if counted != written.rules:
        raise InvalidInput(
            f"the source of archive {job.require_file().name} changed while it was read. Nothing was changed",
            "run the command again when the source is complete",
        )
    return rows


def sweep_quarantine(
    job: ArchiveJob, columns: StructType, marked: Callable[[DataFrame], DataFrame], *, dry_run: bool
) -> int:
    """Remove the quarantined records that a forget matches; how many there were. Cost: the side table, rewritten."""
    table = open_quarantine(job.location)
    rows = _all_rows(table)
    hits = _matches(rows, columns, marked)
    if table is not None and hits and not dry_run:
        kept = [row for number, row in enumerate(rows) if number not in hits]
        write_deltalake(table, pa.Table.from_pylist(kept, schema=_SCHEMA), mode="overwrite", schema_mode="overwrite")
    return len(hits)


def _all_rows(table: DeltaTable | None) -> list[dict[str, Any]]:
    return [] if table is None else pa.table(table.to_pyarrow_table()).to_pylist()


def _matches(rows: list[dict[str, Any]], columns: StructType, marked: Callable[[DataFrame], DataFrame]) -> set[int]:
    if not rows:
        return set()
    listed = [(number, row["slot"], row["record"]) for number, row in enumerate(rows)]
    frame = open_session().createDataFrame(listed, "__tw_number long, ins_slot long, __tw_record string")
    # What the archive adds to a stored record, a quarantined one does not have.
    parsed = frame.withColumn("__tw_values", F.from_json("__tw_record", columns)).selectExpr(
        "__tw_number", "ins_slot", "__tw_values.*", *_NOT_STORED
    )
    return {row[0] for row in marked(parsed).where("__tw_forgotten").select("__tw_number").collect()}


def _rows(location: Location, path: str) -> list[dict[str, Any]]:
    with pq.ParquetFile(location.filesystem.open_input_file(location.child(path))) as parquet:
        table = parquet.read()
    values = zip(*map(python_values, table.columns), strict=True)
    return [dict(zip(table.column_names, row, strict=True)) for row in values]


def _user_values(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in (*STORED_COLUMNS, TEXT_COLUMN)}


def _rejection(job: ArchiveJob, rejected: list[dict[str, Any]]) -> str:
    by_rule: dict[str, int] = {}
    for row in rejected:
        rule = RULES[row["exp_slot"]]
        by_rule[rule] = by_rule.get(rule, 0) + 1
    counts = ", ".join(f"{rows} by {rule}" for rule, rows in sorted(by_rule.items()))
    key = job.require_file().key
    examples = [row.get(TEXT_COLUMN) or {name: row[name] for name in key} for row in rejected[:EXAMPLES_SHOWN]]
    return (
        f"the batch has records that its archive's policy rejects: {counts}; for example those with key or text "
        f"{json.dumps(examples, default=_plain)}. Nothing was changed"
    )


def _plain(value: Any) -> Any:
    """Values that JSON has no word for."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
