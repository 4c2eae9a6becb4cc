"""INTERNAL windows: results leave when their external parts do, never with internal ones (section 3.2.2).

Only the final answer is different. State is purged as if all windows were external, for a three-way join must not
join dead pairs; so a record's exp stays the least of all its parts', and the end that is shown is kept apart: the least
of the external parts' ends, FOREVER if there is none. With INTERNAL windows alone the answer is a log.

Departs from the thesis's label: a join with one external window has lifetimes that differ, not one constant.
"""

from __future__ import annotations

from tidewheel.queries.literature.state.records import FOREVER, Record


class Internal:
    """
    >>> shown = Internal()
    >>> shown.meet(Record((0, 1), (), 1, 7), 7); shown.meet(Record((1, 1), (), 3, 9), FOREVER)
    >>> shown.take(Record((0, 1, 1, 1), ("x",), 3, 7))
    >>> [len(shown.answer(now)) for now in (6, 7)]
    [1, 0]
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[int, int], float] = {}
        self.log: list[Record] = []

    def meet(self, record: Record, shown_until: float) -> None:
        """Note the end of a base tuple as far as the answer shows it; a count window tells it when it comes."""
        self._ends[record.id[0], record.id[1]] = shown_until

    def take(self, record: Record) -> None:
        self.log.append(record)

    def answer(self, now: int) -> list[Record]:
        return [record for record in self.log if now < self._end(record)]

    def _end(self, record: Record) -> float:
        parts = zip(record.id[::2], record.id[1::2], strict=True)
        return min(self._ends.get(part, FOREVER) for part in parts)
