"""The facts about archives that the pages show, as frozen values; the same as JSON for other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidewheel.figures.answer_plot import AnswerPlot
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.rules.course import Course
from tidewheel.indexing.rules.due import Ranges, slots_in
from tidewheel.indexing.rules.health import WORST_FIRST
from tidewheel.indexing.rules.status import Status


@dataclass(frozen=True)
class Health:
    """One word; why it is not `healthy`, what to do, and what Airflow knows of the cause."""

    word: str
    why: str = ""
    remedy: str = ""
    cause: str = ""

    @property
    def rank(self) -> int:
        return WORST_FIRST.index(self.word)


@dataclass(frozen=True)
class Bring:
    """The page's button that brings the missing slots; `said` tells what prevents it, or who brings them already."""

    offered: bool = False
    said: str = ""


@dataclass(frozen=True)
class Overview:
    """An archive on the page of all; of one that could not be read only its health is known."""

    name: str
    health: Health
    status: Status | None = None
    slots_missing: int = 0
    to_bring: Ranges = ()  # of the missing slots those that a backfill could bring now
    quarantined: Mapping[str, int] | None = None  # records by rule
    bring: Bring = Bring()

    @property
    def slots_to_bring(self) -> int:
        return slots_in(self.to_bring)

    @property
    def records_quarantined(self) -> int:
        return sum((self.quarantined or {}).values())

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "health": self.health.__dict__,
            "slots_missing": self.slots_missing,
            "slots_to_bring": self.slots_to_bring,
            "bring": self.bring.__dict__,
            "quarantined": dict(self.quarantined or {}),
            "status": None if self.status is None else self.status.to_json(),
        }


@dataclass(frozen=True)
class Gap:
    """Slots that were due and never came, [start, end); the command that brings them, and what became of their run."""

    start: str
    end: str
    slots: int
    command: str
    run: str = ""


@dataclass(frozen=True)
class Answers:
    """A standing query's newest answers, or why there are none to see."""

    name: str
    plot: AnswerPlot
    said: str = ""

    def to_json(self) -> dict[str, Any]:
        series = {
            output: {group: {str(at): value for at, value in one.items()} for group, one in drawn.items()}
            for output in self.plot.numbers
            for drawn in [self.plot.series(output)]
        }
        return {"query": self.name, "said": self.said, "series": series}


@dataclass(frozen=True)
class Detail:
    """All that the page of one archive shows."""

    overview: Overview
    axis: TimeAxis | None = None
    course: Course = field(default_factory=lambda: Course({}, {}))
    gaps: Sequence[Gap] = ()
    history: Sequence[tuple[int, Receipt]] = ()
    answers: Sequence[Answers] = ()
    queries_wrong: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.overview.to_json(),
            "course": self.course.to_json(),
            "gaps": [gap.__dict__ for gap in self.gaps],
            "history": [{"version": version, "receipt": receipt.to_json()} for version, receipt in self.history],
            "answers": [one.to_json() for one in self.answers],
            "queries_wrong": self.queries_wrong,
        }
