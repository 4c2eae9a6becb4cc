"""Partial rows as their archive stores them, and back: typed columns, slots, lives, digests."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.written import check_sizes
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.derived.put import PART
from tidewheel.local.derived.row_hashes import summable_hashes
from tidewheel.local.partials.fold import ends_of
from tidewheel.local.partials.stored_columns import partial_columns
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.queries.kernels.arrays import int64s
from tidewheel.queries.standing.query import Counts
from tidewheel.queries.standing.tree import Tree
from tidewheel.storage.snapshot import Snapshot

DIGEST_BYTES = 8


def digests(table: pa.Table) -> dict[int, dict[int, int]]:
    """A digest of the partial rows of each slot and fragment, whatever their order."""
    if not table.num_rows:
        return {}
    words = summable_hashes(table.drop_columns(["ins_slot"]))
    slots, fragments = (int64s(table.column(name)) for name in ("ins_slot", "fragment"))
    order = np.lexsort((fragments, slots))
    slots, fragments, words = slots[order], fragments[order], words[order]
    (begins,) = np.nonzero(np.diff(slots, prepend=slots[0] - 1) | np.diff(fragments, prepend=fragments[0] - 1))
    sums = np.add.reduceat(words, begins)
    found: dict[int, dict[int, int]] = {}
    for slot, number, total in zip(slots[begins].tolist(), fragments[begins].tolist(), sums.tolist(), strict=True):
        text = f"{number} {total}".encode()
        found.setdefault(slot, {})[number] = int.from_bytes(blake2b(text, digest_size=DIGEST_BYTES).digest(), "big")
    return found


def stored_partials(table: pa.Table, tree: Tree, axis: TimeAxis) -> pa.Table:
    """Partial rows as they are stored: typed columns, the slot, and how long each row lives."""
    names = {name: stored for name, (stored, _) in partial_columns(tree).items()}
    rows = table.rename_columns([names.get(name, name) for name in table.column_names])
    if tree.counts is Counts.LIVE:
        ends = (int64s(rows.column("expiration")) + 1) * axis.interval_us + axis.epoch_us
    else:
        ends = ends_of(tree.slices, int64s(rows.column("fragment")))
    lives = tree.horizon_us if tree.counts is Counts.ARRIVED else tree.revise_us
    return _with_lives(rows, tree.name, pa.array(ends + lives))


def _with_lives(rows: pa.Table, part: str, until_us: pa.Array) -> pa.Table:
    rows = rows.append_column(PART, pa.repeat(pa.scalar(part, pa.string()), rows.num_rows))
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


def kept_partials(job: ArchiveJob, snapshot: Snapshot, tree: Tree, slots: Sequence[int]) -> pa.Table:
    """The partial rows of a tree and some slots as they are stored, to be stored again."""
    schema = file_schema(snapshot)
    expiration = ["expiration"] if tree.counts is Counts.LIVE else []
    stored = [column for column, _ in partial_columns(tree).values()]
    names = [PART, "ins_slot", "fragment", "signature", *expiration, *stored, "valid_until"]
    condition = (pc.field(PART) == tree.name) & pc.field("ins_slot").isin(list(slots))
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    files = [file for file in snapshot.files if any(file.ins_min <= slot <= file.ins_max for slot in slots)]
    check_sizes(job.location, files)
    return rows_of(job.location, files, schema).to_table(columns=names, filter=condition)
