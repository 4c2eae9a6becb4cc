"""Reads of one pinned version: from a question to the files it opens, the SQL it runs and the rows it gives.

1. Choose the files: the log's key bounds and last moments exclude the others, and for one key their Bloom filters.
2. A probe runs as the plain statement, which takes the columns from the first file. Only if that fails, because a
   file is older than a column, does this version switch to the statement that gathers columns by name.
3. A question with other people's SQL runs in the sandbox of this version.
4. Files of another size than the log says are refused; if DuckDB fails, the file at fault is looked for and named.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import duckdb

from tidewheel.indexing.as_of import watermark_end_us
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.indexing.receipts import HASH_MODULUS, Cell
from tidewheel.sql.column_types import duckdb_type, typed_key
from tidewheel.sql.connections import open_sandbox
from tidewheel.sql.damage import explained, refuse_replaced
from tidewheel.sql.file_index import Access, DataFile, FileIndex
from tidewheel.sql.guard import checked_filter, checked_query
from tidewheel.sql.key_conditions import AnyKey, KeyBetween, KeyColumn, KeyCondition, KeyEquals
from tidewheel.sql.key_filters import KeyFilters
from tidewheel.sql.questions import Probe, Query, Question, Range, Scan, key_tuple
from tidewheel.sql.quoting import Sql, join, quote_identifier, quote_literal
from tidewheel.sql.relations import LIVE_EXTRA, Files, Shape, files_at
from tidewheel.sql.results import Result
from tidewheel.sql.templates import render
from tidewheel.storage.snapshot import Snapshot

BATCH_ROWS = 64 * 1024

Cells = dict[tuple[int, int], Cell]  # by (insertion slot, expiration slot)


@dataclass(frozen=True, eq=False)
class Statement:
    """SQL with its parameters, the connection it runs on, and the files it reads."""

    sql: Sql
    parameters: dict[str, Any]
    connection: duckdb.DuckDBPyConnection
    access: Access
    written_by_user: str = ""


class VersionReader:
    """One version of an archive, ready to answer. Probes share a connection, which outlives the version."""

    def __init__(
        self, snapshot: Snapshot, connection: duckdb.DuckDBPyConnection, lock: threading.RLock, filters: KeyFilters
    ) -> None:
        self.snapshot = snapshot
        self.shape = Shape.of(snapshot)
        self.files: Files = files_at(snapshot.location, self.shape)
        self._connection = connection
        self._lock = lock
        self._filters = filters
        self._uniform = True

    @property
    def version(self) -> int:
        return self.snapshot.version

    @cached_property
    def end_us(self) -> int | None:
        """The end of the watermark: the first moment this version answers for."""
        return watermark_end_us(self.snapshot.definition.axis, self.snapshot.watermark)

    @cached_property
    def index(self) -> FileIndex:
        index = FileIndex.of(self.snapshot)
        if index.files and self.snapshot.watermark is None:
            raise Damaged(
                f"version {self.version} of archive {self.snapshot.definition.name} has files but no watermark",
                f"run: tidewheel audit {self.snapshot.location.uri}",
            )
        return index

    def ask(self, question: Question, columns: Sequence[str] | None, as_of_us: int) -> Result:
        """Answer as of a moment: a probe whole, everything else as a stream."""
        if isinstance(question, Probe | Range):
            return self._probe(self.condition(question), self.shape.checked(columns), as_of_us)
        statement = self.statement(question, columns, as_of_us)
        try:
            rows = statement.connection.sql(statement.sql).to_arrow_reader(BATCH_ROWS)
        except duckdb.Error as error:
            raise self._explained(error, statement) from error
        return Result(
            rows,
            statement.access,
            translate=lambda error: self._explained(error, statement),
            owner=statement.connection,
        )

    def statement(self, question: Question, columns: Sequence[str] | None, as_of_us: int) -> Statement:
        """What would be run for a question."""
        if isinstance(question, Probe | Range):
            condition = self.condition(question)
            return self._probe_statement(condition, self.shape.checked(columns), self._access(condition, as_of_us))
        access = self.index.choose(AnyKey(), as_of_us)
        if isinstance(question, Query):
            cursor = self._sandbox.cursor()
            self._create_live(cursor, access, self._live_columns)
            query = checked_query(cursor, question.text)
            return Statement(query, {}, cursor, access, question.text)
        return self._scan_statement(question, self.shape.checked(columns), access)

    def cells(self, as_of_us: int | None) -> Cells:
        """Count and hash sum of every cell, of the records alive at a moment or of all in the files."""
        if as_of_us is None:
            return self._cells(self.index.all(), None)
        return self._cells(self.index.choose(AnyKey(), as_of_us), moment_sql(as_of_us))

    def cells_of_file(self, file: DataFile) -> Cells:
        """Count and hash sum of every cell in one file."""
        return self._cells(Access(self.version, 0, (file,), (), ()), None)

    def connect(self, as_of_us: int) -> duckdb.DuckDBPyConnection:
        """A connection of the caller's own, with the view `live` and the macros over it."""
        connection = duckdb.connect(":memory:")
        connection.execute(render("settings_of_caller"))
        self._create_live(connection, self.index.choose(AnyKey(), as_of_us), self._live_columns)
        return connection

    def condition(self, question: Probe | Range) -> KeyCondition:
        if isinstance(question, Probe):
            return KeyEquals(self._typed(question.key))
        low = () if question.low is None else self._typed(question.low)
        high = () if question.high is None else self._typed(question.high)
        return KeyBetween(low, high)

    def explained(self, error: Exception, access: Access, question: str = "") -> TidewheelError:
        return explained(error, self.snapshot, access.read, question=question)

    @cached_property
    def key_columns(self) -> tuple[KeyColumn, ...]:
        types = {one.name: one.type for one in self.shape.fields}
        key = self.snapshot.definition.key
        return tuple(KeyColumn(quote_identifier(name), duckdb_type(types[name])) for name in key)

    @cached_property
    def _live_columns(self) -> tuple[str, ...]:
        return (*self.shape.own, *LIVE_EXTRA)

    @cached_property
    def _sandbox(self) -> duckdb.DuckDBPyConnection:
        return open_sandbox(self.files.paths(self.index.files))

    def _typed(self, key: Any) -> tuple[Any, ...]:
        names = self.snapshot.definition.key
        values = key_tuple(key, names)
        return tuple(
            typed_key(value, name, self.shape.arrow.field(name).type)
            for value, name in zip(values, names, strict=False)
        )

    def _probe(self, condition: KeyCondition, columns: tuple[str, ...], as_of_us: int) -> Result:
        access = self._access(condition, as_of_us)
        with self._lock:
            try:
                return self._run(self._probe_statement(condition, columns, access))
            except duckdb.Error as error:
                if not self._uniform:
                    raise self.explained(error, access) from error
            # A file may lack a column that was added later: gather the columns by name from now on.
            self._uniform = False
            try:
                return self._run(self._probe_statement(condition, columns, access))
            except duckdb.Error as error:
                self._uniform = True
                raise self.explained(error, access) from error

    def _access(self, condition: KeyCondition, as_of_us: int) -> Access:
        """The files that a probe opens. On object stores, asking for filters takes as many requests as it saves."""
        access = self.index.choose(condition, as_of_us)
        if not isinstance(condition, KeyEquals) or not self.snapshot.location.is_local:
            return access
        read, without_key = self._filters.admitted(access.read, condition.values[0])
        return replace(access, read=tuple(read), without_key=tuple(without_key))

    def _run(self, statement: Statement) -> Result:
        relation = statement.connection.sql(statement.sql, params=statement.parameters)
        return Result(relation.to_arrow_table(), statement.access)

    def _probe_statement(self, condition: KeyCondition, columns: tuple[str, ...], access: Access) -> Statement:
        uniform = self._uniform and bool(access.read)
        files = self._relation(self._connection, access, uniform=uniform)
        sql = render(
            "probe",
            columns=self.shape.typed(columns),
            files=files if uniform and files else Sql(f"({self.shape.stored(files)})"),
            condition=condition.predicate(self.key_columns),
            as_of=moment_sql(access.as_of_us),
        )
        return Statement(sql, condition.parameters, self._connection, access)

    def _scan_statement(self, question: Scan, columns: tuple[str, ...], access: Access) -> Statement:
        cursor = self._sandbox.cursor()
        self._create_live(cursor, access, self.shape.names)
        where = Sql("true") if question.where is None else checked_filter(cursor, question.where)
        sql = render("scan", columns=join(", ", map(quote_identifier, columns)), where=where)
        return Statement(sql, {}, cursor, access, question.where or "")

    def _create_live(self, connection: duckdb.DuckDBPyConnection, access: Access, columns: Sequence[str]) -> None:
        files = self._relation(connection, access)
        live = self.shape.live(files, columns, moment_sql(access.as_of_us))
        try:
            connection.execute(render("live_view", live=live))
            connection.execute(self._probe_macro())
            connection.execute(render("probe_range_macro", column=self.key_columns[0].name))
        except duckdb.Error as error:
            raise self.explained(error, access) from error

    def _probe_macro(self) -> Sql:
        forms = []
        for length in range(1, len(self.key_columns) + 1):
            names = [Sql(f"probe_key_{i}") for i in range(1, length + 1)]
            terms = (Sql(f"{c.name} = {n}") for c, n in zip(self.key_columns, names, strict=False))
            forms.append(render("probe_macro_form", arguments=join(", ", names), condition=join(" AND ", terms)))
        return render("probe_macro", forms=join(", ", forms))

    def _cells(self, access: Access, as_of: Sql | None) -> Cells:
        cursor = self._connection.cursor()
        try:
            files = self._relation(cursor, access)
            stored = self.shape.stored(files)
            records = stored if as_of is None else self.shape.live(files, self.shape.names, as_of)
            rows = cursor.sql(render("cells", records=records)).fetchall()
        except duckdb.Error as error:
            raise self.explained(error, access) from error
        finally:
            cursor.close()
        return {(ins, exp): Cell(count, int(total) % HASH_MODULUS) for ins, exp, count, total in rows}

    def _relation(self, connection: duckdb.DuckDBPyConnection, access: Access, *, uniform: bool = False) -> Sql | None:
        """The chosen files as something to select from; None where there is none."""
        if not access.read:
            return None
        refuse_replaced(self.snapshot, access.read)
        make = self.files.uniform if uniform else self.files.by_name
        return make(connection, access.read)

    def _explained(self, error: Exception, statement: Statement) -> TidewheelError:
        return self.explained(error, statement.access, statement.written_by_user)


def moment_sql(moment_us: int) -> Sql:
    """A moment, exact to the microsecond."""
    return Sql(f"make_timestamptz({quote_literal(moment_us)})")
