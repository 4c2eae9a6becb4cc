"""Random histories as plain lists: every step carries all it needs, so any part of a history is a history."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

from tests.simulator.actors import Order
from tests.simulator.world import PARTS, horizon_of
from tests.support.models.model_table import definition_of, random_generation
from tidewheel.indexing.core.definition import Definition, Retention

WRITERS = 2
READERS = 3
GRACE_US = 100
RETENTION = Retention(
    grace_us=GRACE_US, vacuum_period_us=1, log_us=3 * GRACE_US, quarantine_us=8 * GRACE_US, hold_us=4 * GRACE_US
)
CLOCK_JUMP_US = 20 * GRACE_US
WRITER_STEPS = (1, 1, 2, 8)  # of one writer at most, in one step of a history
VACUUM_STEPS = 6  # of one vacuum at most, in one step of a history


class Until(IntEnum):
    """How far an undo or a vacuum goes in one step of a history, where it is more than one of its own."""

    NEXT, END, COMMIT, DELETED = range(4)


@dataclass(frozen=True)
class Step:
    """One thing that happens. `who` is a writer, a reader or how far to go; `number` a slot, a duration or a count."""

    what: str
    who: int = 0
    number: int = 0
    order: Order | None = None


# A new one, until it has deleted data files.
A_VACUUM = (Step("vacuum dies"), Step("vacuum", Until.DELETED))
WEIGHTS = {
    "go": 40,
    "order": 26,
    "deliver": 6,
    "crash": 4,
    "again": 4,
    "stall": 3,
    "answer lost": 2,
    "undo": 5,
    "undo dies": 1,
    "vacuum": 8,
    "vacuum dies": 1,
    "open": 3,
    "read": 3,
    "hold": 4,
    "release": 1,
    "clock": 5,
}
DERIVED_SHARE = 0.15  # of histories: those of an archive that is derived from another
NOT_DERIVED = ("undo", "undo dies")  # what nobody does to such a one


def random_definition(seed: int) -> Definition:
    chance = random.Random(seed)
    span = chance.choice([1, 2, 4, 5])
    definition = definition_of(random_generation(chance, 0, span), span)
    derived = str(chance.randint(1, span + 3)) if chance.random() < DERIVED_SHARE else ""
    return replace(definition, retention=RETENTION, derived=derived)


def random_steps(seed: int, length: int) -> list[Step]:
    """A history. One in four has a clock that jumps in both directions."""
    chance = random.Random(seed)
    definition = random_definition(seed)
    span, head, jumpy = definition.span, chance.randrange(-5, 5), chance.random() < 0.25
    weights = {what: often for what, often in WEIGHTS.items() if not (definition.derived and what in NOT_DERIVED)}
    steps: list[Step] = []
    for what in chance.choices(list(weights), list(weights.values()), k=length):
        if what == "order":
            order = _random_put(chance, head, definition) if definition.derived else _random_order(chance, head, span)
            head = max([head, *order.slots, order.number if order.kind in ("expire", "put") else head])
            steps.append(Step(what, chance.randrange(WRITERS), order=order))
        elif what == "deliver":
            steps.append(Step(what, number=head - chance.randrange(-1, span + 2)))
        elif what == "clock":
            far = jumpy and chance.random() < 0.3
            steps.append(Step(what, number=chance.choice((-1, 1)) * CLOCK_JUMP_US if far else chance.randrange(1, 60)))
        elif what == "hold":
            steps += _hold(chance)
        elif what == "stall":
            steps += _stall(chance)
        elif what == "undo":
            steps += _undo(chance)
        elif what == "vacuum":
            steps.append(Step(what, number=chance.randrange(1, VACUUM_STEPS)))
        elif what == "go":
            steps.append(Step(what, chance.randrange(WRITERS), chance.choice(WRITER_STEPS)))
        else:
            actors = READERS if what in ("open", "read", "release") else WRITERS
            steps.append(Step(what, chance.randrange(actors), chance.randrange(2)))
    return steps


def _stall(chance: random.Random) -> list[Step]:
    """A writer is held up for a while, or goes on; mostly a vacuum comes to its deletions meanwhile."""
    who = chance.randrange(WRITERS)
    held = Step("stall", who, chance.randrange(2 * GRACE_US))
    return [held] if chance.random() < 0.25 else [held, *A_VACUUM, Step("stall", who)]


def _hold(chance: random.Random) -> list[Step]:
    """A reader holds what it opened, at once or step by step; mostly a vacuum comes by after grace."""
    who, far = chance.randrange(READERS), chance.randrange(1, 6 * GRACE_US)
    held = [Step("open", who)] * (chance.random() < 0.7) + [Step("hold", who, far)] * chance.choice((1, 3, 9))
    if chance.random() < 0.4:
        return held
    return [*held, Step("clock", number=chance.randrange(GRACE_US, 3 * GRACE_US)), *A_VACUUM, Step("read", who)]


def _undo(chance: random.Random) -> list[Step]:
    """An undo, or a step of it; now and then it has looked and is held up, while a vacuum comes to its deletions."""
    back = chance.choice((1, 1, 1, 2, 3))
    if chance.random() < 0.8:
        return [Step("undo", chance.choice((Until.NEXT, Until.END)), back)]
    looked, ended = Step("undo", Until.COMMIT, 1), Step("undo", Until.END, 1)
    return [looked, Step("clock", number=chance.randrange(2 * GRACE_US)), *A_VACUUM, ended]


def _random_order(chance: random.Random, head: int, span: int) -> Order:
    confirmed = chance.random() < 0.8
    kind = chance.choices(
        ["next", "same", "back", "range", "jump", "expire", "forget", "run both", "rebuild", "observe"],
        [12, 4, 5, 3, 1, 2, 2, 1, 1, 1],
    )[0]
    if kind == "observe":
        return Order(kind, number=chance.choice((0, 1, span + 1, 3 * span)))
    if kind in ("forget", "run both", "rebuild"):
        return Order(kind, number=chance.randrange(5), confirmed=confirmed)
    if kind == "expire":
        return Order(kind, number=head + chance.randrange(0, 3), confirmed=confirmed)
    first = {
        "next": head + 1,
        "same": head,
        "back": head - chance.randrange(0, span + 3),
        "range": head - chance.randrange(0, 3),
        "jump": head + chance.randrange(1, 2 * span + 2),
    }[kind]
    return Order("update", tuple(range(first, first + (3 if kind == "range" else 1))), confirmed=confirmed)


def _random_put(chance: random.Random, head: int, definition: Definition) -> Order:
    """Some parts of the source's newest slot, of one that is still compared, or its expiry alone."""
    parts = chance.choice((PARTS, PARTS[:1], PARTS[1:]))
    if chance.random() < 0.1:
        return Order("put", number=head + chance.randrange(3))
    watermark = head + (chance.random() < 0.6)
    slot = watermark if chance.random() < 0.5 else watermark - chance.randrange(horizon_of(definition))
    return Order("put", (slot,), watermark, parts=parts)


def shrunk(steps: list[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """A part of a failing history that still fails: pieces are left out, ever smaller ones."""
    size = len(steps) // 2
    while size:
        at, before = 0, len(steps)
        while at < len(steps):
            shorter = steps[:at] + steps[at + size :]
            if fails(shorter):
                steps = shorter
            else:
                at += size
        if len(steps) == before or size > 1:
            size //= 2
    return steps
