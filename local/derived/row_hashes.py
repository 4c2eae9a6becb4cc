"""Hashes of the rows of derived archives: 64 bits, mixed from their columns for all rows at once.

A row's hash is a sum over its columns, by name and without those that are NULL: a table that gets another column keeps
the hashes of its rows. It tells that a row changed by accident; it is no defence against somebody who wants it equal.

Rows written by earlier programs have the lower half of the MD5 of the row as JSON, which takes a hundred times as long.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidewheel.local.side_by_side import side_by_side

Words = NDArray[np.uint64]
BLOCK_ROWS = 1 << 16  # what is computed of so many fits the processor's cache
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))


def hashes_of(rows: pa.Table) -> pa.Array:
    """The hash of each row; `row_hash` itself does not count."""
    total = np.zeros(rows.num_rows, np.uint64)
    columns = [name for name in rows.column_names if name != "row_hash"]

    def add(begin: int) -> None:
        block = rows.slice(begin, BLOCK_ROWS)
        for name in columns:
            total[begin : begin + BLOCK_ROWS] += _named(name, block.column(name).combine_chunks())

    side_by_side(add, range(0, len(total), BLOCK_ROWS))
    return pa.array(total.view(np.int64))


def summable_hashes(rows: pa.Table) -> Words:
    """Hashes whose sum tells sets of rows apart. Plain ones add up to the same where rows exchange their values."""
    return _mixed(np.asarray(hashes_of(rows)).view(np.uint64))


def hashes_before(rows: pa.Table) -> pa.Array:
    """The hash of each row as earlier programs made it."""
    plain = rows.select(sorted(name for name in rows.column_names if name != "row_hash"))
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("plain", plain)
        text = "json_merge_patch('{}', to_json(plain))"  # a patch of NULL removes
        hashes = connection.sql(f"SELECT md5_number_lower({text}) AS h FROM plain").to_arrow_table()
    return pa.array(hashes.column("h").to_numpy().view("int64"), pa.int64())


def _named(name: str, column: Any) -> Words:
    """The number a column adds to the hash of each row; 0 where it is NULL."""
    if isinstance(column, pa.ChunkedArray):  # of no rows
        return np.zeros(len(column), np.uint64)
    words = _mixed(_words(column) + _seed(name))
    if column.null_count:
        words[np.asarray(column.is_null())] = 0
    return words


@lru_cache(maxsize=10_000)
def _seed(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big"))


def _mixed(words: Words) -> Words:
    """Each word scattered over all bits, one to one (the finish of splitmix64)."""
    words = words ^ (words >> _SHIFTS[0])
    words *= _FACTORS[0]
    words ^= words >> _SHIFTS[1]
    words *= _FACTORS[1]
    words ^= words >> _SHIFTS[2]
    return words


def _words(column: Any) -> Words:
    """One word for each value; of NULL, any."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _words(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return _text_words(column)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_words(column)
    if pa.types.is_struct(kind):
        fields = zip((field.name for field in kind), column.flatten(), strict=True)
        return sum((_named(name, values) for name, values in fields), np.zeros(len(column), np.uint64))
    if pa.types.is_decimal(kind):
        halves = np.frombuffer(column.buffers()[1], np.uint64)[2 * column.offset : 2 * (column.offset + len(column))]
        return halves[0::2] * _ODD[0] + halves[1::2] * _ODD[1]
    return _number_words(column)


def _number_words(column: Any) -> Words:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.uint64)
    if pa.types.is_floating(kind):
        bits = np.asarray(column.cast(pa.float64()).fill_null(0.0))
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        bits = np.asarray(column.cast(pa.int64()).fill_null(0))
    else:  # days and moments
        bits = np.asarray(column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0))
        bits = bits.astype(np.int64)
    words: Words = bits.view(np.uint64)
    return words


def _text_words(column: Any) -> Words:
    """Each different text once: a sum of its bytes, weighed by their places."""
    coded = column.dictionary_encode()
    texts = coded.dictionary.cast(pa.large_binary())
    if not len(texts):
        return np.zeros(len(column), np.uint64)
    _, offsets, content = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = np.frombuffer(content or b"", np.uint8)[bounds[0] : bounds[-1]]
    words = _summed(_mixed(found.astype(np.uint64) + np.uint64(1)), np.diff(bounds))
    taken: Words = words[np.asarray(coded.indices.fill_null(0))]
    return taken


def _list_words(column: Any) -> Words:
    """A sum of the elements, weighed by their places."""
    lengths = np.asarray(pc.list_value_length(column).fill_null(0)).astype(np.int64)
    return _summed(_named("", column.flatten()), lengths)


def _summed(words: Words, lengths: NDArray[np.int64]) -> Words:
    """The sum of each run of words, weighed by their places, and of its length."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    places = np.arange(len(words), dtype=np.uint64) - np.repeat(starts, lengths).astype(np.uint64)
    sums = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(words * (_mixed(places * _ODD[2]) | np.uint64(1)), out=sums[1:])
    found: Words = sums[ends] - sums[starts]
    return found + lengths.astype(np.uint64) * _ODD[1]
