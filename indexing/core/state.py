"""The state of an archive's table at one version: all that a plan needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.ledger import Ledger

SubIndex = tuple[int, int, int]  # generation, row g, column e
Bound = Any  # a value of a key column's type, or None where the log has no statistics
# In the name of a file, before the run that it stays in.
OF_RUN = ".of-"


@dataclass(frozen=True, slots=True)
class FileFact:
    """One data file as the log describes it. Files of one run and one sub-index are key ranges of one sorted whole.

    Facts that only help a reader to skip the file are not part of its identity, and may be missing.
    """

    path: str
    generation: int
    g: int
    e: int
    ins_min: int
    ins_max: int
    exp_min: int
    exp_max: int
    rows: int
    bytes: int
    valid_until_max_us: int | None = field(default=None, compare=False)
    key_min: tuple[Bound, ...] = field(default=(), compare=False)
    key_max: tuple[Bound, ...] = field(default=(), compare=False)

    @property
    def subindex(self) -> SubIndex:
        return (self.generation, self.g, self.e)

    @property
    def folder(self) -> str:
        """Return the folder of the attempt that wrote it."""
        return self.path.split("/", 1)[0]

    @property
    def run(self) -> str:
        """Return the folder of the run that it belongs to: its own, or that of the file which it replaced."""
        _, told, rest = self.path.rpartition(OF_RUN)
        return rest.split(".", 1)[0] if told else self.folder


@dataclass(frozen=True)
class TableState:
    """One snapshot: plan and commit are pinned to it."""

    version: int
    head: int
    watermark: int | None
    definition: Definition
    files: tuple[FileFact, ...]
    ledger: Ledger = field(default_factory=Ledger)

    def by_subindex(self) -> dict[SubIndex, list[FileFact]]:
        groups: dict[SubIndex, list[FileFact]] = defaultdict(list)
        for file in self.files:
            groups[file.subindex].append(file)
        return dict(groups)

    def rows_alive(self, watermark: int | None, without: Container[int] = ()) -> dict[SubIndex, int]:
        """Return the rows per sub-index that outlive a watermark, by the ledger: the rest of a sub-index is dead.

        `without` are slots about to be replaced: their rows are as good as dead.
        """
        alive: dict[SubIndex, int] = defaultdict(int)
        layout_of = cache(lambda number: self.definition.generation(number).layout)
        column_of = cache(lambda number, expiration: layout_of(number).column_of(expiration))
        for slot, record in self.ledger.records.items():
            if slot in without:
                continue
            number = record.generation
            g = layout_of(number).row_of(slot)
            for expiration, cell in record.cells.items():
                if watermark is None or expiration > watermark:
                    alive[(number, g, column_of(number, expiration))] += cell.rows
        return dict(alive)
