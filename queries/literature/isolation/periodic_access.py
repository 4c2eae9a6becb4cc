"""How many sub-windows the four ways to evaluate a periodic query touch (section 7.3).

WScan   window scan: records, all of the longest window
IS      incremental scan: records that came and, for each length, those that left; needs answers that subtract
SS      synopsis scan: a summary of each sub-window of the longest window
ISS     incremental synopsis scan: IS over summaries
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Touched:
    """Sub-windows of records and of summaries that one evaluation reads."""

    records: int
    summaries: int


def touched(lengths: Collection[int], slides: int) -> dict[str, Touched]:
    """Count for queries over windows of these lengths, `slides` slides after the last evaluation.

    >>> touched([6, 10], 1)["IS"], touched([6, 10], 2)["ISS"]
    (Touched(records=3, summaries=0), Touched(records=0, summaries=6))
    """
    longest = max(lengths)
    changed = slides + slides * len(set(lengths))
    return {
        "WScan": Touched(longest, 0),
        "IS": Touched(changed, 0),
        "SS": Touched(0, longest),
        "ISS": Touched(0, changed),
    }
