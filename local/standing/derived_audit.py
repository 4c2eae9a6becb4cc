"""Audit of derived archives, row by row: hashes computed again, and partials and answers derived again and compared.

What cannot be derived again is left alone: partials whose source is gone or has changed since (a refresh makes those
again), and answers that are no longer corrected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.batch_map import Batch, BatchKey
from tidewheel.indexing.core.batches import made_of
from tidewheel.indexing.core.derivation import ANSWERS, PARTIALS, Derivation
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.findings import Finding, Flaw, hit_range
from tidewheel.local.answers.answer_store import Folded, stored_answers
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.derived.batch_reader import SlotReader, present_us, reader_of
from tidewheel.local.derived.damage import damage_named
from tidewheel.local.derived.neighbours import derived_job, source_job
from tidewheel.local.derived.put import PART, completed, expiration_slots
from tidewheel.local.derived.row_hashes import hashes_before, hashes_of
from tidewheel.local.partials.distinct_sketches import installed
from tidewheel.local.partials.fold import PartialBuilder, inputs_of
from tidewheel.local.partials.make import BatchFolder
from tidewheel.local.partials.partial_store import loaded_partials, stored_partials
from tidewheel.local.partials.stored_columns import partial_columns
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.stored_queries import stored_queries
from tidewheel.queries.operations.kll import NAME as KLL
from tidewheel.queries.operations.kll import tell_alike
from tidewheel.queries.standing.lineage import Cover, PartialLineage
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import reflections
from tidewheel.queries.standing.staleness import AnswerState, due_answers
from tidewheel.queries.standing.tree import Tree, assigned
from tidewheel.sql.file_faults import undecodable_file
from tidewheel.storage.decoding import READ_ERRORS
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.snapshot import Snapshot

FLOAT_ERROR_MAX = 1e-12
# By whom and when a row was written: derived again, the same row has other ones.
_OF_THE_REFRESH = ("revision", "source_version", "slots_late", "row_hash")


@dataclass(frozen=True)
class Again:
    """Rows that a part's batches of some slots should hold; `among` says of which of their rows that is known."""

    part: str
    slots: Sequence[int]  # ascending
    rows: pa.Table
    among: pc.Expression
    sketches: frozenset[str] = frozenset()  # columns of KLL, which are others each time


def derived_findings(job: ArchiveJob, snapshot: Snapshot, facts: Sequence[FileFact]) -> list[Finding]:
    """Rows of a derived archive that are not what was stored, or not what its source gives."""
    source = source_job(job, snapshot.definition.name)
    called = replace(source, called=job.source_called(snapshot.definition.name))
    kind = _known_kind(snapshot)
    with damage_named(called), duckdb.connect(":memory:") as connection:
        try:
            findings = [finding for fact in facts for finding in _changed_rows(snapshot, fact)]
        except READ_ERRORS:
            if unreadable := _unreadable(snapshot, facts):
                return unreadable
            raise
        connection.execute("SET TimeZone = 'UTC'")
        if kind == PARTIALS:
            again = _partials_again(source, snapshot, connection)
        else:
            again = _answers_again(source, snapshot, stored_queries(snapshot), connection)
        return findings + [finding for one in again for finding in _difference(snapshot, facts, one)]


def _known_kind(snapshot: Snapshot) -> str:
    """The kind of a derived archive; one that is not derived anew here is refused, as its rows cannot be judged."""
    kind = Derivation.from_text(snapshot.definition.derived).kind
    if kind not in (PARTIALS, ANSWERS):
        raise InvalidInput(
            f"archive {snapshot.definition.name} is derived in a way that this program does not know "
            f"({kind or 'its definition names none'}), so it cannot tell whether the rows are right",
            "audit it with the program that derives it, or check its files and receipts alone: --quick",
        )
    return kind


def _unreadable(snapshot: Snapshot, facts: Sequence[FileFact]) -> list[Finding]:
    """The files with pages that cannot be read: what they held is not compared with anything."""
    faults = ((fact, undecodable_file(snapshot, [fact])) for fact in facts)
    return [
        Finding(Flaw.UNREADABLE, fault.message, None, fact.path, fact.rows, None, hit_range(fact))
        for fact, fault in faults
        if fault
    ]


