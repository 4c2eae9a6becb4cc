"""Cells: how many rows of an (insertion slot, expiration slot) there are, and what their hashes add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HASH_MODULUS = 1 << 64


@dataclass(frozen=True)
class Cell:
    """Rows of one (insertion slot, expiration slot), and the sum of their row hashes modulo 2**64."""

    rows: int
    hash: int

    def plus(self, other: Cell) -> Cell:
        return Cell(self.rows + other.rows, (self.hash + other.hash) % HASH_MODULUS)

    def minus(self, other: Cell) -> Cell:
        return Cell(self.rows - other.rows, (self.hash - other.hash) % HASH_MODULUS)


Cells = Mapping[int, Cell]  # by expiration slot


def cells_to_json(cells: Cells) -> dict[str, list[Any]]:
    """Return cells with hashes as hex text: they do not fit the integers of every JSON reader."""
    return {str(slot): [cell.rows, f"{cell.hash:016x}"] for slot, cell in sorted(cells.items())}


def cells_from_json(values: Mapping[str, Any]) -> dict[int, Cell]:
    return {int(slot): Cell(rows, int(digest, 16)) for slot, (rows, digest) in values.items()}
