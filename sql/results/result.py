"""The answer to a read: columns and rows, what they are exact for, and what had to be opened for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import duckdb
from arro3.core import Table

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.sql.keys.file_access import Access
from tidewheel.sql.results.frames import pandas_frame, polars_frame
from tidewheel.sql.results.html_rows import ROWS_SHOWN, html_table
from tidewheel.storage.python_values import python_values

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


class Result:
    """Rows as Arrow: whole, or batch by batch while they are read.

    A whole result may be asked for its rows as often as wanted; a stream only once. What is whole is kept by arro3,
    so that the rows of a probe need no pyarrow; `schema`, `batches` and `arrow` are pyarrow's.
    """

    def __init__(
        self,
        rows: Table | pa.RecordBatchReader,
        reads: Mapping[str, Access],
        translate: Callable[[Exception], Exception] = lambda error: error,
        owner: object = None,
    ) -> None:
        self.reads = dict(reads)
        self.columns: tuple[str, ...] = tuple(rows.schema.names)
        self._table: Table | pa.Table | None = rows if isinstance(rows, Table) else None
        self._rows = rows
        self._translate = translate
        self._owner = owner  # the connection a stream reads from must outlive it
        self._ahead: list[pa.RecordBatch] = []  # read already, only to be shown

    def __repr__(self) -> str:
        rows = "a stream" if self._table is None else counted(self._table.num_rows, "row")
        return f"<Result of {self._said(rows)} of {', '.join(self.columns)}>"

    def _said(self, rows: str) -> str:
        read = ", ".join(f"{name} version {version}".strip() for name, version in self.versions.items())
        return f"{read} as of {iso(self.as_of_us)}: {rows}"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook; of a stream they are read ahead, and still come."""
        rows, more = self._first_rows()
        said = self._said("more" if more else counted(len(rows), "row"))
        return html_table(self.columns, rows, f"{said}{f', the first {len(rows)} of them' * more}")

    def _first_rows(self) -> tuple[list[tuple[Any, ...]], bool]:
        """As many as are shown, and whether there are more."""
        if self._table is not None:
            rows = self._table.num_rows
            return _tuples(self._table.slice(0, min(rows, ROWS_SHOWN))), rows > ROWS_SHOWN
        while sum(len(batch) for batch in self._ahead) <= ROWS_SHOWN and (batch := self._next_batch()) is not None:
            self._ahead.append(batch)
        rows = [row for batch in self._ahead for row in _tuples(batch.slice(0, ROWS_SHOWN + 1))]
        return rows[:ROWS_SHOWN], len(rows) > ROWS_SHOWN

    @property
    def access(self) -> Access:
        """Return the access of the only archive that was read; several archives are refused."""
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

    @cached_property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(self._rows.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, in the files' order. Memory: one batch."""
        if self._table is None:
            yield from self._stream()
        else:
            yield from self.arrow().to_batches()

    def arrow(self) -> pa.Table:
        """All rows as one Arrow table."""
        import pyarrow as pa

        whole = self._whole()
        return pa.table(whole) if isinstance(whole, Table) else whole

    def df(self) -> pandas.DataFrame:
        """All rows as a data frame of pandas; whole numbers stay whole, beside NULLs too."""
        return pandas_frame(self.arrow())

    def pl(self) -> polars.DataFrame:
        """All rows as a data frame of Polars."""
        return polars_frame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for whoever takes Arrow, batch by batch if they are a stream: `polars.DataFrame(result)`."""
        import pyarrow as pa

        rows: Any = self._table
        if rows is None:
            rows = pa.RecordBatchReader.from_batches(self.schema, self._stream())
        return rows.__arrow_c_stream__(requested_schema)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as Python values; moments have the time zone UTC."""
        return _tuples(self._whole())

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self._table is not None:
            yield from self.rows()
            return
        for batch in self._stream():
            yield from _tuples(batch)

    def limited(self, rows_max: int) -> Result:
        """The same answer, ended after so many rows."""
        if isinstance(self._table, Table):
            return Result(self._table.slice(0, min(rows_max, self._table.num_rows)), self.reads)
        import pyarrow as pa

        return Result(pa.RecordBatchReader.from_batches(self.schema, self._first(rows_max)), self.reads)

    def _first(self, rows_max: int) -> Iterator[pa.RecordBatch]:
        left = rows_max
        for batch in self.batches():
            if left <= 0:
                return
            yield batch.slice(0, left)
            left -= batch.num_rows

    def _whole(self) -> Table | pa.Table:
        if self._table is None:
            import pyarrow as pa

            self._table = pa.Table.from_batches(self._stream(), self.schema)
            self._owner = None
        return self._table

    def _stream(self) -> Iterator[pa.RecordBatch]:
        while self._ahead:
            yield self._ahead.pop(0)
        while (batch := self._next_batch()) is not None:
            yield batch

    def _next_batch(self) -> pa.RecordBatch | None:
        import pyarrow as pa

        assert not isinstance(self._rows, Table)
        try:
            return self._rows.read_next_batch()
        except StopIteration:
            return None
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._translate(error) from error


def _tuples(rows: Table | pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*map(python_values, rows.columns), strict=True))
