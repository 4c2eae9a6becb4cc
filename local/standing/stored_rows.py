"""Partial rows and answers as their archives store them, and back: typed columns, slots, lives, digests."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.columns import answer_columns, partial_columns
from tidewheel.local.standing.derived import PART
from tidewheel.queries.standing.query import Counts, Query
from tidewheel.queries.standing.staleness import DueAnswers
from tidewheel.queries.standing.tree import Tree
from tidewheel.storage.snapshot import Snapshot

DIGEST_BYTES = 8


def digests(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> dict[int, int]:
    """By fragment, a digest of its partial rows, whatever their order."""
    connection.register("tw_digested", table)
    query = "SELECT fragment, md5(string_agg(to_json(tw_digested), chr(10) ORDER BY to_json(tw_digested)::VARCHAR))"
    rows = connection.execute(f"{query} FROM tw_digested GROUP BY fragment").fetchall()
    return {
        number: int.from_bytes(blake2b(f"{number} {text}".encode(), digest_size=DIGEST_BYTES).digest(), "big")
        for number, text in rows
    }


def stored_partials(table: pa.Table, tree: Tree, slot: int, axis: TimeAxis) -> pa.Table:
    """Partial rows as they are stored: typed columns, the slot, and how long each row lives."""
    names = {name: stored for name, (stored, _) in partial_columns(tree).items()}
    rows = table.rename_columns([names.get(name, name) for name in table.column_names])
    if tree.counts is Counts.LIVE:
        ends = [axis.end_us(one) for one in rows.column("expiration").to_pylist()]
    else:
        ends = [tree.slices.end_of(number) for number in rows.column("fragment").to_pylist()]
    lives = tree.horizon_us if tree.counts is Counts.ARRIVED else tree.revise_us
    until_us = pa.array([end + lives for end in ends], pa.int64())
    return _with_slot(rows, tree.name, pa.repeat(pa.scalar(slot, pa.int64()), rows.num_rows), until_us)


def stored_answers(table: pa.Table, query: Query, due: Sequence[DueAnswers], source_version: int) -> pa.Table:
    """Answers as they are stored."""
    names = {name: stored for name, (stored, _) in answer_columns(query).items()}
    ends = table.column("window_end").combine_chunks()
    rows = table.rename_columns([names.get(name, name) for name in table.column_names])
    for name in ("window_start", "window_end"):
        moments = table.column(name).cast(pa.timestamp("us", "UTC"))
        rows = rows.set_column(rows.schema.get_field_index(name), name, moments)
    by_report = [(report.at_us, one.slot, one.revision) for one in due for report in one.reports]
    reports, slots, revisions = (pa.array(values, pa.int64()) for values in zip(*by_report, strict=True))
    places = pc.index_in(ends, reports)
    rows = rows.append_column("revision", revisions.take(places).cast(pa.int32()))
    rows = rows.append_column("source_version", pa.repeat(pa.scalar(source_version, pa.int64()), rows.num_rows))
    return _with_slot(rows, query.part, slots.take(places), pc.add(ends, query.terms.keep_us))


def _with_slot(rows: pa.Table, part: str, slots: pa.Array, until_us: pa.Array) -> pa.Table:
    rows = rows.append_column(PART, pa.repeat(pa.scalar(part, pa.string()), rows.num_rows))
    rows = rows.append_column("ins_slot", slots)
    return rows.append_column("valid_until", until_us.cast(pa.timestamp("us", "UTC")))


def loaded_partials(job: ArchiveJob, snapshot: Snapshot, tree: Tree) -> pa.Table:
    """A tree's partial rows under the names that folds give them."""
    columns = {"fragment": "fragment", "signature": "signature", "expiration": "expiration"}
    columns |= {name: stored for name, (stored, _) in partial_columns(tree).items()}
    condition = pc.field(PART) == tree.name
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    rows = rows_of(job.location, snapshot.files, file_schema(snapshot))
    return rows.to_table(columns={name: pc.field(stored) for name, stored in columns.items()}, filter=condition)


def kept_partials(job: ArchiveJob, snapshot: Snapshot, tree: Tree, slot: int) -> pa.Table:
    """The partial rows of a tree and slot as they are stored, to be stored again."""
    condition = (pc.field(PART) == tree.name) & (pc.field("ins_slot") == slot)
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    rows = rows_of(job.location, snapshot.files, file_schema(snapshot)).to_table(filter=condition)
    return rows.drop_columns(["exp_slot", "row_hash"])
