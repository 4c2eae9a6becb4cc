"""Histories of slides and queries in the literature's notation, and the versions that each query read.

r0        query Q reads slot 0                r_Q1[0]   query Q1 does
w5[0]     slide 5 writes slot 0               c5        slide 5 commits
c         query Q commits                     c_Q1      query Q1 does
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.isolation.window_ring import Ring

_STEP = re.compile(
    r"r(?P<read>\d+)|r_(?P<reader>\w+)\[(?P<read_by>\d+)\]|w_?(?P<slide>\d+)\[(?P<slot>\d+)\]"
    r"|c(?P<committed>\d+)|c_(?P<committer>\w+)|(?P<end>c)"
)
QUERY = "Q"


class Kind(StrEnum):
    READ = "read"
    WRITE = "write"
    COMMIT_SLIDE = "commit of a slide"
    COMMIT_QUERY = "commit of a query"


@dataclass(frozen=True)
class Step:
    kind: Kind
    query: str = ""
    slide: int = -1
    slot: int = -1


@dataclass(frozen=True)
class Read:
    """The versions that a query read, in order, and the last slide applied at its beginning and at its commit."""

    query: str
    versions: tuple[int, ...]
    began_at: int
    committed_at: int


@dataclass(frozen=True)
class History:
    ring: Ring
    first: int  # the last slide before the history
    steps: tuple[Step, ...]

    @property
    def slides(self) -> list[int]:
        return [step.slide for step in self.steps if step.kind is Kind.WRITE]

    def reads(self) -> list[Read]:
        """Follow the steps: a read sees the newest write to its slot, committed or not."""
        last = self.first
        versions: dict[str, list[int]] = {}
        began: dict[str, int] = {}
        ended: dict[str, int] = {}
        for step in self.steps:
            if step.kind is Kind.WRITE:
                last = step.slide
            elif step.kind is Kind.READ:
                began.setdefault(step.query, last)
                versions.setdefault(step.query, []).append(self.ring.version(step.slot, last))
            elif step.kind is Kind.COMMIT_QUERY:
                ended[step.query] = last
        return [Read(query, tuple(held), began[query], ended.get(query, last)) for query, held in versions.items()]

    def place_of_commit(self, step: Step) -> int:
        """Return where a slide or query commits; one that does not say so commits at the end."""
        same = [
            place
            for place, other in enumerate(self.steps)
            if other.kind is step.kind and (other.query, other.slide) == (step.query, step.slide)
        ]
        return same[-1] if same else len(self.steps)


def read_history(text: str, slots: int | None = None, first: int | None = None) -> History:
    """Read a history; the number of slots and the last slide before it follow from it where they are not given.

    >>> read_history("r0 w5[0] c5 r1 r2 r3 r4 c").reads()
    [Read(query='Q', versions=(0, 1, 2, 3, 4), began_at=4, committed_at=5)]
    """
    steps = tuple(_step(word) for word in text.split())
    held = slots or 1 + max((step.slot for step in steps), default=0)
    slides = [step.slide for step in steps if step.kind is Kind.WRITE]
    before = first if first is not None else (slides[0] - 1 if slides else held - 1)
    _check(steps, held, slides, before)
    return History(Ring(held), before, steps)


def _step(word: str) -> Step:
    found = _STEP.fullmatch(word)
    if found is None:
        raise InvalidInput(
            f"'{word}' is no step of a history", "write reads r0 or r_Q1[0], slides w5[0], commits c5, c or c_Q1"
        )
    told = found.groupdict()
    if told["slide"] is not None:
        return Step(Kind.WRITE, slide=int(told["slide"]), slot=int(told["slot"]))
    if told["committed"] is not None:
        return Step(Kind.COMMIT_SLIDE, slide=int(told["committed"]))
    if told["read"] is not None or told["reader"] is not None:
        return Step(Kind.READ, query=told["reader"] or QUERY, slot=int(told["read"] or told["read_by"]))
    return Step(Kind.COMMIT_QUERY, query=told["committer"] or QUERY)


def _check(steps: Iterable[Step], slots: int, slides: Sequence[int], before: int) -> None:
    for step in steps:
        if step.slot >= slots:
            raise InvalidInput(f"slot {step.slot} of a window of {slots}", f"slots are 0 to {slots - 1}")
        if step.kind is Kind.WRITE and step.slide % slots != step.slot:
            raise InvalidInput(
                f"slide {step.slide} writes slot {step.slot}",
                f"in a window of {slots} it writes slot {step.slide % slots}: w{step.slide}[{step.slide % slots}]",
            )
    for expected, slide in enumerate(slides, start=before + 1):
        if slide != expected:
            raise InvalidInput(
                f"slide {slide} refused: window clock is at {expected - 1}, expected {expected}"
                " (slides must commit in order)",
                f"write w{expected}[{expected % slots}] next",
            )
