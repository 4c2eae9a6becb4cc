"""Random statements of derived archives: all forms and windows, legal ones only unless they are asked for."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from tidewheel.queries.derivations.forms import (
    AsOf,
    Compare,
    Distinct,
    ExceptAll,
    Exists,
    Form,
    Join,
    LeftJoin,
    Map,
    NotExists,
    Ranked,
    Source,
    UnionAll,
    Where,
)
from tidewheel.queries.derivations.legality import refusals
from tidewheel.queries.derivations.windows import Living, Newest, Window, Within

ON = ((0, 0),)


def random_statement(
    chance: random.Random, names: Sequence[str], strict_sources: Collection[str] = (), legal: bool = True
) -> Form:
    """Return a statement over all of these sources; each row has a key and a value, or more columns behind them.

    `legal` is false for statements of which one input is where it may not be.
    """
    while True:
        form = _over(chance, names)
        if legal is not bool(refusals(form, strict_sources)):
            return form


def _over(chance: random.Random, names: Sequence[str]) -> Form:
    inputs = [_leaf(chance, name, f"{name}{number}") for number, name in enumerate(names)]
    if len(inputs) == 1 and chance.random() < 0.3:
        inputs.append(_leaf(chance, names[0], f"{names[0]}9"))  # a self-join
    form = inputs[0]
    for other in inputs[1:]:
        form = _two(chance, form, other)
    return _one(chance, form)


def _leaf(chance: random.Random, name: str, alias: str) -> Form:
    leaf: Form = Source(alias, name, _window(chance))
    return Where(leaf, Compare(1, "<", 2)) if chance.random() < 0.2 else leaf


def _window(chance: random.Random) -> Window:
    draw = chance.random()
    if draw < 0.55:
        return Living()
    if draw < 0.85:
        return Within(chance.choice((15, 30, 60)), chance.choice((0, 10)), internal=draw > 0.75)
    return Newest(chance.randint(1, 3), chance.choice(((), (0,))))


def _two(chance: random.Random, left: Form, right: Form) -> Form:
    kind = chance.randrange(8)
    if kind <= 1:
        return Map(Join(left, right, ON), (0, 1, 2, 3)) if kind else Map(Join(left, right, ON), (0, 3))
    if kind == 2:
        return UnionAll(Map(left, (0, 1)), Map(right, (0, 1)))
    if kind == 3:
        return Exists(left, right, ON)
    if kind == 4:
        return NotExists(left, right, ON)
    if kind == 5:
        return (
            ExceptAll(Map(left, (0, 0)), Map(right, (0, 0))) if chance.random() < 0.5 else LeftJoin(left, right, ON, 2)
        )
    return AsOf(left, right, ON) if kind == 6 else Exists(left, right, ON)


def _one(chance: random.Random, form: Form) -> Form:
    draw = chance.random()
    if draw < 0.2:
        return Distinct(Map(form, (0, 0)))
    if draw < 0.35:
        return Ranked(Map(form, (0, 0)), (0,), 1, chance.randint(1, 2), shows_number=chance.random() < 0.5)
    return form
