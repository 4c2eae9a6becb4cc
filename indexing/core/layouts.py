"""How slots are assigned to sub-indices: the five layouts, and generations of them.

A layout maps an insertion slot to a row g in [0, G) and an expiration slot to a column e in [0, E):

    round_robin         g = i mod G                     e = x mod E
    chronological       g = floor((i mod p)·G / p)      e = floor((x mod p)·E / p)
    wave_by_insertion   chronological with G = n, E = 1
    wave_by_expiration  chronological with G = 1, E = n
    randomized          a seeded hash of the slot number: the same slot has the same class for ever

A generation is a layout with its strategy, numbered. Migration adds one; files keep the generation they were
written under, so a table may hold several at once and each file's classes mean what its own generation says.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from tidewheel.indexing.errors import InvalidInput

MEBIBYTE = 1024 * 1024
# Files have small row groups, sorted by key: a probe reads one of them, not megabytes around it.
GROUP_ROWS = 10_000
# Of wide records even fewer: a probe decompresses the pages of every row group that has its key. With still smaller
# ones it would spend more on looking through the list of them.
GROUP_BYTES = MEBIBYTE


class LayoutKind(StrEnum):
    ROUND_ROBIN = "round_robin"
    CHRONOLOGICAL = "chronological"
    WAVE_BY_INSERTION = "wave_by_insertion"
    WAVE_BY_EXPIRATION = "wave_by_expiration"
    RANDOMIZED = "randomized"


class Strategy(StrEnum):
    REBUILD = "rebuild"
    NO_REBUILD = "no_rebuild"
    EXPIRE_REBUILD = "expire_rebuild"


@dataclass(frozen=True)
class Layout:
    """G insertion classes × E expiration classes over a span of p slots.

    >>> two_by_two = Layout(LayoutKind.ROUND_ROBIN, 2, 2, span=8)
    >>> two_by_two.row_of(-3), two_by_two.column_of(4)
    (1, 0)
    """

    kind: LayoutKind
    insertion_classes: int
    expiration_classes: int
    span: int
    seed: int = 0

    def __post_init__(self) -> None:
        rows, columns = self.insertion_classes, self.expiration_classes
        if rows < 1 or columns < 1 or self.span < 1:
            raise InvalidInput(
                f"a layout of {rows}×{columns} classes over a span of {self.span} is not possible",
                "give at least one insertion class, one expiration class and one slot of lifetime",
            )
        if self.kind is LayoutKind.WAVE_BY_INSERTION and columns != 1:
            raise InvalidInput(f"wave_by_insertion has 1 expiration class, not {columns}", "set expiration_classes = 1")
        if self.kind is LayoutKind.WAVE_BY_EXPIRATION and rows != 1:
            raise InvalidInput(f"wave_by_expiration has 1 insertion class, not {rows}", "set insertion_classes = 1")

    def row_of(self, insertion_slot: int) -> int:
        """Return the insertion class g of a slot."""
        return self._class_of(insertion_slot, self.insertion_classes, "insertion")

    def column_of(self, expiration_slot: int) -> int:
        """Return the expiration class e of a slot."""
        return self._class_of(expiration_slot, self.expiration_classes, "expiration")

    def columns_between(self, after: int, through: int) -> frozenset[int]:
        """Return the columns of the expiration slots in (after, through]: those that turn when W moves so far."""
        if self.kind is LayoutKind.ROUND_ROBIN and through - after >= self.expiration_classes:
            return frozenset(range(self.expiration_classes))
        columns: set[int] = set()
        for slot in range(after + 1, through + 1):
            columns.add(self.column_of(slot))
            if len(columns) == self.expiration_classes:
                break
        return frozenset(columns)

    def _class_of(self, slot: int, classes: int, axis: str) -> int:
        if classes == 1:
            return 0
        if self.kind is LayoutKind.ROUND_ROBIN:
            return slot % classes
        if self.kind is LayoutKind.RANDOMIZED:
            return hashed_class(self.seed, axis, slot, classes)
        return (slot % self.span) * classes // self.span


def hashed_class(seed: int, axis: str, slot: int, classes: int) -> int:
    """Return the class of a slot under the randomized layout; jobs computes the same with Spark's sha2."""
    digest = sha256(f"{seed}:{axis}:{slot}".encode()).hexdigest()
    return int(digest[:8], 16) % classes


@dataclass(frozen=True)
class Generation:
    """A numbered layout with its strategy and the bounds of its sub-indices."""

    number: int
    layout: Layout
    strategy: Strategy
    dead_share_max: float = 0.5
    runs_max: int = 16
    target_file_bytes: int = 128 * MEBIBYTE

    def __post_init__(self) -> None:
        if not 0 <= self.dead_share_max <= 1:
            raise InvalidInput(f"dead_share_max = {self.dead_share_max} is not a share", "give a number from 0 to 1")
        if self.runs_max < 1:
            raise InvalidInput(f"runs_max = {self.runs_max} is not possible", "give 1 or more")
        if self.target_file_bytes < 1:
            raise InvalidInput(f"a target of {self.target_file_bytes} bytes is not possible", "give at least 1 MB")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> Generation:
        layout = dict(values["layout"])
        layout["kind"] = LayoutKind(layout["kind"])
        return Generation(**{**values, "layout": Layout(**layout), "strategy": Strategy(values["strategy"])})
