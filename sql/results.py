"""The answer to a read: columns and rows, what they are exact for, and what had to be opened for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.access import Access
from tidewheel.storage.python_values import python_values


class Result:
    """Rows as Arrow: whole, or batch by batch while they are read.

    A whole result may be asked for its rows as often as wanted; a stream only once.
    """

    def __init__(
        self,
        rows: pa.Table | pa.RecordBatchReader,
        reads: Mapping[str, Access],
        translate: Callable[[Exception], Exception] = lambda error: error,
        owner: object = None,
    ) -> None:
        self.reads = dict(reads)
        self.schema: pa.Schema = rows.schema
        self._rows = rows
        self._translate = translate
        self._owner = owner  # the connection a stream reads from must outlive it

    @property
    def access(self) -> Access:
        """What was opened of the one archive that was read."""
        if len(self.reads) != 1:
            raise InvalidInput(f"{len(self.reads)} archives were read: {', '.join(self.reads)}", "look into reads")
        return next(iter(self.reads.values()))

    @property
    def version(self) -> int:
        return self.access.version

    @property
    def versions(self) -> dict[str, int]:
        """The version of each archive that was read."""
        return {name: access.version for name, access in self.reads.items()}

    @property
    def as_of_us(self) -> int:
        return next(iter(self.reads.values())).as_of_us

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, in the files' order. Memory: one batch."""
        if isinstance(self._rows, pa.Table):
            yield from self._rows.to_batches()
            return
        while True:
            try:
                batch = self._rows.read_next_batch()
            except StopIteration:
                return
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self._translate(error) from error
            yield batch

    def arrow(self) -> pa.Table:
        """All rows as one Arrow table."""
        if not isinstance(self._rows, pa.Table):
            self._rows = pa.Table.from_batches(self.batches(), self.schema)
            self._owner = None
        return self._rows

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as Python values; moments have the time zone UTC."""
        table = self.arrow()
        if not table.num_columns:
            return []
        return list(zip(*map(python_values, table.columns), strict=True))

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.batches():
            yield from zip(*map(python_values, batch.columns), strict=True)
