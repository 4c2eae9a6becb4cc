"""Vacuum of the simulated archive, one step at a time, as commits/vacuum.py does it: others come between."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulator.faults import Fault
from tests.simulator.world import Note, World
from tidewheel.indexing.batches import batches_since
from tidewheel.indexing.receipts import Operation, Receipt
from tidewheel.indexing.vacuum import StoredFile, log_unneeded, unneeded, version_needed_min


class Vacuum:
    """One vacuum on its way. `next` does the step that comes; interrupted, nothing needs mending."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now_us = world.now_us
        self.next: Callable[[], None] | None = self.raise_floor

    def raise_floor(self) -> None:
        world = self.world
        grace_us = 0 if world.fault is Fault.VACUUM_IGNORES_GRACE else world.grace_us
        self.since_us = self.now_us - grace_us
        moments = {version: entry.changed_us for version, entry in world.entries.items()}
        self.oldest = version_needed_min(moments, world.version, self.since_us)
        if world.fault is not Fault.VACUUM_IGNORES_UNDO:
            world.floor = max(world.floor, self.oldest)
        self.next = self.stop_undos

    def stop_undos(self) -> None:
        """One under way cannot commit any more on the version that it saw."""
        if self.world.undos and self.world.fault is not Fault.VACUUM_IGNORES_UNDO:
            self._commit_nothing()
            self.world.undos.clear()
        self.next = self.fold_and_list

    def fold_and_list(self) -> None:
        world = self.world
        self.snapshot = world.state
        world.fold_receipts(1)
        world.checkpoints.setdefault(world.version, world.now_us)
        needed = {fact.path for fact in self.snapshot.files}
        for version, entry in world.entries.items():
            if version > self.oldest:
                needed.update(entry.removed)
        listed = [StoredFile(path, 1, file.written_us) for path, file in world.files.items()]
        self.gone = [file.path for file in unneeded(listed, needed, self.since_us) if not self._spared(file.path)]
        world.listed = frozenset(world.files)
        world.vacuumed_us.append((world.version, self.now_us))
        self.next = self.fence

    def fence(self) -> None:
        """Before files go that no commit brought, a commit that does nothing; what came meanwhile stays."""
        world = self.world
        named = {path for entry in world.entries.values() for path in entry.removed}
        unfenced = world.fault in (Fault.VACUUM_WITHOUT_FENCE, Fault.COMMITS_VACUUMED_FILES)
        if not unfenced and not named.issuperset(self.gone):
            self._commit_nothing()
            later = (entry.removed for at, entry in world.entries.items() if at > self.snapshot.version)
            kept = {fact.path for fact in world.state.files}.union(*later)
            self.gone = [path for path in self.gone if path not in kept]
        self.next = self.delete_half

    def delete_half(self) -> None:
        self._delete(self.gone[: len(self.gone) // 2])
        self.next = self.delete_rest

    def delete_rest(self) -> None:
        self._delete(self.gone)
        self.next = self.clean_log

    def clean_log(self) -> None:
        world = self.world
        entries = {version: StoredFile(f"e{version}", 1, entry.changed_us) for version, entry in world.entries.items()}
        checkpoints = {version: StoredFile(f"c{version}", 1, at_us) for version, at_us in world.checkpoints.items()}
        retention = world.definition.retention
        too_far = world.fault is Fault.LOG_CLEANED_TOO_FAR
        gone = log_unneeded(
            entries,
            checkpoints,
            needed_min=self.snapshot.version if too_far else self.oldest,
            folded=[version for version in world.folds if version <= self.snapshot.version],
            since_us=self.now_us - (0 if too_far else max(retention.log_us, retention.grace_us)),
        )
        for file in gone:
            table = world.entries if file.path[0] == "e" else world.checkpoints
            table.pop(int(file.path[1:]), None)
        self.next = self.sweep_quarantine

    def sweep_quarantine(self) -> None:
        world = self.world
        attempts = {receipt.attempt for _, receipt in world.all_receipts()}
        if any(one.at_us <= self.since_us and one.attempt not in attempts for one in world.quarantine):
            self._commit_nothing()
        counted = batches_since(world.all_receipts(), self.oldest)
        newest_us: dict[tuple[int, str], int] = {}
        for one in world.quarantine:
            at = (one.slot, one.attempt)
            newest_us[at] = max(newest_us.get(at, 0), one.at_us)
        expired_us = self.now_us - world.definition.retention.quarantine_us
        world.quarantine = [
            one
            for one in world.quarantine
            if (at := newest_us[one.slot, one.attempt]) > expired_us
            and (at > self.since_us or (one.slot, one.attempt) in counted)
        ]
        self.next = None

    def _commit_nothing(self) -> None:
        world, state = self.world, self.world.state
        number, name = state.definition.current.number, f"fence{world.version}"
        receipt = Receipt(Operation.FENCE, name, state.head + 1, state.watermark, number, world.now_us)
        version = world.append(receipt, {}, (), state.definition)
        world.settle(version, Note(version, {}))

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            self.world.files.pop(path, None)

    def _spared(self, path: str) -> bool:
        was_committed = path in self.world.removed_us
        return (self.world.fault is Fault.VACUUM_SPARES_EXPIRED_FILES and was_committed) or (
            self.world.fault is Fault.VACUUM_SPARES_DEAD_ATTEMPTS and not was_committed
        )
