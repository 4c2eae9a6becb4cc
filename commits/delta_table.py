"""`Table` on disk: a Delta table in a local folder or an object store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq
from deltalake import Field

from tidewheel.commits.attempt_id import new_attempt
from tidewheel.commits.checkpoints import refuse_unreadable, write_checkpoint
from tidewheel.commits.statistics import file_statistics
from tidewheel.commits.written import check_sizes
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.decoding import decoding
from tidewheel.storage.entry import NewFile
from tidewheel.storage.lease import Lease
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot
from tidewheel.storage.statistics_columns import to_state


@dataclass(frozen=True)
class DeltaArchive:
    """The table at a location."""

    location: Location

    def open(self, version: int | None = None) -> Snapshot:
        return open_snapshot(self.location, version)

    def name_attempt(self, now_us: int) -> str:
        return new_attempt(now_us)

    def queue(self, attempt: str, clock: Callable[[], int]) -> Lease:
        return Lease(self.location, attempt, clock)

    def check_files(self, files: Sequence[FileFact]) -> None:
        check_sizes(self.location, files)

    def as_written(self, snapshot: Snapshot, files: Sequence[FileFact]) -> list[NewFile]:
        """Return the files, with statistics from the footers, which proves that they can be read."""
        written_ms = dict(
            zip(*(snapshot.adds.column(name).to_pylist() for name in ("path", "modification_time")), strict=True)
        )
        return [NewFile(fact, self._statistics(snapshot, fact), written_ms[fact.path]) for fact in files]

    def statistics_to_state(self, snapshot: Snapshot, new: Sequence[Field], files: Sequence[NewFile]) -> str | None:
        without = {name for file in files for name in _lacking(file, snapshot.definition.key)}
        return to_state(snapshot, new, without)

    def write_checkpoint(self, snapshot: Snapshot) -> None:
        write_checkpoint(self.location, snapshot.table)

    def check_checkpoint(self, checkpoint: StoredFile) -> None:
        refuse_unreadable(self.location, checkpoint)

    def _statistics(self, snapshot: Snapshot, fact: FileFact) -> str:
        with (
            decoding(self.location, fact.path),
            self.location.filesystem.open_input_file(self.location.child(fact.path)) as source,
            pq.ParquetFile(source) as parquet,
        ):
            return file_statistics(parquet, snapshot.definition.key)


def _lacking(file: NewFile, key: Sequence[str]) -> list[str]:
    bounds = json.loads(file.stats)["minValues"]
    return [name for name in (*key, "valid_until") if name not in bounds]
