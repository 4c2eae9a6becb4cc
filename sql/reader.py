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
from types import TracebackType
from typing import Any, TypeVar

import duckdb
from deltalake import Field
from pyarrow import fs

from tidewheel.indexing.as_of import answers_for, as_of_default_us, version_as_of
from tidewheel.indexing.definition import Definition
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.indexing.slots import iso
from tidewheel.sql.connections import open_connection
from tidewheel.sql.damage import FileGone
from tidewheel.sql.explanations import Explanation, explain
from tidewheel.sql.key_filters import KeyFilters
from tidewheel.sql.questions import Probe, Query, Question, Range, Scan
from tidewheel.sql.results import Result
from tidewheel.sql.version_reader import Cells, VersionReader
from tidewheel.storage.ledger_store import all_receipts, checked
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot

OLDER_VERSIONS_KEPT = 4
# DuckDB keeps the footers of files that have long left the archive: a long-lived handle starts afresh at times.
FOOTERS_KEPT_MIN = 1024

T = TypeVar("T")


class Reader:
    """An open archive. Probes of one handle take turns; streams and handed-out connections run on their own."""

    def __init__(self, snapshot: Snapshot, now_us: Callable[[], int], *, pinned: bool) -> None:
        self.location = snapshot.location
        self.pinned = pinned
        self._now_us = now_us
        self._lock = threading.RLock()
        self._connection = open_connection()
        self._filters = KeyFilters(snapshot.location, snapshot.definition.key[0])
        self._footers: set[str] = set()
        self._older: dict[int, VersionReader] = {}
        self._current = self._reader_of(snapshot)

    @staticmethod
    def open(path: str | Path | Location, *, now_us: Callable[[], int], version: int | None = None) -> Reader:
        """Open the newest version and follow it, or one version and stay there.

        `now_us` tells the time in microseconds since 1970 whenever a read means "now".
        """
        location = path if isinstance(path, Location) else Location.of(path)
        return Reader(_snapshot_at(location, version), now_us, pinned=version is not None)

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
        return self._answer(lambda reader, moment_us: reader.ask(question, columns, moment_us), as_of_us)

    def explain(
        self, question: Question, *, as_of_us: int | None = None, columns: Sequence[str] | None = None
    ) -> Explanation:
        """Run a question and tell what was opened for it, and why."""
        with self._lock:
            return self._answer(lambda reader, moment_us: explain(reader, question, columns, moment_us), as_of_us)

    def cells(self, *, live: bool = True, as_of_us: int | None = None) -> Cells:
        """Count and hash sum of every (insertion slot, expiration slot): of what is alive, or of all that is stored."""
        return self._answer(lambda reader, moment_us: reader.cells(moment_us if live else None), as_of_us)

    def cells_by_file(self) -> dict[str, Cells]:
        """The cells of every file, alive or not, by its path in the log. Cost: reads two columns of all files."""
        return self._answer(
            lambda reader, _: {file.path: reader.cells_of_file(file) for file in reader.index.files}, None
        )

    def connect(self, *, as_of_us: int | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection of the caller's own with the view `live` and the macros probe and probe_range.

        It stays at today's version and moment, and it is not fenced in: join with whatever DuckDB can read.
        """
        return self._answer(lambda reader, moment_us: reader.connect(moment_us), as_of_us)

    @property
    def snapshot(self) -> Snapshot:
        return self._current.snapshot

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
        """Go to the newest version, if there is a newer one; a pinned handle stays."""
        with self._lock:
            if self.pinned or self._is_newest():
                return False
            return self._reopen()

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, read: Callable[[VersionReader, int], T], as_of_us: int | None) -> T:
        self.refresh()
        reader, moment_us = self._at(as_of_us)
        try:
            return read(reader, moment_us)
        except FileGone as gone:
            if not self._outlived(reader, gone):
                raise
            if reader is not self._current or self.pinned:
                raise InvalidInput(
                    f"version {reader.version} of archive {self.definition.name} cannot be read any more: its "
                    "files have outlived the grace period and were vacuumed",
                    "read a later version, or give a longer [retention] grace next time",
                ) from gone
        # The version moved on, and vacuum passed, between the look at the log and the read.
        with self._lock:
            self._reopen()
        return read(*self._at(as_of_us))

    def _at(self, as_of_us: int | None) -> tuple[VersionReader, int]:
        """The version that answers for a moment, and the moment."""
        current = self._current
        if as_of_us is None:
            return current, as_of_default_us(self.definition.clock, current.end_us, self._now_us())
        if answers_for(current.end_us, as_of_us):
            return current, as_of_us
        if self.pinned:
            raise InvalidInput(
                f"version {self.version} answers for moments from {iso(current.end_us or 0)} on, "
                f"not for {iso(as_of_us)}",
                "give a later moment, or leave the version out",
            )
        return self._older_as_of(as_of_us), as_of_us

    def _older_as_of(self, as_of_us: int) -> VersionReader:
        watermarks = [(version, receipt.watermark) for version, receipt in all_receipts(self.snapshot)]
        version = version_as_of(watermarks, self.definition.axis, as_of_us)
        if version is None:
            raise InvalidInput(
                f"no version of archive {self.definition.name} answers for {iso(as_of_us)}: by the first update "
                "in its history, records of that time had expired already",
                "give a later moment",
            )
        with self._lock:
            if version not in self._older:
                while len(self._older) >= OLDER_VERSIONS_KEPT:
                    del self._older[next(iter(self._older))]
                self._older[version] = self._reader_of(_snapshot_at(self.location, version))
            return self._older[version]

    def _is_newest(self) -> bool:
        # The own entry is looked for too: after a long pause, both may have been cleaned away.
        names = [self.location.child(f"_delta_log/{v:020d}.json") for v in (self.version, self.version + 1)]
        own, following = self.location.filesystem.get_file_info(names)
        return own.type is fs.FileType.File and following.type is fs.FileType.NotFound

    def _reopen(self) -> bool:
        before = self.version
        self._current = self._reader_of(checked(open_snapshot(self.location)))
        return self.version != before

    def _reader_of(self, snapshot: Snapshot) -> VersionReader:
        paths = set(snapshot.adds.column("path").to_pylist()) if snapshot.adds.num_rows else set()
        self._footers |= paths
        if len(self._footers) > max(FOOTERS_KEPT_MIN, 4 * len(paths)):
            self._connection, self._footers, self._older = open_connection(), paths, {}
        self._filters.keep(self._footers)
        return VersionReader(snapshot, self._connection, self._lock, self._filters)

    def _outlived(self, reader: VersionReader, gone: FileGone) -> bool:
        """Whether a missing file is one that a later version has dropped, and no damage."""
        newest = open_snapshot(self.location)
        return newest.version > reader.version and gone.values["path"] not in {fact.path for fact in newest.files}


def _snapshot_at(location: Location, version: int | None) -> Snapshot:
    try:
        return checked(open_snapshot(location, version))
    except (Damaged, InvalidInput) as error:
        if version is None:
            raise
        newest = open_snapshot(location)
        if version > newest.version:
            why, remedy = "does not exist", f"the newest is version {newest.version}"
        elif _has_entry(location, version):
            raise
        else:
            why, remedy = "is no longer in the log", "read a later version"
        raise InvalidInput(f"version {version} of archive {newest.definition.name} {why}", remedy) from error


def _has_entry(location: Location, version: int) -> bool:
    entry = location.child(f"_delta_log/{version:020d}.json")
    return bool(location.filesystem.get_file_info(entry).type is fs.FileType.File)
