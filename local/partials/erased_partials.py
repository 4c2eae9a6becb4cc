"""Partials of which a forgotten key is a group of its own: its rows leave, all others stay, and no record is read.

That is so where the tree's groups hold the whole key, be its rows all records of the batch or some of them, and where
all that was forgotten of these slots since was told by the key: what a predicate forgot before, partials know by now.
A tombstone is a digest, so keys are told apart by theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.batches import is_made_before_forget, source_of
from tidewheel.local.derived.batch_reader import SlotReader
from tidewheel.local.keys import covered_rows, spells
from tidewheel.local.partials.partial_store import digests, kept_partials
from tidewheel.local.partials.stored_columns import partial_columns
from tidewheel.local.rows import file_schema
from tidewheel.queries.standing.lineage import Cover, PartialLineage
from tidewheel.queries.standing.tree import Tree
from tidewheel.storage.ledger_store import ledger_of

Lineages = dict[int, PartialLineage]  # by slot


def erased_partials(
    partials: ArchiveJob, reader: SlotReader, tree: Tree, slots: Iterable[int]
) -> tuple[pa.Table, Lineages]:
    """The partial rows of those slots of which only keys that are groups went, as they are stored, without these keys;
    and their lineages."""
    if _key_columns(reader, tree) is None:
        return pa.table({}), {}
    known = ledger_of(partials.snapshot()).batches
    lineages = {slot: one for slot in slots if (one := _erased(reader, slot, known.get((slot, tree.name))))}
    return without_keys(partials, reader, tree, lineages) if lineages else (pa.table({}), {})


def without_keys(partials: ArchiveJob, reader: SlotReader, tree: Tree, lineages: Lineages) -> tuple[pa.Table, Lineages]:
    """The partial rows of some slots as they are stored, without forgotten keys that are groups; and their lineages."""
    names = _key_columns(reader, tree)
    rows = kept_partials(partials, partials.snapshot(), tree, sorted(lineages))
    if names is None:
        return rows, lineages
    lineages = dict(lineages)
    gone = _covered(reader, rows, names)
    stays, left = pc.invert(gone), _as_folded(rows, tree)
    touched = {tuple(row.values()) for row in left.filter(gone).select(["ins_slot", "fragment"]).to_pylist()}
    told = digests(left.filter(stays)) if touched else {}
    for slot in {slot for slot, _ in touched}:
        fragments, now = dict(lineages[slot].fragments), told.get(slot, {})
        for number in (number for at, number in touched if at == slot):
            fragments.pop(number)
            fragments |= {number: now[number]} if number in now else {}
        lineages[slot] = replace(lineages[slot], fragments=fragments)
    return rows.filter(stays), lineages


def _key_columns(reader: SlotReader, tree: Tree) -> list[str] | None:
    """The stored columns of a tree that hold the source's key; None if they do not tell every key from others."""
    key, schema = reader.snapshot.definition.key, file_schema(reader.snapshot)
    numbers = {one.sql.strip('"'): f"g{number}" for number, one in enumerate(tree.groups)}
    # Equal values of nested types may be spelt, and so be forgotten, one by one; both zeros are forgotten together.
    spelt = pa.schema([one for name in key if not pa.types.is_floating((one := schema.field(name)).type)])
    if not all(name in numbers for name in key) or not spells(spelt):
        return None
    stored = partial_columns(tree)
    return [stored[numbers[name]][0] for name in key]


def _erased(reader: SlotReader, slot: int, known: Batch | None) -> PartialLineage | None:
    """The lineage of the slot's partials once the keys are gone; None if they have to be made from the records.

    What is forgotten of a batch only grows, as no undo goes back over a forget.
    """
    batch = reader.state.ledger.batches.get((slot, ""))
    if batch is None or known is None or not known.lineage:
        return None
    lineage, key = PartialLineage.from_texts(known.lineage), reader.snapshot.definition.key
    if not is_made_before_forget(known, batch) or lineage.coverage.cover is Cover.NONE:
        return None
    covering = [one for one in reader.state.ledger.tombstones if one.slot_max >= slot]
    if any(one.columns != key for one in covering):
        since = reader.forgets_since(slot, int(lineage.source.rpartition(" ")[2]))
        if any(one.columns != key for receipt in since for one in receipt.tombstones):
            return None
    return replace(lineage, source=source_of(batch))


def _covered(reader: SlotReader, rows: pa.Table, names: Sequence[str]) -> pa.Array:
    """Mark the partial rows of keys that were forgotten."""
    snapshot = reader.snapshot
    key, schema = snapshot.definition.key, file_schema(snapshot)
    columns = [rows.column(stored).cast(schema.field(name).type) for stored, name in zip(names, key, strict=True)]
    keys = pa.table([rows.column("ins_slot"), *columns], names=["ins_slot", *key])
    own = [one for one in reader.state.ledger.tombstones if one.columns == key]
    return covered_rows(reader.job.hand, snapshot, keys, own)


def _as_folded(rows: pa.Table, tree: Tree) -> pa.Table:
    """Stored rows under the names that folds give them, as digests are made of them."""
    plain = {name: name for name in ("ins_slot", "fragment", "signature", "expiration") if name in rows.column_names}
    named = plain | {name: stored for name, (stored, _) in partial_columns(tree).items()}
    return rows.select(list(named.values())).rename_columns(list(named))
