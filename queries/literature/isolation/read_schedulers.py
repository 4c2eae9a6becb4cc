"""Schedulers of reads under slides: what each of them reads next, and what a slide does to a query that is under way.

    LWS     Algorithm 7: slots in a fixed order; a slide that takes a slot already read aborts the query
    TTU     Algorithm 8: as LWS, but the slot with the highest time to update first, which is the youngest one unread
    WS      (a) pinned at its start, from retained copies; never aborts
    WS1     (b) of one copy: lowest time to update first; pinned anew where all that was read is still in the window
    Serial  a baseline: slides wait until the query is done

Golab 2006, section 7.4. Departures: an aborted query leaves the list of those that run (printed: it stays); the slot
that a slide tests is (j + n - n_k) mod n (printed in two other ways, of which one commits answers that are not LWS);
the array of times to update is a formula (printed: never initialised, and counted down at each slide). The source
leaves "next operation" of Algorithm 7 open; its figures need the ascending slot order. WS is described there in half a
sentence: both readings are here. Cost: a bit test for each query that runs, at each slide; O(1) for each read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.isolation.window_ring import Ring


class State(StrEnum):
    RUNNING = "running"
    ABORTED = "aborted"
    COMMITTED = "committed"


@dataclass
class Attempt(ABC):
    """One attempt of one query over the `length` youngest slots; `last` is the last slide applied."""

    ring: Ring
    length: int
    last: int
    state: State = State.RUNNING
    versions: list[int] = field(default_factory=list)  # as they were read
    tested: list[tuple[int, bool]] = field(default_factory=list)  # the slot of each slide's test, and its outcome
    moved: int = 0  # slides applied since it began
    held: set[int] = field(default_factory=set)  # the versions again, to ask for each at once

    # Whether slides wait for the query, and whether what a slide does to it is looked at.
    holds_window = False
    is_tested = True

    def __post_init__(self) -> None:
        if not 1 <= self.length <= self.ring.slots:
            raise InvalidInput(
                f"a query over {self.length} of {self.ring.slots} slots", f"ask for 1 to {self.ring.slots} slots"
            )

    @property
    def slots_read(self) -> list[int]:
        return [self.ring.slot_of(version) for version in self.versions]

    @property
    def unread(self) -> list[int]:
        """The versions of the window as it is now that were not read, youngest first."""
        return [version for version in range(self.last, self.last - self.length, -1) if version not in self.held]

    def slide(self) -> None:
        """Apply the next slide."""
        self.last += 1
        self.moved += 1
        if self.state is State.RUNNING:
            self._absorb()

    def read(self) -> None:
        if self.state is State.RUNNING:
            version = self._next_version()
            self.versions.append(version)
            self.held.add(version)
            if len(self.versions) == self.length:
                self.state = State.COMMITTED

    @abstractmethod
    def _next_version(self) -> int: ...

    @abstractmethod
    def _absorb(self) -> None:
        """Decide what a slide means for what was read."""

    def _abort_if_read(self) -> None:
        gone = self.last - self.length
        was_read = gone in self.held
        self.tested.append((self.ring.leaving_slot(self.last, self.length), was_read))
        if was_read:
            self.state = State.ABORTED


class FixedOrder(Attempt):
    """Algorithm 7, by ascending slot or by any other order of slots."""

    order: Sequence[int] = ()

    def _next_version(self) -> int:
        unread = {self.ring.slot_of(version): version for version in self.unread}
        return next(unread[slot] for slot in self.order or range(self.ring.slots) if slot in unread)

    def _absorb(self) -> None:
        self._abort_if_read()


class OldestFirst(FixedOrder):
    """Algorithm 7 with the worst of all orders."""

    def _next_version(self) -> int:
        return self.unread[-1]


class YoungestFirst(FixedOrder):
    """Algorithm 7 by the age that slots had at the start: nearly as good as TTU, so it must not be taken for LWS."""

    def _next_version(self) -> int:
        began = self.last - self.moved
        return min(self.unread, key=lambda version: self.ring.age(self.ring.slot_of(version), began))


class HighestTimeToUpdate(FixedOrder):
    """Algorithm 8."""

    def _next_version(self) -> int:
        return self.unread[0]


class PinnedCopies(Attempt):
    """WS from retained copies: a version store gives it without scheduling."""

    is_tested = False

    def _next_version(self) -> int:
        pinned = self.last - self.moved
        return next(v for v in range(pinned, pinned - self.length, -1) if v not in self.held)

    def _absorb(self) -> None:
        """Nothing: the copies are retained."""


@dataclass
class SingleCopy(Attempt):
    """WS without copies: what is overwritten soonest is read first.

    And the state is pinned anew where that is true to it.
    """

    pinned: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pinned = self.last

    def _next_version(self) -> int:
        wanted = range(self.pinned - self.length + 1, self.pinned + 1)
        return next(version for version in wanted if version not in self.held)

    def _absorb(self) -> None:
        overwritten = self.last - self.ring.slots
        is_pinned = self.pinned - self.length < overwritten <= self.pinned
        if not is_pinned or overwritten in self.held:
            return
        if all(self.last - self.length < version <= self.last for version in self.versions):
            self.pinned = self.last
        else:
            self.state = State.ABORTED


class WindowLock(PinnedCopies):
    """Serial: nothing slides while the query runs, so it reads the state of its start."""

    holds_window = True


SCHEDULERS: dict[str, type[Attempt]] = {
    "serial": WindowLock,
    "ws": PinnedCopies,
    "ws_single_copy": SingleCopy,
    "lws": FixedOrder,
    "lws_youngest_first": YoungestFirst,
    "lws_oldest_first": OldestFirst,
    "ttu": HighestTimeToUpdate,
}


def scheduler_named(name: str) -> type[Attempt]:
    if name not in SCHEDULERS:
        raise InvalidInput(f"unknown scheduler '{name}'", f"known are {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name]


def played(attempt: Attempt, pattern: str) -> Attempt:
    """Play reads (R) and slides (W) in an order, until the attempt commits or aborts."""
    for letter in pattern:
        if attempt.state is not State.RUNNING:
            break
        if letter == "R":
            attempt.read()
        elif not attempt.holds_window:
            attempt.slide()
    return attempt
