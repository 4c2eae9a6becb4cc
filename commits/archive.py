"""The archive as operations need it: its place, its file, a clock, and a hand if files are written."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidewheel.commits.clock import now_us
from tidewheel.indexing.core.definition import ArchiveFile, Definition
from tidewheel.indexing.core.layouts import MEBIBYTE, Generation
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.location import Location
from tidewheel.storage.newest import Newest
from tidewheel.storage.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from tidewheel.commits.procedure import Hand
    from tidewheel.commits.side_tables.side_table import SideTable
    from tidewheel.commits.table import Table
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.state import TableState


def _silent(step: str) -> None:
    """Ignore progress: nobody watches it."""


def _unwatched(state: TableState, plan: Plan) -> None:
    """Ignore a plan: nobody watches it."""


@dataclass(frozen=True)
class ArchiveJob:
    """An archive as operations see it.

    `file` may be missing for operations without a source: expire, forget, undo, vacuum, audit.
    """

    location: Location
    file: ArchiveFile | None = None
    clock: Callable[[], int] = now_us
    progress: Callable[[str], None] = field(default=_silent)
    given_hand: Hand | None = None
    given_side_tables: tuple[SideTable, ...] = ()  # by default those beside the table
    given_table: Table | None = None  # by default the Delta table at the location
    # Told of each plan that is about to be carried out; of another one, if somebody else was first.
    planned: Callable[[TableState, Plan], None] = field(default=_unwatched)
    newest: Newest | None = None  # of one who asks for the newest version again and again
    called: str = ""  # what its user calls it, if not by its place

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the archive's table, checked against its file."""
        if self.given_table is not None:  # not by `table`: what only reads need not load what writes
            snapshot = self.given_table.open(version)
        elif self.newest is not None and version is None:
            snapshot = self.newest.of(self.location)
        else:
            snapshot = open_snapshot(self.location, version)
        if self.file is not None and version is None:
            migrate = self.source_command("migrate", self.file.name)
            refuse_contradiction(self.file, snapshot.definition, migrate, is_empty=snapshot.watermark is None)
        return snapshot

    def command(self, verb: str, *more: str) -> str:
        """Return a command line for this archive, as its user can type it."""
        return shlex.join(["tidewheel", verb, self.called or self.location.uri, *more])

    def source_command(self, verb: str, name: str, *more: str) -> str:
        """Return a command line that needs the archive file; without one, the file is named by the archive."""
        return replace(self, called=self.called or f"{name}.toml").command(verb, *more)

    def source_called(self, name: str) -> str:
        """Return the user's name for the archive that this one, of a name, is derived from."""
        source, _, kind = name.rpartition(".")
        called = self.called.removesuffix(f".{kind}")
        return called if called == source or called.endswith(".toml") else f"{source}.toml"

    def derived_anew(self, name: str) -> str:
        """Return the remedy for a derived archive, of a name, that cannot be read."""
        refresh = shlex.join(["tidewheel", "refresh", self.source_called(name)])
        again = (
            "to fold again what can be read of the records, from which young answers follow"
            if name.endswith(".partials")
            else "to give again what its partials still cover, and nothing older"
        )
        return f"restore it from a copy; or, {again}, run: {self.location.aside_command()} && {refresh}"

    @property
    def table(self) -> Table:
        """Return the table, which holds versions, files and checkpoints."""
        from tidewheel.commits.delta_table import DeltaArchive

        return self.given_table or DeltaArchive(self.location)

    @property
    def hand(self) -> Hand:
        """Return the hand that writes files, for the operations that need one."""
        if self.given_hand is None:
            raise ValueError(f"this job on {self.location.uri} has to write files, and was given no hand for it")
        return self.given_hand

    def require_file(self) -> ArchiveFile:
        if self.file is None:
            raise InvalidInput(
                f"{self.location.uri} is a table's path; this command also needs to know the source",
                "name the archive file instead, for example archives/netflow.toml",
            )
        return self.file


def refuse_contradiction(file: ArchiveFile, stored: Definition, migrate: str, *, is_empty: bool = False) -> None:
    """Refuse an archive file that contradicts the table, with both values for each."""
    declared = file.definition(stored.salt)
    fixed = _differences(_fixed_facts(declared), _fixed_facts(stored))
    layout = _differences(_layout_facts(file.generation), _layout_facts(stored.current))
    if not fixed and not layout:
        return
    remedy = "change the archive file back"
    if is_empty and file.clock is not stored.clock and len(fixed) == 1:
        remedy += f", or, as the archive holds nothing yet, take over what the file says: {migrate}"
    elif fixed:
        remedy += "; these never change in place: a new archive can be filled with this one as its source"
    else:
        remedy += f", or move the archive to the new layout: {migrate}"
    raise InvalidInput(
        f"the archive file of {file.name} contradicts its table: {'; '.join([*fixed, *layout])}. Nothing was changed",
        remedy,
    )


def _fixed_facts(definition: Definition) -> dict[str, object]:
    retention = definition.retention
    return {
        "[archive] name": definition.name,
        "[archive] key": ", ".join(definition.key),
        "[archive] clock": definition.clock.value,
        "[time] interval": duration_text(definition.axis.interval_us),
        "[time] epoch": iso(definition.axis.epoch_us),
        "[time] max_lifetime": duration_text(definition.max_lifetime_us),
        "[retention] grace": duration_text(retention.grace_us),
        "[retention] vacuum_period": duration_text(retention.vacuum_period_us),
        "[retention] log": duration_text(retention.log_us),
        "[retention] quarantine": duration_text(retention.quarantine_us),
        "[retention] hold": duration_text(retention.hold_us),
    }


def _layout_facts(generation: Generation) -> dict[str, object]:
    layout = generation.layout
    return {
        "[layout] kind": layout.kind.value,
        "[layout] insertion_classes": layout.insertion_classes,
        "[layout] expiration_classes": layout.expiration_classes,
        "[layout] seed": layout.seed,
        "[layout] strategy": generation.strategy.value,
        "[layout] dead_share_max": generation.dead_share_max,
        "[layout] runs_max": generation.runs_max,
        "[layout] target_file_mb": generation.target_file_bytes // MEBIBYTE,
    }


def _differences(declared: Mapping[str, object], stored: Mapping[str, object]) -> list[str]:
    return [f"{name} is {declared[name]} in the file, {stored[name]} in the table" for name in declared
            if declared[name] != stored[name]]  # fmt: skip
