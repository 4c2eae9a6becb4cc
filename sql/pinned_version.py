"""One version of one archive, pinned: its files, the units they form, and what can be selected from them.

It has no connection of its own: a session brings one, and asks for several versions side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.as_of import watermark_end_us
from tidewheel.sql.engine.column_types import duckdb_type
from tidewheel.sql.engine.quoting import Sql, quote_identifier, quote_literal
from tidewheel.sql.keys.file_access import Access, admitted
from tidewheel.sql.keys.key_conditions import AnyKey, KeyColumn, KeyCondition, KeyEquals
from tidewheel.sql.keys.key_filters import KeyFilters
from tidewheel.sql.keys.key_order import KeyOrder
from tidewheel.sql.read_faults import refuse_changed, refuse_replaced
from tidewheel.sql.relations import Files, Shape, files_at
from tidewheel.storage.snapshot import Snapshot

Column = tuple[int, int]  # generation, column e: what an update expires as a whole


@dataclass(eq=False)
class PinnedVersion:
    """`filters` are those of the handle that probes again and again; without them DuckDB reads what it needs."""

    snapshot: Snapshot
    filters: KeyFilters | None = None
    # Whether all files are believed to have all columns, as they do until one is added.
    uniform: bool = True

    @property
    def number(self) -> int:
        return self.snapshot.version

    @cached_property
    def shape(self) -> Shape:
        return Shape.of(self.snapshot)

    @cached_property
    def end_us(self) -> int | None:
        """The end of the watermark: the first moment this version answers for."""
        return watermark_end_us(self.snapshot.definition.axis, self.snapshot.watermark)

    @cached_property
    def files(self) -> tuple[FileFact, ...]:
        files = self.snapshot.files
        if files and self.snapshot.watermark is None:
            raise Damaged(
                f"version {self.number} of archive {self.snapshot.definition.name} has files but no watermark",
                f"run: {self.snapshot.location.command('audit')}",
            )
        return files

    @cached_property
    def by_column(self) -> Mapping[Column, Sequence[FileFact]]:
        """The files by expiration column: the largest units of which an update leaves all but one alone."""
        units: dict[Column, list[FileFact]] = defaultdict(list)
        for file in self.files:
            units[file.generation, file.e].append(file)
        return dict(sorted(units.items()))

    def holding(self, ins_slot: int | None = None, exp_slot: int | None = None) -> tuple[FileFact, ...]:
        """The files that may hold records of a cell, or of all cells of one slot."""
        return tuple(
            file
            for file in self.files
            if (ins_slot is None or file.ins_min <= ins_slot <= file.ins_max)
            and (exp_slot is None or file.exp_min <= exp_slot <= file.exp_max)
        )

    def access(self, condition: KeyCondition, as_of_us: int) -> Access:
        """The files that a read opens. On object stores, asking for filters takes as many requests as it saves."""
        filters = self.filters
        if filters is None or not filters.wanted or isinstance(condition, AnyKey):
            return Access(self.number, as_of_us, self.files, admitted(self.files, condition, as_of_us))
        near = admitted(self.key_order.near(condition), condition, as_of_us)
        if not isinstance(condition, KeyEquals) or not self.snapshot.location.is_local:
            return Access(self.number, as_of_us, self.files, near)
        read, without_key = filters.admitted(near, condition.values[0])
        return Access(self.number, as_of_us, self.files, tuple(read), tuple(without_key))

    @cached_property
    def key_order(self) -> KeyOrder:
        """Return the order of the files by key. Cost: sorting them once."""
        return KeyOrder(self.files)

    def asked_again(self) -> None:
        """From now on it is worth knowing where keys are, and each file's filters."""
        if self.filters is not None:
            self.filters.wanted = True

    def access_to(self, files: Iterable[FileFact]) -> Access:
        """Whole files, whatever has expired in them."""
        chosen = tuple(files)
        return Access(self.number, 0, chosen, chosen)

    def live(self, connection: duckdb.DuckDBPyConnection, access: Access, columns: Sequence[str]) -> Sql:
        """A SELECT of the records that are alive at the moment of an access."""
        return self.shape.live(self.source(connection, access), columns, moment_sql(access.as_of_us))

    def stored(self, connection: duckdb.DuckDBPyConnection, access: Access) -> Sql:
        """A SELECT of every record in the files of an access, alive or not, with what tidewheel stores beside it."""
        return self.shape.stored(self.source(connection, access))

    def source(self, connection: duckdb.DuckDBPyConnection, access: Access, *, uniform: bool = False) -> Sql | None:
        """The files of an access as something to select from; None where there is none."""
        if not access.read:
            return None
        refuse_replaced(self.snapshot, access.read)
        refuse_changed(self.snapshot, access.read)
        make = self._reached.uniform if uniform else self._reached.by_name
        return make(connection, access.read)

    def paths(self) -> list[str]:
        """The local paths that DuckDB may open for this version."""
        return self._reached.paths(self.files)

    @cached_property
    def key_columns(self) -> tuple[KeyColumn, ...]:
        types = {one.name: one.type for one in self.shape.fields}
        key = self.snapshot.definition.key
        return tuple(KeyColumn(quote_identifier(name), duckdb_type(types[name])) for name in key)

    @cached_property
    def _reached(self) -> Files:
        return files_at(self.snapshot.location, self.shape)


EVERYTHING = AnyKey()


def moment_sql(moment_us: int) -> Sql:
    """A moment, exact to the microsecond."""
    return Sql(f"make_timestamptz({quote_literal(moment_us)})")
