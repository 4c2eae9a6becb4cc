"""Quarantine: records that break a rule are kept beside the archive, as JSON, with the rule they broke.

A record that could not be parsed is kept with its text. The records are few, or somebody looks at them soon: they go
through this process one by one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.written import Written
from tidewheel.indexing.core.batches import batches_at
from tidewheel.indexing.core.definition import STORED_COLUMNS, Verdict
from tidewheel.indexing.core.fates import MALFORMED, QUARANTINED, RULES, TEXT_COLUMN, UNPARSED
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.decoding import decoding
from tidewheel.storage.ledger_store import all_receipts
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
EXAMPLE_MAX = 300  # characters
EXAMINED_MAX = 1_000  # records, among which examples are looked for
BATCH_ROWS = 10_000


@dataclass(frozen=True)
class Quarantined:
    """A record that broke a rule: its values as far as they could be parsed, else with the text that it came as."""

    slot: int
    rule: str
    record: Mapping[str, Any]
    text: str | None
    at: datetime
    attempt: str

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "at": self.at.isoformat()}


def quarantined(job: ArchiveJob, slots: Sequence[int] | None = None) -> list[Quarantined]:
    """Return the quarantined records of the batches that count, by slot and rule.

    Cost: all receipts, the side table.
    """
    snapshot = job.snapshot()
    batches = batches_at(dict(all_receipts(snapshot)), snapshot.version)
    wanted = {(slot, attempt) for slot, attempt in batches.items() if slots is None or slot in slots}
    rows = QUARANTINE.read(job.location, wanted)
    found = [
        Quarantined(
            slot=row["slot"],
            rule=row["rule"],
            record=json.loads(row["record"]),
            text=row.get("text"),
            at=row["quarantined_at"],
            attempt=row["attempt"],
        )
        for row in (rows.to_pylist() if rows is not None else ())
    ]
    return sorted(found, key=lambda one: (one.slot, one.rule, one.at))


def quarantine_examples(job: ArchiveJob, written: Written, slot: int) -> list[str]:
    """Return some of the records that an attempt would set aside, with the rule that each broke, for a message."""
    unparsed = ({**one, "exp_slot": MALFORMED} for one in _read(job.location, written.aside.get(UNPARSED, ())))
    parsed = _read(job.location, written.aside.get(QUARANTINED, ()))
    if UNPARSED in written.aside:
        parsed = (one for one in parsed if one["exp_slot"] != MALFORMED)
    members = (islice((one for one in some if one["ins_slot"] == slot), EXAMINED_MAX) for some in (unparsed, parsed))
    records = list(chain.from_iterable(members))
    # One of each rule first: the rarer one may be what tells the cause.
    first = {one["exp_slot"]: one for one in reversed(records)}
    chosen = [*first.values(), *(one for one in records if one is not first[one["exp_slot"]])]
    return [f"{RULES[one['exp_slot']]}: {_shown(one)}" for one in chosen[:EXAMPLES_SHOWN]]


def _shown(record: Mapping[str, Any]) -> str:
    text = record.get(TEXT_COLUMN) or json.dumps(_values(record), default=_plain, ensure_ascii=False)
    return text if len(text) <= EXAMPLE_MAX else f"{text[:EXAMPLE_MAX]}..."


def rule_counts(job: ArchiveJob) -> dict[str, int]:
    """Return how many quarantined records of the batches that count broke each rule. Cost: as `quarantined`."""
    snapshot = job.snapshot()
    rows = QUARANTINE.read(job.location, set(batches_at(dict(all_receipts(snapshot)), snapshot.version).items()))
    return {} if rows is None else dict(sorted(Counter(rows.column("rule").to_pylist()).items()))


def _rows(job: ArchiveJob, written: Written, attempt: str) -> pa.Table:
    """Return an attempt's quarantined records as rows; refuse them if the policy says so."""
    records = _records(job, written)
    policy = job.require_file().policy
    rejected = [one for one in records if getattr(policy, RULES[one["exp_slot"]]) is Verdict.REJECT]
    if rejected:
        raise InvalidInput(_rejection(job, rejected), "correct the source, or set the rule to quarantine in [policy]")
    now = moment(job.clock())
    return pa.Table.from_pylist(
        [
            {
                "slot": one["ins_slot"],
                "attempt": attempt,
                "rule": RULES[one["exp_slot"]],
                "quarantined_at": now,
                "record": json.dumps(_values(one), default=_plain, ensure_ascii=False),
                "text": one.get(TEXT_COLUMN),
            }
            for one in records
        ],
        schema=_SCHEMA,
    )


QUARANTINE = SideTable(
    name="quarantine",
    places=(QUARANTINED, UNPARSED),
    slot="slot",
    attempt="attempt",
    came="quarantined_at",
    record="record",
    filled="",
    rows=_rows,
    counted=lambda slot: slot.quarantined,
    certain_us=lambda definition: definition.retention.quarantine_us,
    kept_us=lambda definition: definition.retention.quarantine_us,
)


def _records(job: ArchiveJob, written: Written) -> list[dict[str, Any]]:
    """Yield the records that an attempt quarantines, with the text of unparsed ones, in full or not at all."""
    records = list(_read(job.location, written.aside.get(QUARANTINED, ())))
    if UNPARSED not in written.aside:
        return records
    unparsed = [{**one, "exp_slot": MALFORMED} for one in _read(job.location, written.aside[UNPARSED])]
    records = [one for one in records if one["exp_slot"] != MALFORMED] + unparsed
    counted = Counter((one["ins_slot"], one["exp_slot"]) for one in records)
    if counted != written.rules:
        raise InvalidInput(
            f"the source of archive {job.require_file().name} changed while it was read. Nothing was changed",
            "run the command again when the source is complete",
        )
    return records


def _read(location: Location, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with (
            decoding(location, path),
            pq.ParquetFile(location.filesystem.open_input_file(location.child(path))) as parquet,
        ):
            for batch in parquet.iter_batches(BATCH_ROWS):
                table = pa.Table.from_batches([batch])
                values = zip(*map(python_values, table.columns), strict=True)
                yield from (dict(zip(table.column_names, row, strict=True)) for row in values)


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in (*STORED_COLUMNS, TEXT_COLUMN)}


def _rejection(job: ArchiveJob, rejected: Sequence[Mapping[str, Any]]) -> str:
    by_rule = Counter(RULES[one["exp_slot"]] for one in rejected)
    counts = ", ".join(f"{records} by {rule}" for rule, records in sorted(by_rule.items()))
    key = job.require_file().key
    examples = [one.get(TEXT_COLUMN) or {name: one[name] for name in key} for one in rejected[:EXAMPLES_SHOWN]]
    return (
        f"the batch has records that its archive's policy rejects: {counts}; for example those with key or text "
        f"{json.dumps(examples, default=_plain)}. Nothing was changed"
    )


def _plain(value: Any) -> Any:
    """Return values that JSON has no word for as text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
