"""Rows of data files, filtered and sorted in this process: Arrow reads them, DuckDB sorts them and spills to disk.

DuckDB sees columns under names of ours (c0, c1, ...), so that its SQL holds no name that people chose.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import Schema

from tidewheel.commits.written import CELL_COLUMNS
from tidewheel.indexing.core.definition import PARTITION_COLUMNS
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

# Beyond it, sorting goes to a temporary folder.
MEMORY = "1GB"
BATCH_ROWS = 50_000
# A page that is not as it was written is not carried over into another file.
_FORMAT = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)


@dataclass(frozen=True)
class Rows:
    """Rows of some files that are to be moved: those that pass a condition."""

    data: ds.Dataset
    condition: pc.Expression

    @property
    def names(self) -> Mapping[str, str]:
        """The names by which DuckDB knows the columns."""
        return {name: f"c{number}" for number, name in enumerate(self.data.schema.names)}


def file_schema(snapshot: Snapshot) -> pa.Schema:
    """The columns of a data file: those of people, then tidewheel's; files may be older and lack some."""
    fields = pa.schema(Schema(snapshot.schema.fields))
    return pa.schema([pa.field(one.name, one.type) for one in fields if one.name not in PARTITION_COLUMNS])


def rows_of(location: Location, files: Sequence[FileFact], schema: pa.Schema) -> ds.Dataset:
    """Data files as a dataset; columns that a file does not have are NULL."""
    paths = [location.child(file.path) for file in files]
    return ds.FileSystemDataset.from_paths(paths, schema=schema, format=_FORMAT, filesystem=location.filesystem)


def in_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema; those that they do not have are NULL."""
    columns = [
        rows.column(one.name).cast(one.type) if one.name in rows.column_names else pa.nulls(rows.num_rows, one.type)
        for one in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@contextmanager
def sorted_rows(
    rows: Rows, generation: Generation, key: Sequence[str]
) -> Iterator[Iterator[tuple[SubIndex, pa.RecordBatch]]]:
    """The rows by sub-index of a generation, key and expiry, in batches of one sub-index each."""
    names = rows.names
    with tempfile.TemporaryDirectory(prefix="tidewheel-") as spill, duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET memory_limit = $memory", {"memory": MEMORY})
        connection.execute("SET temp_directory = $folder", {"folder": spill})
        connection.register("places", _places(rows, generation))
        read = {mine: pc.field(name) for name, mine in names.items()}
        connection.register("stored", rows.data.scanner(columns=read, filter=rows.condition).to_reader())
        order = ", ".join(names[name] for name in (*key, "valid_until"))
        relation = connection.sql(
            "SELECT stored.*, g, e FROM stored "
            f"JOIN places ON {names['ins_slot']} = ins AND {names['exp_slot']} = exp ORDER BY g, e, {order}"
        )
        yield _by_subindex(relation.to_arrow_reader(BATCH_ROWS), rows.data.schema, generation)


def matching_cells(location: Location, file: FileFact, schema: pa.Schema, keys: pa.Table) -> pa.Table:
    """Slots and hashes of the records of a file that have one of some keys. Cost: the row groups that may hold one."""
    first, *others = keys.column_names
    data = rows_of(location, [file], schema)
    found = data.to_table(
        columns=[*dict.fromkeys([first, *others, *CELL_COLUMNS])], filter=pc.field(first).isin(keys.column(first))
    )
    if others and found.num_rows:
        found = found.join(keys, keys=keys.column_names, join_type="left semi")
    return found.select(CELL_COLUMNS)


def _places(rows: Rows, generation: Generation) -> pa.Table:
    """The sub-index each cell of the rows belongs to. Cost: two narrow columns."""
    slots = rows.data.to_table(columns=["ins_slot", "exp_slot"], filter=rows.condition)
    cells = slots.group_by(["ins_slot", "exp_slot"]).aggregate([])
    layout = generation.layout
    inserted, expiring = cells.column("ins_slot").to_pylist(), cells.column("exp_slot").to_pylist()
    return pa.table(
        {
            "ins": pa.array(inserted, pa.int64()),
            "exp": pa.array(expiring, pa.int64()),
            "g": pa.array([layout.row_of(slot) for slot in inserted], pa.int32()),
            "e": pa.array([layout.column_of(slot) for slot in expiring], pa.int32()),
        }
    )


def _by_subindex(
    batches: pa.RecordBatchReader, schema: pa.Schema, generation: Generation
) -> Iterator[tuple[SubIndex, pa.RecordBatch]]:
    for batch in batches:
        *columns, g, e = batch.columns
        typed = pa.RecordBatch.from_arrays(
            [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )
        numbers = pc.add(pc.multiply(g.cast(pa.int64()), generation.layout.expiration_classes), e.cast(pa.int64()))
        runs, start = pc.run_end_encode(numbers), 0
        for end, number in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            row, column = divmod(number, generation.layout.expiration_classes)
            yield (generation.number, row, column), typed.slice(start, end - start)
            start = end
