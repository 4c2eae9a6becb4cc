"""The plan of an update: decided from the table's state alone, a frozen value that can be printed and compared.

For a batch of slots K, moving the watermark from W to W' = max(W, max K):

1. A file is *dropped* unread when every row in it goes: all expired (exp_max ≤ W') or all replaced (every slot
   of [ins_min, ins_max] is in K).
2. A file *must be rewritten* when it may hold rows of a slot that the batch replaces.
3. The strategy adds files to re-cluster: `rebuild` the sub-indices of the batch's rows; `rebuild` and
   `expire_rebuild` those of the columns that turn (the classes of the expiration slots in (W, W']), where there
   is anything to take out or to join.
4. Bounds add to that: whole sub-indices with a dead share above `dead_share_max`, and where there would be more
   runs than `runs_max`, the young ones (`joining`).

Whatever is rewritten meets the batch's rows of the same sub-index in one sorted run. Rows to take out of the
files read are always the same: exp_slot ≤ W', ins_slot in K. Files whose slots K never reached are not read for
it: the ledger rides in the same commits as the files, so what it does not know is not there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidewheel.indexing.core.joining import joined_runs
from tidewheel.indexing.core.layouts import Generation, Strategy
from tidewheel.indexing.core.receipts import Deed, Tombstone
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState


@dataclass(frozen=True)
class FileChange:
    """A file that leaves the table, and the reason."""

    file: FileFact
    reason: str


@dataclass(frozen=True)
class Plan:
    """All that one commit will do, and the state that it requires: `version` and `head`."""

    operation: Deed
    version: int
    head: int
    slots: tuple[int, ...]
    watermark_before: int | None
    watermark: int | None
    generation: Generation
    dropped: tuple[FileChange, ...]
    rewritten: tuple[FileChange, ...]
    tombstones: tuple[Tombstone, ...] = ()
    # While somebody derives from the archive: the first slot whose records are kept even where they are not stored.
    unstored_from: int | None = None

    @property
    def work(self) -> tuple[Any, ...]:
        """Return the facts that decide the files to write: plans with equal work can share one attempt's files."""
        paths = tuple(sorted(change.file.path for change in self.rewritten))
        return (self.operation, self.slots, self.watermark, self.generation, paths, self.tombstones, self.unstored_from)

    def keeps_unstored(self, slot: int) -> bool:
        return self.unstored_from is not None and slot >= self.unstored_from

    def to_json(self) -> dict[str, Any]:
        return {
            "operation": self.operation.value,
            "version": self.version,
            "slots": list(self.slots),
            "watermark_before": self.watermark_before,
            "watermark": self.watermark,
            "generation": self.generation.to_json(),
            "drop": [_change_to_json(change) for change in self.dropped],
            "rewrite": [_change_to_json(change) for change in self.rewritten],
            "dropped_bytes": sum(change.file.bytes for change in self.dropped),
            "rewritten_bytes": sum(change.file.bytes for change in self.rewritten),
        }


def plan_update(state: TableState, slots: Iterable[int], expire_through: int | None = None) -> Plan:
    """Return the plan of a batch of slots; without slots, the plan of an expiry alone.

    Cost: one pass over the files, and where some of a file's records have expired one over the ledger's cells.
    """
    batch = tuple(sorted(set(slots)))
    watermark = watermark_after(state.watermark, batch, expire_through)
    plan = Draft(state, batch, watermark)
    batch_rows = {state.definition.current.layout.row_of(slot) for slot in batch}
    for subindex, files in sorted(state.by_subindex().items()):
        plan.decide(subindex, files, batch_rows)
    return Plan(
        operation=Deed.UPDATE if batch else Deed.EXPIRE,
        version=state.version,
        head=state.head,
        slots=batch,
        watermark_before=state.watermark,
        watermark=watermark,
        generation=state.definition.current,
        dropped=tuple(plan.dropped),
        rewritten=tuple(plan.rewritten),
        tombstones=tuple(t for t in state.ledger.tombstones if batch and t.slot_max >= batch[0]),
        unstored_from=_unstored_from(state, watermark) if batch else None,
    )


def _unstored_from(state: TableState, watermark: int | None) -> int | None:
    """Return the first slot that the batch map will cover, if anybody observes it; older ones are not derived."""
    horizon = state.ledger.horizon
    if not horizon or watermark is None:
        return None
    return watermark - max(state.definition.span, horizon) + 1


