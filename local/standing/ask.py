"""Answers as they are kept, under the names that the query gives its columns; of moments to come, from partials."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import has_slot, iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.derived.batch_reader import SlotReader, present_us, reader_of
from tidewheel.local.derived.neighbours import derived_job, is_there
from tidewheel.local.derived.put import PART
from tidewheel.local.partials.fold import aggregate_of
from tidewheel.local.partials.partial_store import loaded_partials
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.compare_stale import NOTHING, answer_state
from tidewheel.queries.kernels.arrays import int64s
from tidewheel.queries.operation import Error
from tidewheel.queries.standing.query import TOLD_FIRST, TOLD_LAST, Call, Counts, Query, call_name
from tidewheel.queries.standing.reach import slot_reached
from tidewheel.queries.standing.reflection import reflections
from tidewheel.queries.standing.staleness import DueReport, report_at, slot_of_report
from tidewheel.queries.standing.tree import Assignment, Tree, window_of
from tidewheel.sql.engine.quoting import quote_identifier
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.snapshot import Snapshot

Between = tuple[int | None, int | None]


def ask(
    job: ArchiveJob,
    query: Query,
    at_us: int | None,
    last: int | None,
    where: str | None,
    between: Between = (None, None),
) -> pa.Table:
    """The answers of a report, of those between two moments, or of the last ones; `where` is a condition over their
    columns."""
    kept = kept_answers(job, query)
    ends = kept.column("window_end").cast(pa.int64())
    if at_us is not None:
        _refuse_between(query, at_us)
        kept = kept.filter(pc.equal(ends, at_us))
        if not kept.num_rows:
            kept = _not_kept(job, query, at_us, kept)
    elif between != (None, None):
        kept = _between(query, kept, between)
    elif last is not None:
        newest = sorted(pc.unique(ends).to_pylist())[-last:]
        kept = kept.filter(pc.is_in(ends, pa.array(newest, pa.int64())))
    return with_errors(_ordered(kept, query, where), query)


def _between(query: Query, kept: pa.Table, between: Between) -> pa.Table:
    """The answers of [start, end); refused where that lies before or behind all that are kept."""
    ends = int64s(kept.column("window_end").cast(pa.int64()))
    if not len(ends):
        return kept
    first_us, last_us = int(ends.min()), int(ends.max())
    start_us = first_us if between[0] is None else between[0]
    end_us = last_us + 1 if between[1] is None else between[1]
    if start_us > last_us or end_us <= first_us:
        raise InvalidInput(
            f"query {query.name} has no answer of that time: those that are kept are of {iso(first_us)} to "
            f"{iso(last_us)}",
            "ask for a time within, or refresh the archive when newer records have come",
        )
    return kept.filter(pa.array((start_us <= ends) & (ends < end_us)))


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
    """The error bound of a call; None where the library that computes it is not installed."""
    try:
        return aggregate_of(call).error
    except InvalidInput:
        return None


def kept_answers(job: ArchiveJob, query: Query) -> pa.Table:
    """All answers of a query that are kept: a clock may have gone on since answers expired last."""
    place = derived_job(job, "answers")
    unanswered = InvalidInput(f"query {query.name} was not refreshed yet", f"refresh it first: {_refresh(job, query)}")
    if not is_there(place):
        raise unanswered
    answers = place.snapshot()
    named = {name: stored for name, (stored, _) in answer_columns(query).items()}
    columns = {name: name for name in TOLD_FIRST} | named | {name: name for name in about_of(answers)}
    condition = (pc.field(PART) == query.part) & (pc.field("valid_until") > _present(job, answers))
    if answers.watermark is not None:
        condition &= pc.field("exp_slot") > answers.watermark
    missing = [stored for stored in named.values() if stored not in file_schema(answers).names]
    if missing:
        raise unanswered
    rows = rows_of(answers.location, answers.files, file_schema(answers))
    return rows.to_table(columns={name: pc.field(stored) for name, stored in columns.items()}, filter=condition)


def _present(job: ArchiveJob, answers: Snapshot) -> pa.Scalar:
    """The moment through which answers have had their time by the archive's clock."""
    definition, watermark = answers.definition, answers.watermark
    if definition.clock is Clock.WALL:
        present_us = job.clock()
    else:
        present_us = definition.axis.epoch_us if watermark is None else definition.axis.end_us(watermark)
    return pa.scalar(present_us, pa.timestamp("us", "UTC"))


def about_of(answers: Snapshot) -> list[str]:
    """The columns that tell of an answer's giving; the next refresh adds those an older program did not keep."""
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


def _not_kept(job: ArchiveJob, query: Query, at_us: int, nothing: pa.Table) -> pa.Table:
    """The answer of a moment for which no row is kept. Through the present it was given without a row, or is not told:
    partials hold what younger answers need, so whatever is left of them would be taken for all there was."""
    reader, answers = reader_of(job), ledger_of(derived_job(job, "answers").snapshot())
    axis, reached = reader.snapshot.definition.axis, slot_reached(reader.state.ledger)
    slot = slot_of_report(axis, at_us)
    if reached is None or slot > reached:
        if query.terms.counts is Counts.LIVE:
            return _to_come(job, reader, query, at_us)
        through = "no slot" if reached is None else f"slot {axis.name(reached)}"
        raise InvalidInput(
            f"query {query.name} has no answer at {iso(at_us)} yet: its archive came through {through}",
            "ask for a moment that has passed there",
        )
    given = answers.applied_parts.get(query.part, ())
    if at_us + query.terms.keep_us > present_us(job, reader) and has_slot(given, slot):
        return nothing
    is_behind = slot > max((last for _, last in given), default=reached)
    newest = job.source_command("ask", query.of, query.name)
    raise InvalidInput(
        f"no such answer is kept: query {query.name} has none of {iso(at_us)}",
        f"bring its answers up to date: {_refresh(job, query)}" if is_behind else f"see the newest: {newest}",
    )


def _to_come(job: ArchiveJob, reader: SlotReader, query: Query, at_us: int) -> pa.Table:
    """Count what will still be alive then, of what is stored now."""
    partials = derived_job(job, "partials")
    tree = kept_trees(partials).serving(query, 0)
    if tree is None:
        raise InvalidInput(f"query {query.name} was not refreshed yet", f"run: {_refresh(job, query)}")
    snapshot = partials.snapshot()
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tw_partials", loaded_partials(partials, snapshot, tree))
        axis = snapshot.definition.axis
        table = Folder(query, tree, axis, connection, "tw_partials").fold([_share(job, reader, query, tree, at_us)])
    for name in TOLD_FIRST:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.timestamp("us", "UTC")))
    return table


def _share(job: ArchiveJob, reader: SlotReader, query: Query, tree: Tree, at_us: int) -> DueReport:
    """A report to come, with the share of its slots that came already."""
    ledger = ledger_of(derived_job(job, "partials").snapshot())
    assignment = Assignment((tree,), {query.name: tree.name})
    reflected = reflections(reader.snapshot.definition.axis, ledger, assignment)[tree.name]
    return report_at(answer_state(job, reader, Ledger(), [query], NOTHING), query, reflected, at_us)


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
