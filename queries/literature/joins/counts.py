"""Operations of an algorithm, counted as its author counts them."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Counts:
    """One comparison is one attribute compared; a tuple that its end rules out first is not compared."""

    comparisons: int = 0
    timestamp_tests: int = 0
    probes: int = 0
    inserted: int = 0
    expired: int = 0
    results: int = 0
    restored: int = 0
    withdrawn: int = 0
    without_key: int = 0
    held_max: int = 0

    def to_json(self) -> dict[str, int]:
        return asdict(self)
