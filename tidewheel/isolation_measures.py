"""An archive's own times as a setting of the published experiment: its columns, updates and a statement over it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tidewheel.indexing.core.receipts import Deed
from tidewheel.indexing.durations import MICROS_PER_UNIT
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.isolation.read_simulation import Costs, Setting

if TYPE_CHECKING:
    from tidewheel.archive import Archive

UPDATES = 50  # the newest ones are measured


@dataclass(frozen=True)
class Measured:
    """The times that a statement and an update take, and how often updates come."""

    columns: int
    interval_s: float
    update_s: float
    statement_s: float

    @property
    def setting(self) -> Setting:
        """Return one query that asks without a pause, column by column."""
        unit_s = self.statement_s / self.columns
        costs = Costs(unit_s, 0, unit_s, 0, self.update_s, 0)
        return Setting(self.columns, self.interval_s, groups=1, costs=costs)

    @property
    def affords(self) -> str:
        """Return the strictest level that the archive can give without an abort."""
        return "latest" if self.statement_s / self.columns + self.update_s < self.interval_s else "strong"

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": self.columns,
            "interval_s": self.interval_s,
            "update_s": self.update_s,
            "statement_s": self.statement_s,
            "affords": self.affords,
        }


def measured(archive: Archive, statement: str) -> Measured:
    """Read the newest updates' times from their receipts, and time a statement: the faster of two runs."""
    updates = [receipt for _, receipt in archive.history(UPDATES) if receipt.operation is Deed.UPDATE]
    if not updates:
        raise InvalidInput("the archive has no update to measure", "bring a slot in first: tidewheel update ARCHIVE")
    definition = archive.snapshot().definition
    return Measured(
        definition.generations[-1].layout.expiration_classes,
        definition.axis.interval_us / MICROS_PER_UNIT["s"],
        median(sum(receipt.timings_ms.values()) for receipt in updates) / 1000,
        min(_seconds(archive, statement) for _ in range(2)),
    )


def _seconds(archive: Archive, statement: str) -> float:
    began = perf_counter()
    archive.sql(statement).rows()
    return perf_counter() - began
