"""SlickDeque (Inv): one running answer per range; each takes the newest in and its own oldest out.

Two operations a slide and range, n + ranges values. Accumulators are exact, so nothing drifts and nothing needs to be
folded anew now and then.
Departs from the printed listing: the inverse takes the older operand away on the left, where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import AlgebraClass, Operation
from tidewheel.queries.technique import Technique


class SlickDequeInv(Technique):
    name = "SlickDeque (Inv)"
    classes = frozenset({AlgebraClass.INV})
    state_names = ("partials", "cursor", "answers")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.partials, self.cursor = self._empty(self.size), 0
        self.answers = dict.fromkeys(self.counts, operation.identity)

    def insert(self, partial: Any) -> None:
        # All answers first: for the longest range, the oldest lies in the slot that is overwritten.
        for count, answer in self.answers.items():
            oldest = self.partials[(self.cursor - count) % self.size]
            self.answers[count] = self._evict(self._join(answer, partial), oldest)
        self.partials[self.cursor] = partial
        self.cursor = (self.cursor + 1) % self.size

    def add_count(self, count: int) -> None:
        """One more range, no longer than the window that is kept: from the partials there are."""
        self._refuse_count(count)
        self.answers[count] = self._fold(self.partials[(self.cursor - age) % self.size] for age in range(count, 0, -1))

    def _query(self, count: int) -> Any:
        if count not in self.answers:
            declared = ", ".join(map(str, self.answers))
            raise InvalidInput(
                f"range of {count} partials was not declared", f"add_count({count}); there are {declared}"
            )
        return self.answers[count]
