"""Answers as they are kept, under the names that the query gives its columns; of moments to come, from partials."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.columns import answer_columns
from tidewheel.local.standing.derivation import derived_job, is_there, kept_trees
from tidewheel.local.standing.derived import PART
from tidewheel.local.standing.folds import Folder
from tidewheel.local.standing.partials import aggregate_of
from tidewheel.local.standing.stored_rows import loaded_partials
from tidewheel.queries.operation import Error
from tidewheel.queries.standing.query import TOLD_FIRST, TOLD_LAST, Call, Counts, Query, call_name
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import window_of
from tidewheel.sql.quoting import quote_identifier
from tidewheel.storage.snapshot import Snapshot


def ask(job: ArchiveJob, query: Query, at_us: int | None, last: int | None, where: str | None) -> pa.Table:
    """The answers of a report, or of the last ones; `where` is a condition over the answer's columns."""
    kept = kept_answers(job, query)
    ends = kept.column("window_end").cast(pa.int64())
    if at_us is not None:
        _refuse_between(query, at_us)
        kept = kept.filter(pc.equal(ends, at_us))
        if not kept.num_rows and query.terms.counts is Counts.LIVE:
            kept = _to_come(job, query, at_us)
    elif last is not None:
        newest = sorted(pc.unique(ends).to_pylist())[-last:]
        kept = kept.filter(pc.is_in(ends, pa.array(newest, pa.int64())))
    return with_errors(_ordered(kept, query, where), query)


def with_errors(answers: pa.Table, query: Query) -> pa.Table:
    """The answers, and beside each approximate one by which share of what it may be off, as text."""
    for output in query.outputs:
        calls = [call for number, call in enumerate(query.calls) if f'"{call_name(number)}"' in output.sql]
        errors = sorted({str(error) for call in calls if (error := _error_of(call))})
        if errors and f"{output.name}_error" not in answers.column_names:
            place = answers.schema.get_field_index(output.name) + 1
            told = pa.repeat(pa.scalar("; ".join(errors)), answers.num_rows)
            answers = answers.add_column(place, f"{output.name}_error", told)
    return answers


def _error_of(call: Call) -> Error | None:
    """By how much a call may be off; not known where the library that computes it is not installed."""
    try:
        return aggregate_of(call).error
    except InvalidInput:
        return None


def kept_answers(job: ArchiveJob, query: Query) -> pa.Table:
    """All answers of a query that are kept."""
    place = derived_job(job, "answers")
    unanswered = InvalidInput(f"query {query.name} was not refreshed yet", f"refresh it first: {_refresh(job, query)}")
    if not is_there(place):
        raise unanswered
    answers = place.snapshot()
    named = {name: stored for name, (stored, _) in answer_columns(query).items()}
    columns = {name: name for name in TOLD_FIRST} | named | {name: name for name in about_of(answers)}
    condition = pc.field(PART) == query.part
    if answers.watermark is not None:
        condition &= pc.field("exp_slot") > answers.watermark
    missing = [stored for stored in named.values() if stored not in file_schema(answers).names]
    if missing:
        raise unanswered
    rows = rows_of(answers.location, answers.files, file_schema(answers))
    return rows.to_table(columns={name: pc.field(stored) for name, stored in columns.items()}, filter=condition)


def about_of(answers: Snapshot) -> list[str]:
    """What is told beside answers: the next refresh adds what an older program did not keep."""
    there = {column.name for column in answers.columns}
    return [name for name in TOLD_LAST if name in there]


def _refresh(job: ArchiveJob, query: Query) -> str:
    return job.source_command("refresh", query.of)


def _refuse_between(query: Query, at_us: int) -> None:
    if not window_of(query).reports_at(at_us):
        before = at_us - (at_us - query.terms.offset_us) % query.terms.slide_us
        after = before + query.terms.slide_us
        raise InvalidInput(
            f"query {query.name} has no report at {iso(at_us)}", f"the nearest are at {iso(before)} and {iso(after)}"
        )


def _to_come(job: ArchiveJob, query: Query, at_us: int) -> pa.Table:
    """What will be alive then of what is stored."""
    partials = derived_job(job, "partials")
    tree = kept_trees(partials).serving(query, 0)
    if tree is None:
        raise InvalidInput(f"query {query.name} was not refreshed yet", f"run: {_refresh(job, query)}")
    snapshot = partials.snapshot()
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tw_partials", loaded_partials(partials, snapshot, tree))
        axis = snapshot.definition.axis
        table = Folder(query, tree, axis, connection, "tw_partials").fold([DueReport(at_us, 1.0)])
    for name in TOLD_FIRST:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.timestamp("us", "UTC")))
    return table


def _order(query: Query) -> str:
    """Reports by time, the groups of each as the query orders them, where its answers tell that."""
    asked = query.order_by
    for output in query.outputs:
        if output.sql.startswith('"call '):
            asked = asked.replace(output.sql, quote_identifier(output.name))
    groups = [quote_identifier(one.name) for one in query.groups]
    return ", ".join(["window_end", *([asked] if asked and '"call ' not in asked else []), *groups])


def _ordered(kept: pa.Table, query: Query, where: str | None) -> pa.Table:
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'; SET enable_external_access = false; SET lock_configuration = true")
        connection.register("answers", kept)
        condition = f"WHERE ({where})" if where else ""
        try:
            found = connection.sql(f"SELECT * FROM answers {condition} ORDER BY {_order(query)}").to_arrow_table()
        except duckdb.Error as error:
            remedy = f"its columns are {', '.join(kept.column_names)}"
            raise InvalidInput(f"the condition {where!r} cannot be used: {first_line(error)}", remedy) from error
    return found
