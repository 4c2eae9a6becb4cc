"""The plans of operations other than the update: each holds all that its operation will do, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import FileChange, Plan
from tidewheel.indexing.core.receipts import Deed, Restoration, Tombstone
from tidewheel.indexing.core.state import FileFact, TableState
from tidewheel.indexing.core.undo_rules import restoration_between, tombstones_between
from tidewheel.indexing.errors import InvalidInput


@dataclass(frozen=True)
class Selection:
    """The records to forget: keys, each a tuple of values or of their texts, or an SQL predicate over the columns."""

    keys: tuple[tuple[Any, ...], ...] = ()
    where: str = ""

    def __post_init__(self) -> None:
        if bool(self.keys) == bool(self.where.strip()):
            raise InvalidInput("forget needs keys or a predicate, one of the two", "give --key, --keys-file or --where")


@dataclass(frozen=True, kw_only=True)
class ForgetPlan(Plan):
    """Only files known to hold a selected record are rewritten; `found` are the live cells that go."""

    selection: Selection
    found: Mapping[tuple[int, int], Cell]

    @property
    def forgotten(self) -> tuple[tuple[int, Cells], ...]:
        """Return the cells that leave, by insertion slot."""
        by_slot: dict[int, dict[int, Cell]] = {}
        for (slot, expiration), cell in self.found.items():
            by_slot.setdefault(slot, {})[expiration] = cell
        return tuple(sorted(by_slot.items()))


@dataclass(frozen=True, kw_only=True)
class MigratePlan(Plan):
    """`generation` becomes the current one; with `relocates`, every live record moves into it in the same commit."""

    relocates: bool


@dataclass(frozen=True, kw_only=True)
class UndoPlan(Plan):
    """The way back to an earlier version: the files that return, and the changes to the ledger."""

    to_version: int
    restored: tuple[FileFact, ...]
    restoration: Restoration


def plan_nothing(state: TableState, operation: Deed) -> Plan:
    """Return the plan of a commit that touches no file, and leaves the watermark where it is."""
    return Plan(
        operation=operation,
        version=state.version,
        head=state.head,
        slots=(),
        watermark_before=state.watermark,
        watermark=state.watermark,
        generation=state.definition.current,
        dropped=(),
        rewritten=(),
    )


def plan_migration(state: TableState, generation: Generation, *, relocates: bool) -> MigratePlan:
    """Return the plan of a new generation; stop-and-rebuild moves everything alive into it."""
    dead = state.watermark
    dropped = tuple(FileChange(f, "expired") for f in state.files if dead is not None and f.exp_max <= dead)
    gone = {change.file.path for change in dropped}
    rewritten = tuple(FileChange(f, "moves to the new layout") for f in state.files if f.path not in gone)
    return MigratePlan(
        **{
            **vars(plan_nothing(state, Deed.MIGRATE)),
            "generation": generation,
            "dropped": dropped if relocates else (),
            "rewritten": rewritten if relocates else (),
        },
        relocates=relocates,
    )


def plan_forget(
    state: TableState,
    selection: Selection,
    hits: Mapping[str, Mapping[tuple[int, int], Cell]],
    tombstones: tuple[Tombstone, ...] = (),
) -> ForgetPlan:
    """Return the plan of a forget, from the cells of the selected records by file."""
    rewritten = tuple(FileChange(f, "holds forgotten records") for f in state.files if hits.get(f.path))
    found: dict[tuple[int, int], Cell] = {}
    for change in rewritten:
        for at, cell in hits[change.file.path].items():
            if state.watermark is None or at[1] > state.watermark:
                found[at] = found[at].plus(cell) if at in found else cell
    nothing = {**vars(plan_nothing(state, Deed.FORGET)), "rewritten": rewritten, "tombstones": tombstones}
    return ForgetPlan(**nothing, selection=selection, found=found)


def plan_undo(now: TableState, then: TableState) -> UndoPlan:
    """Return the plan of going back to a state that was: files in and out, its watermark, the ledger's difference."""
    present, wanted = {file.path for file in now.files}, {file.path for file in then.files}
    return UndoPlan(
        operation=Deed.UNDO,
        version=now.version,
        head=now.head,
        slots=(),
        watermark_before=now.watermark,
        watermark=then.watermark,
        generation=now.definition.current,
        dropped=tuple(
            FileChange(file, f"came after version {then.version}") for file in now.files if file.path not in wanted
        ),
        rewritten=(),
        tombstones=tombstones_between(now.ledger, then.ledger),
        to_version=then.version,
        restored=tuple(file for file in then.files if file.path not in present),
        restoration=restoration_between(now.ledger, then.ledger),
    )
