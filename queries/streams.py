"""The streams of one query: of every group a technique for each accumulator, all moved along the same fragments.

A group begins where its first partial comes: what it had before is nothing. It is let go once its techniques hold
nothing of it any more. `state` is all that carries on: plain values, as techniques' own states are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any

from tidewheel.queries.technique import Technique

Group = tuple[Any, ...]
Partials = Mapping[int, Sequence[Any]]  # by fragment, one for each accumulator


@dataclass
class Running:
    """One group: its techniques, and the newest fragment of which it has a partial."""

    techniques: list[Technique]
    newest: int


@dataclass
class Streams:
    """`make` gives the techniques of a group that begins; `end` is the next fragment."""

    make: Callable[[], list[Technique]]
    end: int
    groups: dict[Group, Running] = field(default_factory=dict)

    @property
    def reach(self) -> int:
        """Return how many of the newest fragments the techniques may hold."""
        return max(technique.reach for technique in self.make())

    def slide(
        self, partials: Mapping[Group, Partials], reports: Mapping[int, int]
    ) -> Iterator[tuple[Group, dict[int, list[Any]]]]:
        """Move on through the last report; `reports` says by their ends how many fragments they hold.

        Gives each group's folds by the end of the report. It is moved when all was taken.
        """
        end = max(reports)
        for group in {**self.groups, **partials}:
            yield group, self._slid(group, partials.get(group, {}), reports, end)
        self.end = end
        reach = self.reach
        self.groups = {group: one for group, one in self.groups.items() if one.newest >= end - reach}

    def _slid(self, group: Group, partials: Partials, reports: Mapping[int, int], end: int) -> dict[int, list[Any]]:
        if group not in self.groups:
            self.groups[group] = Running(self.make(), self.end - 1)
        running, found = self.groups[group], {}
        nothing = [technique.operation.identity for technique in running.techniques]
        for number in range(self.end, end):
            for technique, partial in zip(running.techniques, partials.get(number, nothing), strict=True):
                technique.insert(partial)
            if number + 1 in reports:
                found[number + 1] = [technique.query(reports[number + 1]) for technique in running.techniques]
        running.newest = max(running.newest, *partials) if partials else running.newest
        return found

    def state(self) -> dict[str, Any]:
        """All that carries on."""
        groups = [
            (group, one.newest, [technique.state() for technique in one.techniques])
            for group, one in self.groups.items()
        ]
        return {"end": self.end, "groups": groups}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The state of streams of the same techniques."""
        self.end, self.groups = state["end"], {}
        for group, newest, states in state["groups"]:
            running = self.groups[plain_key(group)] = Running(self.make(), newest)
            for technique, one in zip(running.techniques, states, strict=True):
                technique.restore(one)


def plain_key(value: Any) -> Any:
    """A value of a group so that equal ones are found again: lists and structures as tuples, one NaN for all.

    >>> plain_key({"a": [1, float("nan")]}) == plain_key({"a": [1, float("nan")]})
    True
    """
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, list | tuple | ValuesView):
        return tuple(map(plain_key, value))
    return math.nan if isinstance(value, float) and math.isnan(value) else value