def _changed_rows(snapshot: Snapshot, fact: FileFact) -> Iterator[Finding]:
    """Rows of one file whose hash or expiration slot does not follow from their values."""
    axis = snapshot.definition.axis
    rows = rows_of(snapshot.location, [fact], file_schema(snapshot)).to_table()
    right = pc.equal(rows.column("row_hash"), hashes_of(rows))
    if not pc.all(right, min_count=0).as_py():  # or it was written by an earlier program
        right = pc.or_(right, pc.equal(rows.column("row_hash"), hashes_before(rows)))
    right = pc.and_(right, pc.equal(rows.column("exp_slot"), expiration_slots(rows.column("valid_until"), axis)))
    wrong = rows.filter(pc.invert(right))
    cells = zip(*(wrong.column(name).to_pylist() for name in ("ins_slot", "exp_slot")), strict=True)
    for (slot, expiration), count in sorted(Counter(cells).items()):
        message = f"not as stored: {counted(count, 'row')} of slot {axis.name(slot)}: {fact.path}"
        yield Finding(Flaw.CHANGED, message, (slot, expiration), fact.path, 0, count, (slot, slot))


def _partials_again(source: ArchiveJob, snapshot: Snapshot, connection: duckdb.DuckDBPyConnection) -> Iterator[Again]:
    """The partial rows of batches whose records can still be read whole, of the fragments that matter now."""
    reader, axis = reader_of(source), snapshot.definition.axis
    now_us, batches = present_us(source, reader), ledger_of(snapshot).batches
    job = replace(source, location=snapshot.location)
    folder = BatchFolder(job, reader, (), {}, connection, now_us)
    whole = {key for key, batch in batches.items() if _is_whole(batch) and _follows(batch, key, reader)}
    trees = [tree for tree in kept_trees(job).trees if any(part == tree.name for _, part in whole)]
    asked = sorted({slot for slot, part in whole if any(part == tree.name for tree in trees)})
    for slots in folder.together(asked, folder.columns_asked(trees), None):
        rows, coverages = folder.read(slots, trees)
        read = [slot for slot in slots if coverages[slot].cover is Cover.ALL]
        for tree in trees:
            mine = [slot for slot in read if (slot, tree.name) in whole]
            oldest_us = now_us - tree.horizon_us - tree.ahead_us
            given = rows.filter(pc.is_in(rows.column("ins_slot"), pa.array(mine, pa.int64())))
            table = PartialBuilder(tree, axis, connection).build(given, oldest_us)
            # What lies before it was folded when more mattered.
            known = pc.field("fragment") > tree.slices.number_of(oldest_us)
            stored = stored_partials(table.filter(known), tree, axis)
            yield Again(tree.name, mine, stored, known, _kll_columns(tree))


def _kll_columns(tree: Tree) -> frozenset[str]:
    """The stored columns of a tree that hold sketches of KLL."""
    operations = [given.operation.name for given in inputs_of(tree) for _ in given.operation.columns]
    stored = partial_columns(tree)
    return frozenset(stored[f"a{number}"][0] for number, name in enumerate(operations) if name == KLL)


def _is_whole(batch: Batch) -> bool:
    """Tell whether partials hold every record of their batch."""
    return PartialLineage.from_texts(batch.lineage[:2]).coverage.cover is Cover.ALL


def _follows(batch: Batch, key: BatchKey, reader: SlotReader) -> bool:
    """Tell whether partials are made of the batch that the archive has now."""
    return batch.lineage[:1] == (made_of(reader.state.ledger.batches.get((key[0], ""))),)


