"""A session: archives under their names, each pinned at one version, all read as of one moment.

    pinned version   files and their units, what can be selected from them      pinned_version.py
    session          versions side by side, and the connections to ask them on   this file
    question         a class with its own statement                              questions.py

Other people's SQL runs in a sandbox that can open the files of these versions and no others. It sees a view under
each archive's name; in a session of one also as `live`, with the macros probe and probe_range. A name with a dot is
a view in a schema. What follows from the archives may be registered as further views.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import duckdb

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.sql.engine.connections import ANSWERING, open_connection, open_sandbox
from tidewheel.sql.engine.quoting import Sql
from tidewheel.sql.engine.templates import render
from tidewheel.sql.keys.file_access import Access
from tidewheel.sql.pinned_version import EVERYTHING, PinnedVersion
from tidewheel.sql.questions import Query, Question
from tidewheel.sql.read_faults import explained
from tidewheel.sql.relations import LIVE_EXTRA
from tidewheel.sql.results.result import Result
from tidewheel.sql.session_views import ALONE, create_probe_macros, create_view
from tidewheel.sql.statements.guard import Surroundings

if TYPE_CHECKING:
    from tidewheel.sql.explanations import Explanation
    from tidewheel.storage.holding import Holding

_NAME_REMEDY = "use letters, digits and underscores; on the command line, say where it lies: --archive NAME=PLACE"
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")


class Bench:
    """The connections of a session: one for this room's own statements, a fenced one for other people's SQL."""

    def __init__(
        self,
        versions: Iterable[PinnedVersion],
        own: duckdb.DuckDBPyConnection | None = None,
        lock: threading.RLock | None = None,
    ) -> None:
        self.lock = lock or threading.RLock()
        self._versions = tuple(versions)
        self._own = own

    @cached_property
    def own(self) -> duckdb.DuckDBPyConnection:
        """Statements on it take turns."""
        return self._own or open_connection()

    @cached_property
    def fenced(self) -> duckdb.DuckDBPyConnection:
        """Each statement has a cursor of its own."""
        return open_sandbox(path for version in self._versions for path in version.paths())

    def close(self) -> None:
        if "fenced" in self.__dict__:
            self.fenced.close()


class Session:
    """Archives by name, at one moment. Threads may share it."""

    def __init__(
        self,
        versions: Mapping[str, PinnedVersion],
        as_of_us: int,
        bench: Bench | None = None,
        holding: Holding | None = None,
        beside: Mapping[str, PinnedVersion] | None = None,
    ) -> None:
        """`beside` are archives that further views read: they are pinned as well, and nobody asks for them alone."""
        self.named = dict(versions)
        self.pinned = {**versions, **(beside or {})}
        self.holding = holding
        self.as_of_us = as_of_us
        self.bench = bench or Bench(self.pinned.values())
        self._registered: dict[str, Sql] = {}
        if not versions:
            raise InvalidInput("a session needs an archive", "name one or more")
        for name in self.pinned:
            self._refuse_name(name)

    @property
    def versions(self) -> dict[str, int]:
        """The version of each archive."""
        return {name: version.number for name, version in self.pinned.items()}

    @property
    def only(self) -> PinnedVersion:
        """The version of a session of one."""
        if len(self.named) != 1:
            raise InvalidInput(
                f"the session holds {len(self.named)} archives: {', '.join(self.named)}",
                "say which one: session[NAME]",
            )
        return next(iter(self.named.values()))

    def __getitem__(self, name: str) -> Session:
        """One archive of it, at the same version and moment."""
        if name not in self.pinned:
            raise InvalidInput(f"the session holds no archive {name}", f"it holds {', '.join(self.pinned)}")
        return Session({name: self.pinned[name]}, self.as_of_us, self.bench)

    def sql(self, query: str) -> Result:
        """The answer to one SELECT over the archives' live records, as a stream."""
        return self.ask(Query(query))

    def ask(self, question: Question, columns: Sequence[str] | None = None) -> Result:
        """Answer a question."""
        return question.ask(self, columns)

    def explain(self, question: Question, columns: Sequence[str] | None = None) -> Explanation:
        """Run a question and tell what was opened for it, and why."""
        from tidewheel.sql.explanations import explain

        with self.bench.lock:
            return explain(self, question, columns)

    def live(self, name: str) -> duckdb.DuckDBPyRelation:
        """The live records of an archive, with ins_slot, exp_slot and valid_until."""
        version = self[name].only
        cursor, access = self.cursor(), version.access(EVERYTHING, self.as_of_us)
        return self._relation(cursor, name, access, version.live(cursor, access, self.columns_of(version)))

    def stored(self, name: str, files: Iterable[FileFact] | None = None) -> duckdb.DuckDBPyRelation:
        """Every record in some files of an archive's version, or in all, whether alive or not.

        Beside people's columns it has ins_slot, exp_slot, valid_until and row_hash.
        """
        version = self[name].only
        cursor, access = self.cursor(), version.access_to(version.files if files is None else files)
        return self._relation(cursor, name, access, version.stored(cursor, access))

    def register(self, name: str, select: Sql) -> None:
        """Another view for this session's queries: a statement over the views that are there."""
        self._refuse_name(name)
        self._registered[name] = select

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection of the caller's own with the session's views; it is not fenced in."""
        connection = duckdb.connect(":memory:")
        connection.execute(render("settings_of_caller"))
        self.create_views(connection)
        return connection

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A place in the sandbox for one statement of other people's."""
        cursor = self.bench.fenced.cursor()
        ANSWERING.add(cursor)
        return cursor

    def create_views(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str] | None = None
    ) -> dict[str, Access]:
        """The views that a connection asks; gives what they open."""
        reads = {name: version.access(EVERYTHING, self.as_of_us) for name, version in self.pinned.items()}
        try:
            for name, version in self.pinned.items():
                shown = columns if columns and name in self.named else self.columns_of(version)
                live = version.live(connection, reads[name], shown)
                create_view(connection, name, live)
                if len(self.named) == 1 and name in self.named:
                    create_view(connection, ALONE, live)
                    create_probe_macros(connection, version.key_columns)
            for name, select in self._registered.items():
                create_view(connection, name, select)
        except duckdb.Error as error:
            raise self.explained(error, reads) from error
        return reads

    @property
    def surroundings(self) -> Surroundings:
        """Return the views and macros that other people's SQL may read."""
        alone = len(self.named) == 1
        names = (*self.pinned, *self._registered, *([ALONE] if alone else []))
        return Surroundings(tuple(names), probes=alone)

    def explained(
        self, error: Exception, reads: Mapping[str, Access] | None = None, question: str = ""
    ) -> TidewheelError:
        """The error to raise for one of DuckDB's while it read these files, or any: the file at fault, if one is."""
        if reads is None:
            reads = {name: version.access_to(version.files) for name, version in self.pinned.items()}
        opened = [(self.pinned[name].snapshot, access.read) for name, access in reads.items()]
        return explained(error, opened, question=question)

    def _relation(
        self, cursor: duckdb.DuckDBPyConnection, name: str, access: Access, select: Sql
    ) -> duckdb.DuckDBPyRelation:
        try:
            return cursor.sql(select)
        except duckdb.Error as error:
            raise self.explained(error, {name: access}) from error

    @staticmethod
    def columns_of(version: PinnedVersion) -> tuple[str, ...]:
        """Return the columns that `live` shows."""
        return (*version.shape.own, *LIVE_EXTRA)

    def close(self) -> None:
        """Give back what is held."""
        if self.holding is not None:
            self.holding.release()
        self.bench.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_name(self, name: str) -> None:
        taken = [one for one in (*self.pinned, *self._registered) if one.lower() == name.lower()]
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} cannot be an archive's name in SQL",
                "use letters, digits and underscores; on the command line: --archive NAME=PLACE",
            )
        if len(taken) > (name in self.pinned):
            raise InvalidInput(f"the name {name} is given twice", "SQL does not tell capital letters from small ones")