def watermark_after(watermark: int | None, batch: Sequence[int], expire_through: int | None) -> int | None:
    """Return the watermark, which never moves back: the latest of the old one, the batch and an explicit expiry."""
    candidates = [one for one in (watermark, *batch[-1:], expire_through) if one is not None]
    return max(candidates, default=None)


class Draft:
    """The decisions of one plan while they are collected, sub-index by sub-index."""

    def __init__(
        self,
        state: TableState,
        batch: tuple[int, ...],
        watermark: int | None,
        replaced: frozenset[int] = frozenset(),
    ) -> None:
        self.state = state
        self.batch = frozenset(batch)
        # Slots of which something goes: those of the batch whole, others in part.
        self.replaced = sorted(replaced | (self.batch & state.ledger.records.keys()))
        self.watermark = watermark
        self.dropped: list[FileChange] = []
        self.rewritten: list[FileChange] = []
        self._turning: dict[int, frozenset[int]] = {}

    @cached_property
    def _alive(self) -> dict[SubIndex, int]:
        """Return the rows that outlive the watermark, without those of the batch's slots."""
        return self.state.rows_alive(self.watermark, without=self.batch)

    def decide(self, subindex: SubIndex, files: list[FileFact], batch_rows: set[int]) -> None:
        generation = self.state.definition.generation(subindex[0])
        survivors = [file for file in files if not self._drops(file)]
        receives = generation == self.state.definition.current and subindex[1] in batch_rows
        reason = self._whole_reason(generation, subindex, survivors, receives)
        reason = reason or self._dead_reason(generation, subindex, survivors)
        joined = frozenset() if reason else joined_runs(survivors, generation.runs_max, receives)
        for file in survivors:
            if reason:
                self.rewritten.append(FileChange(file, reason))
            elif joined and file.run in joined:
                self.rewritten.append(FileChange(file, f"more runs than runs_max {generation.runs_max}"))
            elif self._may_hold_replaced(file):
                self.rewritten.append(FileChange(file, "may hold replaced records"))

    def _drops(self, file: FileFact) -> bool:
        if self.watermark is not None and file.exp_max <= self.watermark:
            self.dropped.append(FileChange(file, "expired"))
            return True
        if file.ins_min in self.batch and all(slot in self.batch for slot in range(file.ins_min, file.ins_max + 1)):
            self.dropped.append(FileChange(file, "replaced"))
            return True
        return False

    def _may_hold_replaced(self, file: FileFact) -> bool:
        at = bisect_left(self.replaced, file.ins_min)
        return at < len(self.replaced) and self.replaced[at] <= file.ins_max

    def _whole_reason(
        self, generation: Generation, subindex: SubIndex, survivors: list[FileFact], receives: bool
    ) -> str:
        """Return why the strategy re-clusters the whole sub-index, or an empty text."""
        if generation.strategy is Strategy.NO_REBUILD or not survivors:
            return ""
        if generation.strategy is Strategy.REBUILD and receives:
            return "merged with the batch"
        if subindex[2] in self._turning_columns(generation) and (
            self._partly_expired(survivors) or len({file.run for file in survivors}) > 1
        ):
            return "column turns"
        return ""

    def _dead_reason(self, generation: Generation, subindex: SubIndex, survivors: list[FileFact]) -> str:
        """Return why the sub-index would hold too many dead rows, or an empty text."""
        if not self._partly_expired(survivors):
            return ""
        rows = sum(file.rows for file in survivors)
        dead_share = (rows - self._alive.get(subindex, 0)) / rows
        if dead_share > generation.dead_share_max:
            return f"dead share {dead_share:.2f}, above dead_share_max {generation.dead_share_max}"
        return ""

    def _partly_expired(self, survivors: list[FileFact]) -> bool:
        watermark = self.watermark
        return watermark is not None and any(file.exp_min <= watermark for file in survivors)

    def _turning_columns(self, generation: Generation) -> frozenset[int]:
        before, after = self.state.watermark, self.watermark
        if before is None or after is None or after == before:
            return frozenset()
        if generation.number not in self._turning:
            self._turning[generation.number] = generation.layout.columns_between(before, after)
        return self._turning[generation.number]


def _change_to_json(change: FileChange) -> dict[str, Any]:
    file = change.file
    return {
        "path": file.path,
        "subindex": list(file.subindex),
        "rows": file.rows,
        "bytes": file.bytes,
        "reason": change.reason,
    }
