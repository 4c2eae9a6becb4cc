"""Reads of an archive: every answer is of one version and as of one moment.

    with Reader.open("/data/netflow", now_us=clock) as reader:
        reader.probe("10.0.0.7").rows()
        reader.probe_range("10.0.0.0", "10.0.1.0", columns=["bytes"]).arrow()
        reader.scan("bytes > 1000").batches()

An open handle stays current: each call looks whether a newer version was committed, which costs a look at two file
names. A handle opened at a version stays there. A moment before the end of the watermark is answered from the
newest version that still held everything alive then, if its files are still there; otherwise it is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from deltalake import Field

from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.as_of import answers_for, as_of_default_us
from tidewheel.sql.engine.connections import open_connection
from tidewheel.sql.keys.key_filters import KeyFilters
from tidewheel.sql.opening import snapshot_at, version_number_as_of
from tidewheel.sql.pinned_version import PinnedVersion
from tidewheel.sql.questions import Probe, Query, Question, Range, Scan
from tidewheel.sql.read_faults import VersionGone
from tidewheel.sql.results.result import Result
from tidewheel.sql.session import Bench, Session
from tidewheel.storage.ledger_store import checked
from tidewheel.storage.location import Location
from tidewheel.storage.newest import entries_from
from tidewheel.storage.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from tidewheel.sql.explanations import Explanation

OLDER_VERSIONS_KEPT = 4
# DuckDB keeps the footers of files that have long left the archive: a long-lived handle starts afresh at times.
FOOTERS_KEPT_MIN = 1024

T = TypeVar("T")
Open = tuple[PinnedVersion, Bench]


class Reader:
    """An open archive. Probes of one handle take turns; streams and handed-out connections run on their own."""

    def __init__(self, snapshot: Snapshot, now_us: Callable[[], int], *, pinned: bool) -> None:
        self.location = snapshot.location
        self.pinned = pinned
        self._now_us = now_us
        self._lock = threading.RLock()
        self._start_afresh()
        self._go_to(snapshot)

    @staticmethod
    def open(path: str | Path | Location, *, now_us: Callable[[], int], version: int | None = None) -> Reader:
        """Open the newest version and follow it, or one version and stay there.

        `now_us` tells the time in microseconds since 1970 whenever a read means "now".
        """
        location = path if isinstance(path, Location) else Location.of(path)
        return Reader(snapshot_at(location, version), now_us, pinned=version is not None)

    def probe(self, key: Any, *, as_of_us: int | None = None, columns: Sequence[str] | None = None) -> Result:
        """The records of one key; a tuple for a composite key, of which the first columns may do.

        Cost: a look at the filters of the files whose key bounds hold the key; of each that has it, one row group.
        """
        return self.ask(Probe(key), as_of_us=as_of_us, columns=columns)

    def probe_range(
        self,
        low: Any = None,
        high: Any = None,
        *,
        as_of_us: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> Result:
        """The records with a key from `low` up to, but not including, `high`; None is no bound."""
        return self.ask(Range(low, high), as_of_us=as_of_us, columns=columns)

    def scan(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        as_of_us: int | None = None,
    ) -> Result:
        """All records alive, or those for which an SQL expression over the columns holds, as a stream."""
        return self.ask(Scan(where), as_of_us=as_of_us, columns=columns)

    def sql(self, query: str, *, as_of_us: int | None = None) -> Result:
        """The answer to one SELECT over the view `live`, as a stream. It reads nothing but this archive."""
        return self.ask(Query(query), as_of_us=as_of_us)

    def ask(self, question: Question, *, as_of_us: int | None = None, columns: Sequence[str] | None = None) -> Result:
        """Answer a question."""
        return self._answer(lambda session: session.ask(question, columns), as_of_us)

    def explain(
        self, question: Question, *, as_of_us: int | None = None, columns: Sequence[str] | None = None
    ) -> Explanation:
        """Run a question and tell what was opened for it, and why."""
        return self._answer(lambda session: session.explain(question, columns), as_of_us)

    def connect(self, *, as_of_us: int | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection of the caller's own with the view `live` and the macros probe and probe_range.

        It stays at today's version and moment, and it is not fenced in: join with whatever DuckDB can read.
        """
        return self._answer(lambda session: session.connect(), as_of_us)

    def session(self, as_of_us: int | None = None) -> Session:
        """The archive alone, pinned at the version that answers for a moment now."""
        return self._answer(lambda session: session, as_of_us)

    @property
    def snapshot(self) -> Snapshot:
        return self._current[0].snapshot

    @property
    def definition(self) -> Definition:
        return self.snapshot.definition

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def columns(self) -> list[Field]:
        """The columns that people put in."""
        return self.snapshot.columns

    def refresh(self) -> bool:
        """Go to the newest version, if there is another one; a pinned handle stays."""
        with self._lock:
            if self.pinned:
                return False
            entry, later = entries_from(self.location, self.version)
            if entry is not None and entry == self._entry and later is None:
                return False
            if entry != self._entry:  # it was cleaned away, or another archive lies there now
                self._start_afresh()
            self._reopen()
            return True

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, read: Callable[[Session], T], as_of_us: int | None) -> T:
        self.refresh()
        session = self._at(as_of_us)
        try:
            return read(session)
        except VersionGone:
            if session.only is not self._current[0] or self.pinned:
                raise
        # The version moved on, and vacuum passed, between the look at the log and the read.
        with self._lock:
            self._reopen()
        return read(self._at(as_of_us))

    def _at(self, as_of_us: int | None) -> Session:
        """The version that answers for a moment, at that moment."""
        current = self._current
        end_us = current[0].end_us
        if as_of_us is None:
            return _alone(current, as_of_default_us(self.definition.clock, end_us, self._now_us()))
        if answers_for(end_us, as_of_us):
            return _alone(current, as_of_us)
        if self.pinned:
            raise InvalidInput(
                f"version {self.version} answers for moments from {iso(end_us or 0)} on, not for {iso(as_of_us)}",
                "give a later moment, or leave the version out",
            )
        return _alone(self._older_as_of(as_of_us), as_of_us)

    def _older_as_of(self, as_of_us: int) -> Open:
        version = version_number_as_of(self.snapshot, as_of_us)
        with self._lock:
            if version not in self._older:
                while len(self._older) >= OLDER_VERSIONS_KEPT:
                    del self._older[next(iter(self._older))]
                self._older[version] = self._opened(snapshot_at(self.location, version))
            return self._older[version]

    def _reopen(self) -> None:
        self._go_to(checked(open_snapshot(self.location)))

    def _go_to(self, snapshot: Snapshot) -> None:
        self._current = self._opened(snapshot)
        self._entry, _ = entries_from(self.location, snapshot.version)

    def _start_afresh(self) -> None:
        """Forget what is known of files and of older versions."""
        self._connection = open_connection()
        self._footers: set[str] = set()
        self._older: dict[int, Open] = {}
        self._filters: KeyFilters | None = None

    def _opened(self, snapshot: Snapshot) -> Open:
        paths = {file.path for file in snapshot.files}
        self._footers |= paths
        if len(self._footers) > max(FOOTERS_KEPT_MIN, 4 * len(paths)):
            self._connection, self._footers, self._older = open_connection(), paths, {}
        self._filters = self._filters or KeyFilters(snapshot.location, snapshot.definition.key[0])
        self._filters.keep(self._footers)
        version = PinnedVersion(snapshot, self._filters)
        return version, Bench([version], self._connection, self._lock)


def _alone(opened: Open, moment_us: int) -> Session:
    version, bench = opened
    return Session({version.snapshot.definition.name: version}, moment_us, bench)
