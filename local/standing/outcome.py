"""The result of a refresh, or of a dry run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tidewheel.commits.attempt import Outcome
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.derived.budget import Left
from tidewheel.queries.standing.query import name_of_part
from tidewheel.queries.standing.staleness import DueAnswers, StalePartials


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh, or of a dry run: stale partials, due answers, their reasons, and the two commits."""

    stale: tuple[StalePartials, ...]
    due: tuple[DueAnswers, ...]
    partials: Outcome | None = None
    answers: Outcome | None = None
    failed: tuple[InvalidInput, ...] = ()  # of queries whose records cannot be folded
    misread: InvalidInput | None = field(default=None, compare=False)  # of query files with faults
    timings_ms: Mapping[str, int] = field(default_factory=dict, compare=False)
    left: Left = field(default_factory=Left)
    missing: int = 0  # of what would be done: at most so many answers are missing
    dropped: tuple[str, ...] = ()  # parts whose answers left, as no query asks for them any more

    @property
    def answers_given(self) -> int:
        """How many answers were given, corrected ones among them."""
        return sum(max(len(one.reports), 1) for one in self.due)

    @property
    def answers_corrected(self) -> int:
        """How many were there before."""
        return sum(max(len(one.reports), 1) for one in self.due if one.revision)

    @property
    def answers_erased(self) -> int:
        """How many answers left as what they name was forgotten; those are not among them that were given again."""
        receipt = None if self.answers is None else self.answers.receipt
        cells = (cells for _, cells in (receipt.forgotten_parts if receipt else ()))
        return sum(cell.rows for one in cells for cell in one.values())

    @property
    def names_due(self) -> list[str]:
        """The queries that answers are due of."""
        return sorted({name_of_part(one.part) for one in self.due})

    @property
    def names_dropped(self) -> list[str]:
        """The queries whose answers left: they are gone, or ask something else now."""
        return sorted({name_of_part(part) for part in self.dropped})

    @property
    def wrong(self) -> InvalidInput | None:
        """The error that kept some queries from being answered; the others are."""
        found = [one for one in (self.misread, *self.failed) if one]
        if len(found) < 2:
            return found[0] if found else None
        return InvalidInput(
            "\n  ".join(one.message for one in found), "; ".join(dict.fromkeys(one.remedy for one in found))
        )

    def summary(self) -> dict[str, Any]:
        """The result without its slots: the same size for one and for thousands."""
        return {
            "queries": self.names_due,
            "answers_given": self.answers_given,
            "answers_erased": self.answers_erased,
            "answers_dropped_of": self.names_dropped,
            "answers_corrected": self.answers_corrected,
            "partials_made": len(self.stale),
            "partials_version": None if self.partials is None else self.partials.version,
            "answers_version": None if self.answers is None else self.answers.version,
        }

    def to_json(self) -> dict[str, object]:
        return {
            "stale": [{"slot": one.slot, "tree": one.tree, "why": one.why} for one in self.stale],
            "due": [
                {"slot": one.slot, "part": one.part, "reports": len(one.reports), "revision": one.revision,
                 "why": one.why} for one in self.due
            ],
            "answers_erased": self.answers_erased,
            "answers_dropped_of": self.names_dropped,
            "partials_version": None if self.partials is None else self.partials.version,
            "answers_version": None if self.answers is None else self.answers.version,
            "timings_ms": dict(self.timings_ms),
            "left": asdict(self.left),
            "missing": self.missing,
        }  # fmt: skip
