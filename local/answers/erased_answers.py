"""Forgotten keys leave answers of any age: rows whose group columns hold the whole key are deleted.

The tombstones of the source that the answers have not met yet say which keys went. They leave in the commit that brings
the corrected answers, so that those of one version add up. It carries the tombstones, so that the next refresh knows
them. A tombstone is a digest, so keys are told apart by theirs. Older answers stay as they are but for this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.put import NOTHING_ERASED, Erased
from tidewheel.commits.procedure import Try
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Tombstone
from tidewheel.local.derived.put import PART
from tidewheel.local.derived.remove import Leaving
from tidewheel.local.keys import covered_rows
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.rows import file_schema
from tidewheel.queries.standing.query import Query
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.snapshot import Snapshot


def erasing(answers: ArchiveJob, queries: Sequence[Query], source: Snapshot) -> Callable[[Try], Erased]:
    """Tells which answers of a version are of keys that the source has forgotten and it has not met yet."""

    def erased(one: Try) -> Erased:
        new = not_met(source, one.state.ledger)
        if not new or not queries:
            return NOTHING_ERASED
        return Erased(new, *_leaving(answers, queries, source, new).found(one))

    return erased


def not_met(source: Snapshot, answers: Ledger) -> tuple[Tombstone, ...]:
    """The keys that the source has forgotten and its answers have not met yet."""
    known = set(answers.tombstones)
    forgotten = ledger_of(source).tombstones
    return tuple(mark for mark in forgotten if mark.columns == source.definition.key and mark not in known)


def remaining(
    answers: ArchiveJob, queries: Sequence[Query], source: Snapshot, new: Collection[Tombstone]
) -> Callable[[pa.Table], pa.Table]:
    """Leaves rows of such keys out of answers that are stored again."""
    if not new or not queries:
        return lambda rows: rows
    leaving = _leaving(answers, queries, source, new)
    return lambda rows: rows.filter(pc.invert(leaving.hits(rows)))


def _leaving(answers: ArchiveJob, queries: Sequence[Query], source: Snapshot, new: Collection[Tombstone]) -> Leaving:
    key, schema = source.definition.key, file_schema(source)
    fields = [schema.field(name) for name in key]
    parts: dict[tuple[str, ...], list[str]] = {}  # by the columns that hold the key
    for query in queries:
        names = key_columns(query, key)
        if names is not None:
            parts.setdefault(tuple(names), []).append(query.part)

    def hits(rows: pa.Table) -> pa.Array:
        hit = pa.repeat(pa.scalar(False), rows.num_rows)
        for names, mine in parts.items():
            asked = pc.is_in(rows.column(PART), pa.array(mine, pa.string())).combine_chunks()
            if set(names) <= set(rows.column_names) and pc.any(asked).as_py():
                keys = _keys_of(rows.filter(asked), names, fields)
                hit = pc.replace_with_mask(hit, asked, covered_rows(answers.hand, source, keys, list(new)))
        return hit

    columns = (PART, "ins_slot", *sorted({name for names in parts for name in names}))
    return Leaving(columns, hits)


def _keys_of(rows: pa.Table, names: Sequence[str], key: Sequence[pa.Field]) -> pa.Table:
    """The keys of answers as the archive has them, and their slots."""
    columns = [rows.column(stored).cast(field.type) for stored, field in zip(names, key, strict=True)]
    return pa.table([rows.column("ins_slot"), *columns], names=["ins_slot", *(field.name for field in key)])


def key_columns(query: Query, key: Sequence[str]) -> list[str] | None:
    """The stored columns of an answer that hold the source's key; None if its groups do not hold the whole of it."""
    named = {one.sql.strip('"'): one.name for one in query.groups}
    stored = answer_columns(query)
    return [stored[named[column]][0] for column in key] if all(column in named for column in key) else None
