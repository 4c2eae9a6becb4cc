"""The questions to a session: each is a value that builds its own statement.

1. Choose the files: the log's key bounds and last moments exclude the others, and for one key their Bloom filters.
2. A probe runs as the plain statement, which takes the columns from the first file. Only if that fails, because a
   file is older than a column, does its version switch to the statement that gathers columns by name.
3. A question with other people's SQL runs in the session's sandbox.
4. Files of another size than the log says are refused; if DuckDB fails, the file at fault is looked for and named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
from arro3.core import Table
from deltalake import Field
from deltalake.schema import PrimitiveType

from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier
from tidewheel.sql.engine.templates import render
from tidewheel.sql.keys.file_access import Access
from tidewheel.sql.keys.key_conditions import KeyBetween, KeyCondition, KeyEquals
from tidewheel.sql.pinned_version import PinnedVersion, moment_sql
from tidewheel.sql.results.result import Result
from tidewheel.sql.statements.guard import checked_filter, checked_query

if TYPE_CHECKING:
    from tidewheel.sql.session import Session

BATCH_ROWS = 64 * 1024
_TEXT = PrimitiveType("string")
_FROM_STREAM = "C Data interface error: "


@dataclass(frozen=True, eq=False)
class Statement:
    """SQL with its parameters, the connection it runs on, and what it opens of each archive."""

    sql: Sql
    parameters: dict[str, Any]
    connection: duckdb.DuckDBPyConnection
    reads: Mapping[str, Access]
    written_by_user: str = ""


class Question(ABC):
    """Something to ask."""

    @abstractmethod
    def statement(self, session: Session, columns: Sequence[str] | None) -> Statement:
        """Return the statement that answers the question."""

    def ask(self, session: Session, columns: Sequence[str] | None) -> Result:
        """The answer, as a stream."""
        statement = self.statement(session, columns)

        def translate(error: Exception) -> TidewheelError:
            return session.explained(error, statement.reads, statement.written_by_user)

        try:
            rows = statement.connection.sql(statement.sql).to_arrow_reader(BATCH_ROWS)
        except duckdb.Error as error:
            raise translate(error) from error
        return Result(rows, statement.reads, translate=translate, owner=statement.connection)


class KeyQuestion(Question):
    """A question about the key of the one archive in a session: short, answered whole."""

    @abstractmethod
    def condition(self, version: PinnedVersion) -> KeyCondition:
        """Return the question's condition on the key."""

    def statement(self, session: Session, columns: Sequence[str] | None) -> Statement:
        version, own = session.only, session.bench.own
        condition = self.condition(version)
        access = version.access(condition, session.as_of_us)
        uniform = version.uniform and bool(access.read)
        files = version.source(own, access, uniform=uniform)
        sql = render(
            "probe",
            columns=version.shape.typed(version.shape.checked(columns)),
            files=files if uniform and files else Sql(f"({version.shape.stored(files)})"),
            condition=condition.predicate(version.key_columns),
            as_of=moment_sql(session.as_of_us),
        )
        return Statement(sql, condition.parameters, own, dict.fromkeys(session.named, access))

    def ask(self, session: Session, columns: Sequence[str] | None) -> Result:
        """The answer, whole. Questions on one connection take turns."""
        version = session.only
        with session.bench.lock:
            statement = self.statement(session, columns)
            version.asked_again()
            try:
                return _run(statement)
            except duckdb.Error as error:
                if not version.uniform:
                    raise session.explained(error, statement.reads) from error
            # A file may lack a column that was added later: gather the columns by name from now on.
            version.uniform = False
            statement = self.statement(session, columns)
            try:
                return _run(statement)
            except duckdb.Error as error:
                version.uniform = True
                raise session.explained(error, statement.reads) from error


@dataclass(frozen=True)
class Probe(KeyQuestion):
    """The records of one key; of a composite key, the first columns may do.

    >>> Probe("10.0.0.7"), Probe(("tenant", 5))
    (Probe(key='10.0.0.7'), Probe(key=('tenant', 5)))
    """

    key: Any

    def condition(self, version: PinnedVersion) -> KeyCondition:
        return KeyEquals(_typed(self.key, version))


@dataclass(frozen=True)
class Range(KeyQuestion):
    """The records with a key in [low, high); None is no bound."""

    low: Any = None
    high: Any = None

    def condition(self, version: PinnedVersion) -> KeyCondition:
        low = () if self.low is None else _typed(self.low, version)
        high = () if self.high is None else _typed(self.high, version)
        return KeyBetween(low, high)


@dataclass(frozen=True)
class Scan(Question):
    """All records of the one archive in a session, or those for which an SQL expression over the columns holds."""

    where: str | None = None

    def statement(self, session: Session, columns: Sequence[str] | None) -> Statement:
        shape = session.only.shape
        wanted = shape.checked(columns)
        cursor = session.cursor()
        reads = session.create_views(cursor, shape.names)
        where = Sql("true")
        if self.where is not None:
            where = checked_filter(cursor, self.where, session.surroundings)
        sql = render("scan", columns=join(", ", map(quote_identifier, wanted)), where=where)
        return Statement(sql, {}, cursor, reads, self.where or "")


@dataclass(frozen=True)
class Query(Question):
    """One SELECT over a session's views."""

    text: str

    def statement(self, session: Session, columns: Sequence[str] | None) -> Statement:
        cursor = session.cursor()
        reads = session.create_views(cursor)
        query = checked_query(cursor, self.text, session.surroundings)
        return Statement(query, {}, cursor, reads, self.text)


def _run(statement: Statement) -> Result:
    relation = statement.connection.sql(statement.sql, params=statement.parameters)
    try:
        return Result(Table.from_arrow(relation), statement.reads)
    except Exception as error:
        # What DuckDB says while rows come over this way has lost its type.
        said = str(error)
        if not said.startswith(_FROM_STREAM):
            raise
        raise duckdb.Error(said.removeprefix(_FROM_STREAM)) from error


def _typed(key: Any, version: PinnedVersion) -> tuple[Any, ...]:
    """A key as its columns' values, a single value standing for the first."""
    names = version.snapshot.definition.key
    values = tuple(key) if isinstance(key, tuple | list) else (key,)
    if not 0 < len(values) <= len(names):
        raise InvalidInput(
            f"the key {key!r} has {len(values)} values, the archive's key has {len(names)}: {', '.join(names)}",
            "give a value for each, or for the first ones",
        )
    fields = {one.name: one for one in version.shape.fields}
    return tuple(_typed_value(value, fields[name]) for value, name in zip(values, names, strict=False))


def _typed_value(value: Any, column: Field) -> Any:
    """ASCII for a column of text, the most frequent key, is taken as it is: the conversions take long to load."""
    if isinstance(value, str) and value.isascii() and column.type == _TEXT:
        return value
    from tidewheel.sql.engine.column_types import arrow_schema
    from tidewheel.storage.key_values import typed_key

    return typed_key(value, column.name, arrow_schema([column]).field(0).type)