def _answers_again(
    source: ArchiveJob, snapshot: Snapshot, queries: Sequence[Query], connection: duckdb.DuckDBPyConnection
) -> Iterator[Again]:
    """The answers that are still corrected and were given from the partials that are there."""
    reader, axis = reader_of(source), snapshot.definition.axis
    job = derived_job(source, "partials")
    partials, answers = job.snapshot(), ledger_of(snapshot)
    assignment = assigned(queries, reader.snapshot.definition.max_lifetime_us, kept_trees(job))
    reflected = reflections(axis, ledger_of(partials), assignment)
    now_us = present_us(source, reader)
    nothing_given = AnswerState(axis, now_us, reader.snapshot.definition.span, reader.state.ledger, Ledger())
    for query in queries:
        tree = assignment.tree(query.name)
        due = [
            one for one in due_answers(nothing_given, query, reflected[tree.name])
            if one.key in answers.batches and answers.batches[one.key].lineage[:1] == (one.digest,)
            and one.reports[0].at_us >= now_us - query.terms.revise_us
        ]  # fmt: skip
        if due:
            connection.register("tw_partials", loaded_partials(job, partials, tree))
            reports = [report for one in due for report in one.reports]
            folded = Folded.of(query, Folder(query, tree, axis, connection, "tw_partials").fold(reports))
            slots = [one.slot for one in due]
            yield Again(query.part, slots, stored_answers([folded], {query.part: due}, 0, 0), pc.scalar(True))


def _difference(snapshot: Snapshot, facts: Sequence[FileFact], again: Again) -> Iterator[Finding]:
    """Compare what batches hold with what they should hold. Cost: batches that agree are compared all at once."""
    if not again.slots:
        return
    axis, schema = snapshot.definition.axis, file_schema(snapshot)
    there = [fact for fact in facts if fact.ins_min <= again.slots[-1] and fact.ins_max >= again.slots[0]]
    alive = pc.scalar(True) if snapshot.watermark is None else pc.field("exp_slot") > snapshot.watermark
    mine = (pc.field(PART) == again.part) & pc.field("ins_slot").isin(again.slots) & again.among & alive
    stored = rows_of(snapshot.location, there, schema).to_table(filter=mine) if there else schema.empty_table()
    wanted = completed(again.rows, schema, axis).filter(alive)
    if _unequal(wanted, stored, again.sketches) == (0, 0):
        return
    for slot in again.slots:
        wanted_here, stored_here = (some.filter(pc.field("ins_slot") == slot) for some in (wanted, stored))
        missing, extra = _unequal(wanted_here, stored_here, again.sketches)
        if missing or extra:
            what = f"{again.part.split('@')[0]} at {axis.name(slot)}"
            message = (
                f"derived again, {what} has {counted(missing, 'row')} that are not stored, and "
                f"{counted(extra, 'row')} stored are not among what its source gives"
            )
            yield Finding(Flaw.CHANGED, message, None, None, wanted_here.num_rows, stored_here.num_rows, (slot, slot))


def _unequal(wanted: pa.Table, stored: pa.Table, sketches: frozenset[str]) -> tuple[int, int]:
    """How many rows of each are not in the other, but for the last digits of floating point and a sketch's chance."""
    names = [name for name in wanted.column_names if name not in (*_OF_THE_REFRESH, *sketches)]
    names += [name for name in wanted.column_names if name in sketches]  # last, so that they do not order the rows
    left, right = (Counter(_values(row) for row in some.select(names).to_pylist()) for some in (wanted, stored))
    missing, extra = (sorted((one - other).elements(), key=repr) for one, other in ((left, right), (right, left)))
    exact = len(names) - len(sketches)
    if len(missing) == len(extra) and all(
        _close(one[:exact], other[:exact]) and all(map(_alike, one[exact:], other[exact:]))
        for one, other in zip(missing, extra, strict=True)
    ):
        return 0, 0
    return len(missing), len(extra)


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(repr(one) if isinstance(one, list | dict) or one != one else one for one in row.values())


def _close(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return all(
        math.isclose(one, other, rel_tol=FLOAT_ERROR_MAX) if isinstance(one, float) and isinstance(other, float)
        else one == other for one, other in zip(left, right, strict=True)
    )  # fmt: skip


def _alike(left: bytes | None, right: bytes | None) -> bool:
    """Tell whether two sketches may be of the same records."""
    known = installed()
    if left is None or right is None or known is None:
        return left == right
    return tell_alike(known.quantiles, left, right)
