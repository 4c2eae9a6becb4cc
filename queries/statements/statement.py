"""A persistent query: a plan, what of its answer is reported, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidewheel.queries.statements.plan import Operator, windows


class Output(StrEnum):
    """The part of the answer that a run reports."""

    ANSWER = "answer"  # the rows that are there
    ISTREAM = "Istream"  # rows that are new
    DSTREAM = "Dstream"  # rows that are gone
    RSTREAM = "Rstream"  # all rows again
    WSTREAM = "Wstream"  # the newest rows of all that were ever produced


@dataclass(frozen=True)
class Statement:
    """`restore` also reports rows that came and went between two runs. A Wstream has `rows` or a `range`."""

    plan: Operator
    output: Output = Output.ANSWER
    restore: bool = False
    rows: int | None = None
    range: int | None = None

    @property
    def slides(self) -> tuple[int, ...]:
        """The different slides of the windows, as written; empty if the query is continuous."""
        return tuple(dict.fromkeys(one.slide for one in windows(self.plan) if one.slide is not None))
