"""Plans in a short notation, plans and histories at random, and the class of a plan as found by running it.

W10 is a time window of 10, I10 an INTERNAL one, C5 a count window, P5 a partitioned one, S an unbounded stream; each is
over a stream of its own: A, B, C, ... with the fields k and v.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.history import Arrival, History, Update
from tidewheel.queries.statements.labels import Pattern
from tidewheel.queries.statements.oracle import Oracle, Row
from tidewheel.queries.statements.plan import (
    CountWindow,
    Distinct,
    Fold,
    GroupBy,
    Join,
    Negation,
    Operator,
    PredicateWindow,
    Project,
    Relation,
    RelationJoin,
    Select,
    Stream,
    TimeWindow,
    Union,
    operators,
)

FIELDS = ("k", "v")
Notation = Any  # a leaf's text, or [operator, input, ...]


class Builder:
    """Builds plans of the notation; streams are named in the order in which they are met."""

    def __init__(self) -> None:
        self._names = (chr(ord("A") + number) for number in range(26))
        self._tables = count(1)

    def plan(self, written: Notation) -> Operator:
        if isinstance(written, str):
            return self._leaf(written)
        word, *below = written
        inputs = [self.plan(one) for one in below]
        return self._unary(word, inputs[0]) if len(inputs) == 1 else self._binary(word, *inputs)

    def _leaf(self, word: str) -> Operator:
        stream = Stream(next(self._names), FIELDS)
        kind, number = word[0], int(word[1:] or 0) if word[1:].isdigit() else 0
        key, value = stream.columns
        leaves: dict[str, Any] = {
            "S": lambda: stream,
            "W": lambda: TimeWindow(stream, number),
            "I": lambda: TimeWindow(stream, number, internal=True),
            "C": lambda: CountWindow(stream, number),
            "P": lambda: CountWindow(stream, number, (key,)),
            "p": lambda: PredicateWindow(stream, (key,), (Comparison(value, ">", 0),)),
        }
        found: Operator = leaves[kind]()
        return found

    def _unary(self, word: str, below: Operator) -> Operator:
        key, value = below.columns[0], below.columns[-1]
        ways: dict[str, Any] = {
            "select": lambda: Select(below, (Comparison(value, ">", 0),)),
            "project": lambda: Project(below, (key,)),
            "distinct": lambda: Distinct(below, (key,)),
            "counters": lambda: Distinct(below, (key,), counters=True),
            "nrr": lambda: self._looked_up(below, retroactive=False),
            "relation": lambda: self._looked_up(below, retroactive=True),
            "group": lambda: GroupBy(below, (key,), (Fold("count"), Fold("max", value))),
        }
        found: Operator = ways[word]()
        return found

    def _looked_up(self, below: Operator, retroactive: bool) -> Operator:
        relation = Relation(f"{'R' if retroactive else 'N'}{next(self._tables)}", ("id", "name"), retroactive)
        return RelationJoin(below, relation, ((below.columns[0], relation.columns[0]),))

    def _binary(self, word: str, left: Operator, right: Operator) -> Operator:
        on = ((left.columns[0], right.columns[0]),)
        if word == "union":
            return Union(*_alike(left, right))
        ways = {"join": Join(left, right, on), "antijoin": Negation(left, right, on)}
        return ways.get(word) or Negation(left, right, on, bag=True)


def _alike(left: Operator, right: Operator) -> tuple[Operator, Operator]:
    """Return both with as many columns."""
    count = min(len(left.columns), len(right.columns))
    both = [one if len(one.columns) == count else Project(one, one.columns[:count]) for one in (left, right)]
    return both[0], both[1]


def built(written: Notation) -> Operator:
    return Builder().plan(written)


def random_notation(chance: Random, depth: int = 3, leaves: str = "WWWWCPS") -> Notation:
    """Return a plan of at most so many operators above each leaf."""
    if depth == 0 or chance.random() < 0.15:
        kind = chance.choice(leaves)
        return {"S": "S"}.get(kind) or f"{kind}{chance.choice((3, 5, 5, 8)) if kind != 'P' else 2}"
    if chance.random() < 0.45:
        word = chance.choice(("select", "project", "distinct", "distinct", "counters", "nrr"))
        return [word, random_notation(chance, depth - 1, leaves)]
    word = chance.choice(("union", "join", "join", "antijoin", "except"))
    return [word, random_notation(chance, depth - 1, leaves), random_notation(chance, depth - 1, leaves)]


def random_history(chance: Random, plan: Operator, ticks: int, keys: int = 3, begin: int = 1) -> History:
    """Return tuples of every stream, about one in three ticks, and updates of the relations."""
    names = sorted({one.name for one in operators(plan) if isinstance(one, Stream)})
    arrivals = [
        Arrival(name, tick, (chance.randrange(keys), chance.randrange(3)))
        for tick in range(begin, begin + ticks)
        for name in names
        if chance.random() < 0.4
    ]
    relations = sorted({one.relation for one in operators(plan) if isinstance(one, RelationJoin)}, key=str)
    updates = [Update(one.name, 0, (key, key)) for one in relations for key in range(keys)]
    gone = chance.randrange(begin, begin + ticks)
    if chance.random() < 0.5:
        updates += [Update(one.name, gone, (0, 0), leaves=True) for one in relations if one.changes]
    return History(tuple(arrivals), tuple(sorted(updates, key=lambda one: one.at)))


def joined(first: History, then: History) -> History:
    updates = {*first.updates, *then.updates}
    return History(first.arrivals + then.arrivals, tuple(sorted(updates, key=lambda one: (one.at, str(one)))))


Life = tuple[Any, int, int | None]  # identity, first tick, the first tick without it (None: never seen to leave)


def lives(answers: list[list[Row]]) -> Iterator[Life]:
    """Give each stay of each result."""
    since: dict[Any, int] = {}
    for tick, rows in enumerate(answers):
        here = {row.identity for row in rows}
        yield from ((one, since.pop(one), tick) for one in list(since) if one not in here)
        since |= {one: tick for one in here if one not in since}
    yield from ((one, born, None) for one, born in since.items())


LONGEST = 8  # the longest window of random plans


def pattern_seen(plan: Operator, chance: Random, *, internal: bool = False) -> Pattern:
    """Return the simplest class that one prefix with three different futures does not contradict.

    After the futures nothing comes for as long as the longest window, so that what ends is seen to end.
    """
    begun = random_history(chance, plan, LONGEST)
    stays: list[dict[Any, int | None]] = []
    ended: list[Life] = []
    for _ in range(3):
        oracle = Oracle(plan, joined(begun, random_history(chance, plan, LONGEST, begin=LONGEST + 1)))
        found = list(lives((oracle.internal_answers if internal else oracle.answers)(3 * LONGEST + 1)))
        stays.append({(one, born): end for one, born, end in found if born <= LONGEST})
        ended += found
    if any(stays[0].get(key) != end for other in stays[1:] for key, end in other.items()):
        return Pattern.STR
    lengths = {None if end is None else end - born for _, born, end in ended}
    if lengths <= {None}:
        return Pattern.MON
    return Pattern.WKS if len(lengths) == 1 else Pattern.WK
