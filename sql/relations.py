"""The files of a version as something SQL can select from, and the columns they have together.

Local files are read by DuckDB itself. DuckDB reaches object stores only through an extension that is not on PyPI,
so there pyarrow reads (`remote_files.py`), and DuckDB pushes columns and filters down to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import duckdb
from deltalake import Field

from tidewheel.indexing.core.definition import PARTITION_COLUMNS, STORED_COLUMNS
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.sql.engine.column_types import arrow_schema, duckdb_type
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier, quote_list
from tidewheel.sql.engine.templates import render
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

# What `live` shows beside people's own columns. The row hash is for audits; it can be asked for by name.
LIVE_EXTRA = ("ins_slot", "exp_slot", "valid_until")


@dataclass(frozen=True, eq=False)
class Shape:
    """The columns of the table that lie in its files, in order."""

    fields: tuple[Field, ...]

    @staticmethod
    def of(snapshot: Snapshot) -> Shape:
        return Shape(tuple(one for one in snapshot.schema.fields if one.name not in PARTITION_COLUMNS))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.fields)

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The columns that people put in."""
        return tuple(name for name in self.names if name not in STORED_COLUMNS)

    @cached_property
    def arrow(self) -> pa.Schema:
        return arrow_schema(list(self.fields))

    @cached_property
    def empty(self) -> Sql:
        return join(", ", (_cast(Sql("NULL"), one) for one in self.fields))

    def typed(self, names: Sequence[str]) -> Sql:
        """Columns with the table's types, whatever types the files have."""
        by_name = {one.name: one for one in self.fields}
        return join(", ", (_cast(quote_identifier(name), by_name[name]) for name in names))

    def checked(self, names: Iterable[str] | None) -> tuple[str, ...]:
        """The columns asked for, or people's own when none are."""
        if names is None:
            return self.own
        wanted = tuple(names)
        unknown = [name for name in wanted if name not in self.names]
        if unknown or not wanted:
            raise InvalidInput(
                f"unknown column {', '.join(unknown)}" if unknown else "no column was asked for",
                f"known are {', '.join(self.names)}",
            )
        return wanted

    def stored(self, files: Sql | None) -> Sql:
        """Every record of files given as something to select from; None where there is no file."""
        if files is None:
            return render("stored_nothing", empty_columns=self.empty)
        return render("stored", columns=self.typed(self.names), empty_columns=self.empty, files=files)

    def live(self, files: Sql | None, names: Sequence[str], as_of: Sql) -> Sql:
        """The records of files that are alive at a moment."""
        columns = join(", ", map(quote_identifier, names))
        return render("live", columns=columns, stored=self.stored(files), as_of=as_of)


class Files(Protocol):
    """How files become something to select from."""

    def paths(self, files: Iterable[FileFact]) -> list[str]:
        """The local paths DuckDB opens; none where it opens no files itself."""

    def uniform(self, connection: duckdb.DuckDBPyConnection, files: Sequence[FileFact]) -> Sql:
        """Files known to have the same columns."""

    def by_name(self, connection: duckdb.DuckDBPyConnection, files: Sequence[FileFact]) -> Sql:
        """Files of which some may lack a column."""


@dataclass(frozen=True, eq=False)
class LocalFiles:
    """DuckDB reads the files."""

    location: Location

    def paths(self, files: Iterable[FileFact]) -> list[str]:
        paths = [self.location.child(one.path) for one in files]
        if any(sign in self.location.root for sign in "*?["):
            # DuckDB takes such a path as a pattern, but only if no file has exactly that name.
            missing = [path for path in paths if not Path(path).is_file()]
            if missing:
                raise Damaged(f"the file {missing[0]} is not there, but the log says it is")
        return paths

    def uniform(self, connection: duckdb.DuckDBPyConnection, files: Sequence[FileFact]) -> Sql:
        return Sql(f"read_parquet({quote_list(self.paths(files))}, hive_partitioning = false)")

    def by_name(self, connection: duckdb.DuckDBPyConnection, files: Sequence[FileFact]) -> Sql:
        return self.listed(files)

    def listed(self, files: Sequence[FileFact]) -> Sql:
        """The files with the columns that any of them has."""
        paths = quote_list(self.paths(files))
        return Sql(f"read_parquet({paths}, hive_partitioning = false, union_by_name = true)")


def files_at(location: Location, shape: Shape) -> Files:
    """How the files of a location are read."""
    if location.is_local:
        return LocalFiles(location)
    from tidewheel.sql.engine.remote_files import RemoteFiles

    return RemoteFiles(location, shape.arrow)


def _cast(value: Sql, column: Field) -> Sql:
    return Sql(f"CAST({value} AS {duckdb_type(column.type)}) AS {quote_identifier(column.name)}")
