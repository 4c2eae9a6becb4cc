"""Statistics of an archive's records for the costs of plans: how many come, how many satisfy a predicate or differ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import duckdb

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.derived.batch_reader import SlotReader, reader_of
from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.population import Estimate
from tidewheel.queries.signatures import EVERY_ROW
from tidewheel.queries.standing.query import Query

# How many slots back the rate of records is looked at, and how many of the newest records.
SLOTS_LAST = 36
RECORDS_MIN = 100_000


def known_of(job: ArchiveJob, queries: Sequence[Query], rate: Fraction | None = None) -> Known:
    """`rate` in records per microsecond, where the caller knows better than the last slots."""
    reader = reader_of(job)
    axis, ledger = reader.snapshot.definition.axis, reader.state.ledger
    predicates = sorted({query.where for query in queries} - {EVERY_ROW})
    columns = sorted({one.sql for query in queries for one in query.groups})
    estimate = _estimate(reader, predicates, columns) if predicates or columns else Estimate()
    return Known(rate or rate_of(ledger, axis), estimate, axis.interval_us)


def rate_of(ledger: Ledger, axis: TimeAxis) -> Fraction:
    """The rate of the last slots; of an archive without any, next to nothing."""
    records = sorted(ledger.records.items())[-SLOTS_LAST:]
    rows = sum(record.rows_in for _, record in records)
    return Fraction(max(rows, 1), max(len(records), 1) * axis.interval_us)


def _estimate(reader: SlotReader, predicates: list[str], columns: list[str]) -> Estimate:
    """From the newest batches. The texts are SQL that the query files' parser wrote."""
    slots = _newest(reader.state.ledger)
    if not slots:
        return Estimate()
    rows, _ = reader.read_all(slots)
    asked = [f"count(*) FILTER (WHERE {predicate})" for predicate in predicates]
    asked += [f"approx_count_distinct({column})" for column in columns]
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tw_newest", rows)
        try:
            total, *counts = connection.execute(f"SELECT count(*), {', '.join(asked)} FROM tw_newest").fetchall()[0]
        except duckdb.Error:
            return Estimate()  # whoever folds these records tells what is wrong with them
    if not total:
        return Estimate()
    shares = {text: count / total for text, count in zip(predicates, counts, strict=False)}
    distinct = {text: max(1, count) for text, count in zip(columns, counts[len(predicates) :], strict=True)}
    return Estimate(shares, distinct)


def _newest(ledger: Ledger) -> list[int]:
    """So many of the newest slots that there are enough records to count."""
    found: list[int] = []
    records = 0
    for (slot, part), batch in sorted(ledger.batches.items(), reverse=True):
        if not part and records < RECORDS_MIN:
            found.append(slot)
            records += batch.rows_in
    return sorted(found)
