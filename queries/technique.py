"""The interface of techniques of final aggregation: insert one partial per fragment, read the fold of the newest k.

`insert` takes the newest partial, and so the window of n partials slides by one; n is the largest k that was declared.
`query(k)` folds the newest k in order of arrival, the older operand always on the left. `calls` counts `combine` and
`evict_oldest`: the cost that the literature states. A partial may be None (an empty fragment of an operation without an
identity): combining with None costs nothing and changes nothing.

A technique refuses an operation that it would get wrong. The state is plain values, a cache of the newest n partials:
whatever is lost can be rebuilt by inserting those again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, ClassVar

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import AlgebraClass, Operation

ANY_CLASS = frozenset(AlgebraClass)
FITTING = "`tidewheel query explain` lists those that fit a standing query"
SLICK_NON_INV = "SlickDeque (Non-Inv)"


class Technique(ABC):
    """`checked` asserts the technique's invariants after every step, for tests: it costs a fold per step."""

    name: ClassVar[str]
    classes: ClassVar[frozenset[AlgebraClass]] = ANY_CLASS
    one_count_only: ClassVar[bool] = False
    state_names: ClassVar[tuple[str, ...]]

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        self.operation, self.counts, self.checked = operation, tuple(sorted(set(counts))), checked
        self.refuse_unfit(operation, self.counts)
        self.size = self.counts[-1]
        self.calls = 0

    @abstractmethod
    def insert(self, partial: Any) -> None:
        """The newest partial; the oldest of more than `size` leaves."""

    @abstractmethod
    def _query(self, count: int) -> Any:
        """The fold of the newest `count` partials."""

    def query(self, count: int) -> Any:
        self._refuse_count(count)
        return self._query(count)

    def query_many(self, counts: Iterable[int]) -> dict[int, Any]:
        """Several answers at one moment, the longest first: some techniques are cheaper in that order."""
        return {count: self.query(count) for count in sorted(counts, reverse=True)}

    @property
    def reach(self) -> int:
        """Return how many of the newest partials the state may hold; it holds nothing of older ones."""
        return self.size

    def state(self) -> dict[str, Any]:
        """Return the plain values that the technique carries from slide to slide."""
        return {name: copy(getattr(self, name)) for name in self.state_names}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The state of a technique made for the same operation and counts."""
        for name in self.state_names:
            setattr(self, name, copy(state[name]))

    def _join(self, older: Any, newer: Any) -> Any:
        if older is None:
            return newer
        if newer is None:
            return older
        self.calls += 1
        return self.operation.combine(older, newer)

    def _evict(self, total: Any, oldest: Any) -> Any:
        if oldest is None or self.operation.evict_oldest is None:
            return total
        self.calls += 1
        return self.operation.evict_oldest(total, oldest)

    def _is_fold(self, fold: Any, partials: Iterable[Any]) -> bool:
        """For checks: not counted."""
        return bool(fold == self.operation.fold(partials))

    def _fold(self, partials: Iterable[Any]) -> Any:
        """At least one partial, oldest first."""
        rest = iter(partials)
        total = next(rest)
        for partial in rest:
            total = self._join(total, partial)
        return total

    def _empty(self, count: int) -> list[Any]:
        return [self.operation.identity] * count

    @classmethod
    def refuse_unfit(cls, operation: Operation, counts: Iterable[int]) -> None:
        """Refuse an operation that the technique would get wrong, and counts that it does not answer."""
        asked = sorted(set(counts))
        if not asked or asked[0] < 1:
            raise InvalidInput(f"technique {cls.name} without a count of partials", "give counts of at least one")
        if cls.one_count_only and len(asked) > 1:
            raise cls._one_count_only(asked)
        name, found = operation.name, operation.algebra_class
        if found in cls.classes:
            return
        if AlgebraClass.SEL in cls.classes:
            raise InvalidInput(f"technique {cls.name} needs a selection-type operation; '{name}' is not", FITTING)
        instead = SLICK_NON_INV if found is AlgebraClass.SEL else "FlatFIT"
        raise InvalidInput(
            f"technique {cls.name} needs an operation with an inverse; '{name}' has none (use {instead})", FITTING
        )

    def _refuse_count(self, count: int) -> None:
        if count > self.size:
            raise InvalidInput(f"range of {count} partials exceeds the stored window of {self.size}")
        if count < 1:
            raise InvalidInput(f"range of {count} partials", "ask for at least one")
        if self.one_count_only and count != self.size:
            raise self._one_count_only((count, self.size))

    @classmethod
    def _one_count_only(cls, counts: Iterable[int]) -> InvalidInput:
        needed = ", ".join(map(str, counts))
        return InvalidInput(
            f"technique {cls.name} answers one range only; this plan needs {needed} partials",
            "use FlatFIT, FlatFAT or SlickDeque",
        )
