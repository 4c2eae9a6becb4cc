"""Keys that are to be forgotten, as values of their columns, and the digests by which tombstones know them.

The digest is the one that Spark computes for a record (`jobs/data/expressions.py`): of the key as Spark writes it in
JSON.
Known here are the kinds that have one spelling: all but floating point, which one Java writes with other digits
than the next, and nested values. Forgotten by this process are whole numbers, texts, dates and timestamps.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidewheel.commits.procedure import Hand
from tidewheel.indexing.core.receipts import Tombstone
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.kernels.partials import coded
from tidewheel.storage.key_values import typed_key
from tidewheel.storage.snapshot import Snapshot

Truths = NDArray[np.bool_]
_KNOWN = (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)
_SPELT = (*_KNOWN, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_binary)
DIGEST_CHARACTERS = 32
SLOT_NEVER = -(1 << 62)  # before every slot


def knows(schema: pa.Schema) -> bool:
    """Tell whether records of such keys are found and moved here."""
    return all(any(is_kind(field.type) for is_kind in _KNOWN) for field in schema)


def spells(schema: pa.Schema) -> bool:
    """Tell whether the digests of these columns can be computed here."""
    return all(any(is_kind(field.type) for is_kind in _SPELT) for field in schema)


def typed_keys(keys: Sequence[Sequence[Any]], schema: pa.Schema, archive: str) -> pa.Table:
    """The keys as rows of the key's columns; what is no value of its column's type is refused."""
    for key in keys:
        if len(key) != len(schema):
            raise InvalidInput(
                f"the key of archive {archive} is ({', '.join(schema.names)}), got {len(key)} values",
                "give a value for each key column",
            )
    columns = [
        pa.array([typed_key(key[place], field.name, field.type) for key in keys], field.type)
        for place, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class Wanted:
    """Some keys, to be found among rows. Cost: an array's lookup, and Python's for rows with a key's first value."""

    keys: pa.Table

    def places(self, rows: pa.Table | pa.RecordBatch) -> list[int]:
        """Find the places of the rows with these keys."""
        first, *others = self.keys.column_names
        found: list[int] = np.flatnonzero(np.asarray(pc.is_in(rows.column(first), self._firsts))).tolist()
        if not others or not found:
            return found
        told = rows.select(self.keys.column_names).take(pa.array(found, pa.int64())).to_pylist()
        return [place for place, row in zip(found, told, strict=True) if tuple(row.values()) in self._whole]

    @cached_property
    def _firsts(self) -> pa.Array:
        return pc.unique(self.keys.column(0))

    @cached_property
    def _whole(self) -> set[tuple[Any, ...]]:
        return {tuple(row.values()) for row in self.keys.to_pylist()}


def digest_of(columns: Sequence[str], values: Sequence[Any], salt: str) -> str:
    """The digest of one key, keyed with the archive's salt.

    >>> digest_of(["host"], ["é"], "salt") == sha256('salt{"host":"é"}'.encode()).hexdigest()[:32]
    True
    """
    members = (f"{_text(name)}:{_written(value)}" for name, value in zip(columns, values, strict=True))
    return sha256(f"{salt}{{{','.join(members)}}}".encode()).hexdigest()[:DIGEST_CHARACTERS]


def covered_rows(hand: Hand, snapshot: Snapshot, rows: pa.Table, tombstones: Sequence[Tombstone]) -> pa.Array:
    """Mark the records that tombstones cover, by whatever columns they know them. Cost: a digest a different key."""
    slots, found = int64s(rows.column("ins_slot")), np.zeros(rows.num_rows, bool)
    for columns in {one.columns for one in tombstones}:
        bounds = {one.digest: one.slot_max for one in tombstones if one.columns == columns}
        different, places = _different(rows.select(columns))
        digests = hand.record_digests(snapshot, columns, different)
        found |= slots <= np.array([bounds.get(digest, SLOT_NEVER) for digest in digests], np.int64)[places]
    return pa.array(found)


def _different(keys: pa.Table) -> tuple[pa.Table, Whole]:
    """The different rows, and which of them each row is; where equal values have several spellings, all rows."""
    if not spells(keys.schema):
        return keys, np.arange(keys.num_rows)
    return coded(dict(zip(keys.column_names, keys.columns, strict=True)), keys.num_rows)


def _written(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, bytes):
        return _text(b64encode(value).decode())
    if isinstance(value, datetime):
        return f'"{value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")}Z"'
    return _text(value.isoformat() if isinstance(value, date) else value)


def _text(value: str) -> str:
    """Text in JSON as Spark's writer has it: control characters with capital digits, all else as it is."""
    escaped = encode_basestring(value)
    if "\\u00" not in escaped:
        return escaped
    return re.sub(r"\\u00[0-9a-f]{2}", lambda found: "\\u" + found.group()[2:].upper(), escaped)
