"""The choice of synopses that answer a query together: their predicates cover it, or cover more, less the excess.

- Values that do not mind duplicates take any cover: synopses whose terms are, all together, the query's.
- Others take a disjoint cover: no record satisfies terms of two of them. (A synopsis counts a record once even if two
  of its own terms hold. The literature asks for disjoint terms within each as well, and so refuses a query whose
  predicate is exactly that of a synopsis; `is_literal` asks for that.)
- Where none is and values subtract: a disjoint supercover, less a disjoint cover of what it has too much, if that is
  disjoint from all the query asks for.
Departs from the printed listing: a synopsis with exactly the query's predicate is taken, though its terms overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from tidewheel.queries.literature.synopses.terms import Predicate, are_disjoint
from tidewheel.queries.literature.synopses.values import Kind

TERMS_MAX = 20
NODES_MAX = 10_000

Known = Mapping[str, Predicate]


@dataclass(frozen=True)
class Relevant:
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()

    @property
    def merges(self) -> int:
        return len(self.plus) + len(self.minus) - 1


def relevant_set(kind: Kind, wanted: Predicate, known: Known, *, is_literal: bool = False) -> Relevant | None:
    """The fewest synopses by whose values a query is answered; None if there are none that do."""
    if len(wanted) > TERMS_MAX:
        return None
    apart: _Together = _any_together if not kind.is_sensitive else _disjoint
    strict = is_literal and kind.is_sensitive
    usable = {name: terms for name, terms in known.items() if not (strict and _overlaps(terms))}
    inside = {name: terms for name, terms in usable.items() if terms <= wanted}
    cover = _fewest(wanted, inside, apart)
    if cover is not None:
        return Relevant(cover)
    if not kind.is_sensitive or kind.subtract is None:
        return None
    return _by_subtraction(wanted, usable)


def _by_subtraction(wanted: Predicate, known: Known) -> Relevant | None:
    best: Relevant | None = None
    for plus in _exact_covers(wanted, known, _disjoint):
        extra = frozenset[object]().union(*(known[name] for name in plus)) - wanted
        if not are_disjoint(extra, wanted):  # type: ignore[arg-type]
            continue
        inside = {name: terms for name, terms in known.items() if terms <= extra}
        minus = _fewest(extra, inside, _disjoint)  # type: ignore[arg-type]
        if minus is not None:
            found = Relevant(plus, minus)
            best = min(filter(None, (best, found)), key=lambda one: (one.merges, one.plus, one.minus))
    return best


_Together = Callable[[Predicate, Predicate], bool]


def _disjoint(one: Predicate, other: Predicate) -> bool:
    return are_disjoint(one, other)


def _any_together(one: Predicate, other: Predicate) -> bool:
    return True


def _overlaps(terms: Predicate) -> bool:
    return any(not one.is_disjoint(other) for one, other in combinations(sorted(terms, key=repr), 2))


def _fewest(wanted: Predicate, known: Known, apart: _Together) -> tuple[str, ...] | None:
    return min(_exact_covers(wanted, known, apart), key=lambda names: (len(names), names), default=None)


def _exact_covers(wanted: Predicate, known: Known, apart: _Together) -> Iterator[tuple[str, ...]]:
    """Sets of synopses that hold all wanted terms (and perhaps more), two by two together as asked."""
    nodes = 0

    def search(chosen: tuple[str, ...], left: Predicate) -> Iterator[tuple[str, ...]]:
        nonlocal nodes
        nodes += 1
        if not left:
            yield tuple(sorted(chosen))
            return
        first = min(left, key=repr)
        for name in sorted(known):
            if nodes < NODES_MAX and first in known[name] and all(apart(known[name], known[one]) for one in chosen):
                yield from search((*chosen, name), left - known[name])

    return search((), wanted)
