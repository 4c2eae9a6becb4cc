"""What every operation on an archive needs: where it lies, its file, a clock, and Spark if it comes to that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from tidewheel.indexing.definition import ArchiveFile, Definition
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.clock import now_us
from tidewheel.jobs.session import open_session
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot


def _silent(step: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class ArchiveJob:
    """An archive as jobs see it. `spark` is called only when there is something to compute.

    `file` may be missing for what needs no source: expire, forget, undo, vacuum, audit.
    """

    location: Location
    file: ArchiveFile | None = None
    clock: Callable[[], int] = now_us
    spark: Callable[[], SparkSession] = open_session
    progress: Callable[[str], None] = field(default=_silent)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The archive's table, checked against its file."""
        snapshot = open_snapshot(self.location, version)
        if self.file is not None and version is None:
            refuse_contradiction(self.file, snapshot.definition)
        return snapshot

    def require_file(self) -> ArchiveFile:
        if self.file is None:
            raise InvalidInput(
                f"{self.location.uri} is a table's path; this command also needs to know the source",
                "name the archive file instead, for example archives/netflow.toml",
            )
        return self.file


def refuse_contradiction(file: ArchiveFile, stored: Definition) -> None:
    """Refuse an archive file that says something else than the table, with both values for each."""
    declared = file.definition(stored.salt)
    current = stored.current
    pairs = {
        "[archive] name": (declared.name, stored.name),
        "[archive] key": (list(declared.key), list(stored.key)),
        "[archive] clock": (declared.clock.value, stored.clock.value),
        "[time] interval (µs)": (declared.axis.interval_us, stored.axis.interval_us),
        "[time] epoch (µs)": (declared.axis.epoch_us, stored.axis.epoch_us),
        "[time] max_lifetime (µs)": (declared.max_lifetime_us, stored.max_lifetime_us),
        "[retention] (µs)": (declared.retention, stored.retention),
    }
    fixed = [f"{name}: file {a}, table {b}" for name, (a, b) in pairs.items() if a != b]
    layout_differs = replace(file.generation, number=current.number) != current
    if not fixed and not layout_differs:
        return
    layout = [f"[layout]: file {file.generation}, table {current}"] if layout_differs else []
    remedy = "change the archive file back"
    if layout_differs and not fixed:
        remedy += f", or move the archive to the new layout: tidewheel migrate {file.name}"
    elif fixed:
        remedy += "; these never change in place: a new archive can be filled with this one as its source"
    raise InvalidInput(
        f"the archive file of {file.name} contradicts its table: "
        + "; ".join([*fixed, *layout])
        + ". Nothing was changed",
        remedy,
    )
