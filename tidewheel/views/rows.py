"""The rows of an answer in the format asked for, batch by batch, to standard output or to a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from tidewheel.indexing.errors import InvalidInput
from tidewheel.output import json_plain
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.sql.results import Result

FORMATS = ("table", "csv", "json", "parquet", "arrow")
BINARY = ("parquet", "arrow")
ROWS_SHOWN = 100


def write_rows(result: Result, form: str, path: Path | None, limit: int | None) -> int:
    """Write the rows in one of the formats but `table`; gives their number."""
    if path is None and form in BINARY and sys.stdout.isatty():
        raise InvalidInput(f"{form} is not for the eye", "name a file with --output, or pipe it somewhere")
    writers = {"csv": _csv, "json": _json, "parquet": _parquet, "arrow": _arrow}
    with _sink(path) as sink:
        return writers[form](limited(result, limit), result.schema, sink)


def limited(result: Result, limit: int | None) -> Iterator[pa.RecordBatch]:
    """The batches until so many rows have come."""
    left = limit
    for batch in result.batches():
        if left is not None and batch.num_rows >= left:
            yield batch.slice(0, left)
            return
        left = None if left is None else left - batch.num_rows
        yield batch


def rows_document(result: Result, limit: int | None) -> dict[str, Any]:
    """For machines: the rows with what they are exact for."""
    from tidewheel.indexing.slots import iso

    rows = [row for batch in limited(result, limit) for row in _records(batch)]
    return {"version": result.version, "as_of": iso(result.as_of_us), "rows": rows}


def rows_view(result: Result, limit: int | None) -> tuple[RenderableType, int, bool]:
    """The first rows as a table, how many they are, and whether more would follow."""
    import pyarrow as pa

    most = ROWS_SHOWN if limit is None else limit
    batches = list(limited(result, most + 1 if limit is None else limit))
    rows = pa.Table.from_batches(batches, result.schema)
    left = [i for i, field in enumerate(result.schema) if not _is_number(field.type)]
    table = plain_table(*result.columns, left=left)
    for row in rows.slice(0, most).to_pylist():
        table.add_row(*(Text("" if row[name] is None else text_of(row[name])) for name in result.columns))
    return table, min(rows.num_rows, most), rows.num_rows > most


def text_of(value: Any) -> str:
    """One value for the eye."""
    if isinstance(value, datetime):
        return str(json_plain(value))
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value, default=json_plain) if isinstance(value, (list, dict)) else str(value)


@contextmanager
def _sink(path: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is there whole or not at all."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as sink:
            yield sink
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error}", "choose another file with --output") from error
    finally:
        part.unlink(missing_ok=True)


def _csv(batches: Iterator[pa.RecordBatch], schema: pa.Schema, sink: IO[bytes]) -> int:
    from pyarrow import csv, types

    nested = [field.name for field in schema if types.is_nested(field.type)]
    if nested:
        raise InvalidInput(
            f"CSV cannot hold {', '.join(nested)}", "leave them out with --columns, or use --format json"
        )
    count = 0
    with csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _json(batches: Iterator[pa.RecordBatch], schema: pa.Schema, sink: IO[bytes]) -> int:
    """One array, with a record on each line."""
    count = 0
    sink.write(b"[")
    for batch in batches:
        for record in _records(batch):
            line = json.dumps(record, default=json_plain, ensure_ascii=False)
            sink.write(f"{',' if count else ''}\n{line}".encode())
            count += 1
    sink.write(b"\n]\n" if count else b"]\n")
    return count


def _parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, sink: IO[bytes]) -> int:
    from pyarrow import parquet

    count = 0
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _arrow(batches: Iterator[pa.RecordBatch], schema: pa.Schema, sink: IO[bytes]) -> int:
    from pyarrow import ipc

    count = 0
    with ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as dictionaries; NaN and infinities, which JSON does not have, as NULL."""
    for record in batch.to_pylist():
        yield {name: None if _not_finite(value) else value for name, value in record.items()}


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def _is_number(arrow_type: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type))
