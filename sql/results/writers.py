"""Results as files or streams: CSV, JSON, Parquet, Arrow; batch by batch, and an empty result is an empty file.

CSV tells NULL (nothing) from empty text (""). JSON is one array with an object per line; decimals, moments and bytes
are text in it, because a JSON number or string would change them; bytes are 0x and hex digits, as keys are written.
Arrow is the streaming format, which fits a pipe.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.results.json_values import json_value
from tidewheel.sql.results.result import Result
from tidewheel.storage.parquet_columns import bounded, leaves
from tidewheel.storage.python_values import python_values


def write_result(result: Result, form: str, sink: BinaryIO) -> int:
    """Write a result in one of the forms; the number of rows. Memory: one batch."""
    if form not in WRITERS:
        raise InvalidInput(f"unknown form {form}", f"known are {', '.join(sorted(WRITERS))}")
    return WRITERS[form](result, sink)


def _write_csv(result: Result, sink: BinaryIO) -> int:
    schema = pa.schema([pa.field(one.name, _csv_type(one.type)) for one in result.schema])
    rows = 0
    with pcsv.CSVWriter(sink, schema) as writer:
        for batch in result.batches():
            writer.write_batch(_csv_batch(batch, schema))
            rows += batch.num_rows
    return rows


def _write_json(result: Result, sink: BinaryIO) -> int:
    _refuse_equal_names(result)
    names = result.columns
    rows = 0
    sink.write(b"[")
    for row in result:
        line = json.dumps(dict(zip(names, map(json_value, row), strict=True)), ensure_ascii=False)
        sink.write(b"\n" if not rows else b",\n")
        sink.write(line.encode())
        rows += 1
    sink.write(b"\n]\n")
    return rows


def _write_parquet(result: Result, sink: BinaryIO) -> int:
    _refuse_equal_names(result)
    columns = bounded(leaves(result.schema))
    writer = pq.ParquetWriter(sink, result.schema, compression="zstd", write_statistics=columns)
    return _write_batches(result, writer)


def _write_arrow(result: Result, sink: BinaryIO) -> int:
    return _write_batches(result, pa.ipc.new_stream(sink, result.schema))


def _write_batches(result: Result, writer: Any) -> int:
    rows = 0
    with writer:
        for batch in result.batches():
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


WRITERS: dict[str, Callable[[Result, BinaryIO], int]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
}


def _csv_type(arrow_type: pa.DataType) -> pa.DataType:
    plain = pa.types.is_primitive(arrow_type) or pa.types.is_decimal(arrow_type) or pa.types.is_null(arrow_type)
    return arrow_type if plain and not pa.types.is_interval(arrow_type) else pa.string()


def _csv_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with nested values and bytes as JSON text."""
    columns = [
        column if column.type == wanted.type else pa.array(map(_csv_text, python_values(column)), pa.string())
        for column, wanted in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _csv_text(value: Any) -> str | None:
    plain = json_value(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _refuse_equal_names(result: Result) -> None:
    twice = [name for name, count in Counter(result.columns).items() if count > 1]
    if twice:
        raise InvalidInput(f"two columns have the name {', '.join(twice)}", "give one of them another: ... AS name")
