"""Files on object stores, for DuckDB: pyarrow reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from tidewheel.indexing.core.state import FileFact
from tidewheel.sql.engine.quoting import Sql, quote_identifier
from tidewheel.storage.location import Location

_PARQUET = ds.ParquetFileFormat()


@dataclass(frozen=True, eq=False)
class RemoteFiles:
    """pyarrow reads the files; its fragments keep their footers for the next read."""

    location: Location
    schema: pa.Schema
    _fragments: dict[str, ds.ParquetFileFragment] = field(default_factory=dict)

    REGISTERED = "tidewheel_files"

    def paths(self, files: Iterable[FileFact]) -> list[str]:
        return []

    def uniform(self, connection: duckdb.DuckDBPyConnection, files: Sequence[FileFact]) -> Sql:
        fragments = [self._fragment(one) for one in files]
        dataset = ds.FileSystemDataset(fragments, self.schema, _PARQUET, self.location.filesystem)
        connection.register(self.REGISTERED, dataset)
        return quote_identifier(self.REGISTERED)

    by_name = uniform  # pyarrow fills a missing column with NULL

    def _fragment(self, file: FileFact) -> ds.ParquetFileFragment:
        if file.path not in self._fragments:
            path = self.location.child(file.path)
            # The size saves a request, and a file of another size has no footer where it should be.
            self._fragments[file.path] = _PARQUET.make_fragment(path, self.location.filesystem, file_size=file.bytes)
        return self._fragments[file.path]
