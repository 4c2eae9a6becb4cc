"""Where a value lies in an archive's folder, whatever a file makes of it: every file raw, and decoded.

Parquet is decoded whole: the pages of all columns, dictionaries (which may hold values that no row uses), footer,
statistics and key-value metadata; page indexes and column indexes are not compressed, so the raw bytes show them. A
Bloom filter does not hold values but answers for them: it is asked. What is packed (the ledger) is unpacked.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

Value = str | int


def holders(root: Path, values: Iterable[Value]) -> dict[Value, list[str]]:
    """The files below a folder that hold any of the values, by value. Text and 64-bit numbers can be sought."""
    sought = [(value, _forms(value)) for value in values]
    found: dict[Value, list[str]] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        views = [name.encode(), *views_of(path)]
        for value, forms in sought:
            if any(form in view for view in views for form in forms):
                found.setdefault(value, []).append(name)
    return found


def views_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and all that they decode to."""
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".gz":
        yield gzip.decompress(raw)
    if raw[:4] == b"PAR1" == raw[-4:]:
        yield from (repr(part).encode() for part in _parquet_parts(path))


def bloom_answers(root: Path, column: str, values: Iterable[str]) -> dict[str, list[str]]:
    """The Parquet files below a folder whose Bloom filter of a column says 'maybe' for any of the values."""
    found: dict[str, list[str]] = {}
    wanted = list(values)
    with duckdb.connect() as connection:
        for path in sorted(root.rglob("*.parquet")):
            query = "SELECT count(bloom_filter_offset) FROM parquet_metadata(?) WHERE path_in_schema = ?"
            if not connection.execute(query, [str(path), column]).fetchall()[0][0]:
                continue  # without a filter every answer is 'maybe'
            for value in wanted:
                query = "SELECT bool_or(NOT bloom_filter_excludes) FROM parquet_bloom_probe(?, ?, ?)"
                if connection.execute(query, [str(path), column, value]).fetchall()[0][0]:
                    found.setdefault(value, []).append(path.relative_to(root).as_posix())
    return found


def _parquet_parts(path: Path) -> Iterator[object]:
    with pq.ParquetFile(path) as parquet:
        yield parquet.metadata.to_dict()
        yield parquet.metadata.metadata
        yield parquet.schema_arrow.metadata
        yield parquet.read().to_pylist()
        texts = [field.name for field in parquet.schema_arrow if pa.types.is_string(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as parquet:
        table = parquet.read(texts)
    yield [chunk.dictionary.to_pylist() for column in table.columns for chunk in column.chunks]


def _forms(value: Value) -> tuple[bytes, ...]:
    """How a value is written: as text, and a number as a Parquet page or a statistic holds it too."""
    if isinstance(value, str):
        return (value.encode(),)
    return (str(value).encode(), value.to_bytes(8, "little", signed=True))
