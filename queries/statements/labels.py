"""The update pattern of each edge of a plan: if, when and how predictably its rows leave again.

Golab, Waterloo 2006, chapter 3: five rules, from the leaves up, one look at each edge. The thesis prints four of
them; the fifth (group-by) is ours, and three are mended: a union is WKS only of equal lifetimes; a join with one
external window is WK; results that never expire beside results that do are WK with exp = ∞.

- MON: rows never leave. The edge carries rows only.
- WKS: every row leaves after the same time, so the first in is the first out. Their `exp` says when.
- WK: when a row leaves is known when it comes, and differs. Their `exp` says when.
- STR: when a row leaves depends on rows yet to come: negative tuples say so, or a group's newer value.

A label is of the state, as if all windows were external; what leaves the root is `output_label`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from tidewheel.queries.statements.plan import (
    CountWindow,
    Distinct,
    GroupBy,
    Join,
    Negation,
    Operator,
    PredicateWindow,
    Project,
    RelationJoin,
    Select,
    Stream,
    TimeWindow,
    Union,
    operators,
    windows,
)


class Pattern(IntEnum):
    """The four classes, the simplest first."""

    MON = 0
    WKS = 1
    WK = 2
    STR = 3

    @property
    def words(self) -> str:
        return ("append-only", "fixed lifetime", "variable lifetime", "needs corrections")[self]


class Carrier(StrEnum):
    """How an edge says that rows leave."""

    APPEND = "APPEND"  # they do not
    EXP = "EXP"  # each row brings its end
    NEG = "NEG"  # by negative tuples
    REPLACE = "REPLACE"  # by the newer value of the group


_CARRIERS = {
    Pattern.MON: Carrier.APPEND,
    Pattern.WKS: Carrier.EXP,
    Pattern.WK: Carrier.EXP,
    Pattern.STR: Carrier.NEG,
}


@dataclass(frozen=True)
class Label:
    """A class, its constant where it is WKS, and the operator that raised the class so far."""

    pattern: Pattern
    raised_by: Operator
    lifetime: int | None = None
    carrier: Carrier = Carrier.APPEND

    def __str__(self) -> str:
        constant = f"({self.lifetime})" if self.pattern is Pattern.WKS else ""
        return f"{self.pattern.name}{constant}" + ("/REPLACE" if self.carrier is Carrier.REPLACE else "")


@dataclass(frozen=True)
class Labelled:
    """An operator, the label of the edge that leaves it, and its inputs labelled."""

    operator: Operator
    label: Label
    inputs: tuple[Labelled, ...]


def labelled(plan: Operator) -> Labelled:
    """Return the plan with a label on each edge."""
    inputs = tuple(map(labelled, plan.inputs))
    return Labelled(plan, _RULES[type(plan)](plan, *(one.label for one in inputs)), inputs)


def label(plan: Operator) -> Label:
    """Return the label of the edge that leaves the plan's root.

    >>> from tidewheel.queries.statements.plan import window
    >>> str(label(window("A", 10, "k"))), str(label(Union(window("A", 10, "k"), window("B", 7, "k"))))
    ('WKS(10)', 'WK')
    """
    return labelled(plan).label


def output_label(plan: Operator) -> Label:
    """Return the label of the answer: INTERNAL windows change it, and nothing below it."""
    state = label(plan)
    time = [one for one in windows(plan) if isinstance(one, TimeWindow)]
    if not any(one.internal for one in time):
        return state
    is_internal = len(time) == len(windows(plan)) and all(one.internal for one in time)
    if is_internal and not any(_takes_back(one) for one in operators(plan)):
        return _raised(Pattern.MON, plan)
    return state if state.pattern is Pattern.STR else _raised(Pattern.WK, plan)


def _takes_back(one: Operator) -> bool:
    """Return if an operator withdraws results, whatever its windows are."""
    return isinstance(one, Distinct | Negation) or (isinstance(one, RelationJoin) and one.relation.retroactive)


def _raised(pattern: Pattern, by: Operator, lifetime: int | None = None) -> Label:
    return Label(pattern, by, lifetime, _CARRIERS[pattern])


def _inherited(one: Label) -> Label:
    """Return the label as the next operator passes it on: a replacement becomes a pair, −old and +new."""
    return replace(one, carrier=_CARRIERS[one.pattern])


def _worst(*labels: Label) -> Label:
    return max(labels, key=lambda one: one.pattern)


def _stream(one: Operator) -> Label:
    return _raised(Pattern.MON, one)


def _time_window(one: TimeWindow, below: Label) -> Label:
    return _raised(Pattern.WKS, one, one.length)


def _strict_window(one: Operator, below: Label) -> Label:
    return _raised(Pattern.STR, one)


def _passed_on(one: Operator, below: Label) -> Label:
    """Rule 1: what has no state passes the pattern on."""
    return _inherited(below)


def _relation_join(one: RelationJoin, below: Label) -> Label:
    """Rule 1 for an NRR, rule 4 for a relation whose updates change old results."""
    return _raised(Pattern.STR, one) if one.relation.retroactive else _inherited(below)


def _union(one: Union, left: Label, right: Label) -> Label:
    """Rule 2: the common pattern; two different lifetimes are no longer first in, first out."""
    worst = _worst(left, right)
    same = left.pattern == right.pattern and left.lifetime == right.lifetime
    return _inherited(worst) if same or worst.pattern >= Pattern.WK else _raised(Pattern.WK, one)


def _join(one: Join, left: Label, right: Label) -> Label:
    """Rule 3: a result ends with the first of its parts."""
    worst = _worst(left, right)
    return _inherited(worst) if worst.pattern in (Pattern.MON, Pattern.STR) else _raised(Pattern.WK, one)


def _distinct(one: Distinct, below: Label) -> Label:
    """Rule 3: a duplicate takes over when the first one ends; counters do not know when that is."""
    if below.pattern is Pattern.STR or (below.pattern is Pattern.MON and not one.counters):
        return _inherited(below)
    return _raised(Pattern.STR if one.counters else Pattern.WK, one)


def _negation(one: Negation, left: Label, right: Label) -> Label:
    """Rule 4: a row that comes on the right ends results on the left."""
    return _raised(Pattern.STR, one)


def _group_by(one: GroupBy, below: Label) -> Label:
    """Rule 5 (ours): the newer value of a group replaces the older one."""
    return Label(Pattern.STR, one, None, Carrier.REPLACE)


_RULES: dict[type[Operator], Callable[..., Label]] = {
    Stream: _stream,
    TimeWindow: _time_window,
    CountWindow: _strict_window,
    PredicateWindow: _strict_window,
    Select: _passed_on,
    Project: _passed_on,
    RelationJoin: _relation_join,
    Union: _union,
    Join: _join,
    Distinct: _distinct,
    Negation: _negation,
    GroupBy: _group_by,
}
