"""Technique × operation × window × stream × slicing, compared with the oracle after each step.

TIDEWHEEL_SEED=7 pytest tests/queries/test_query_matrix.py begins at another seed; a mismatch names its own.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import count, cycle

import pytest

from tests.support.models.query_operations import CASES, CONCATENATION
from tests.support.models.query_streams import compare
from tidewheel.indexing.errors import Damaged
from tidewheel.queries.choice import fitting
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.slicing import Slicing
from tidewheel.queries.technique import Technique
from tidewheel.queries.techniques.flat_fat import FlatFAT
from tidewheel.queries.techniques.flat_fit import FlatFIT
from tidewheel.queries.techniques.slick_deque_inv import SlickDequeInv
from tidewheel.queries.techniques.slick_deque_non_inv import SlickDequeNonInv
from tidewheel.queries.techniques.two_stacks import TwoStacks

SEED = int(os.environ.get("TIDEWHEEL_SEED", "20261119"))


def play(answers_wanted: int) -> None:
    compared: Counter[tuple[str, str, str]] = Counter()
    for seed, case in zip(count(SEED), cycle(case for case in CASES for _ in range(2)), strict=False):
        compared += compare(case, seed)
        if compared.total() >= answers_wanted and seed - SEED >= 4 * len(CASES):
            break
    print(f"{compared.total()} answers from seed {SEED} to {seed}, none wrong")
    # What fits one range fits somewhere in the matrix, and there it was tried.
    assert compared.keys() == {
        (case.name, slicing, technique.name)
        for case in CASES
        for slicing in Slicing
        for technique in fitting(case.operation, [5])
    }


def test_every_technique_gives_the_oracles_answers() -> None:
    play(100_000)


@pytest.mark.nightly
def test_every_technique_gives_the_oracles_answers_a_million_times() -> None:
    play(1_000_000)


# Faults that were published, or that one makes: the matrix must see each of them.


class RootShortcut(FlatFAT):
    """The root as the answer of the whole window, also where the ring has wrapped, or is larger than the window."""

    def _query(self, count):
        return self.tree[1] if count == self.size else super()._query(count)


class NewestFirst(FlatFIT):
    """Operands the wrong way round."""

    def _join(self, older, newer):
        return super()._join(newer, older)


class StartStays(SlickDequeNonInv):
    """The slot at which a range begins is already outside it."""

    def query_many(self, counts):
        return super().query_many([min(count + 1, self.size) for count in counts])

    def _query(self, count):
        return self.query_many([count])[min(count + 1, self.size)]


class OverwrittenFirst(SlickDequeInv):
    """The newest is written before the oldest was read."""

    def insert(self, partial):
        self.partials[self.cursor] = partial
        super().insert(partial)


class FlippedAlike(TwoStacks):
    """The back goes over to the front with the folds that it had."""

    def _pop(self):
        if not self.front:
            self.front, self.back = self.back[::-1], []
        self.front.pop()


@pytest.mark.parametrize("fault", [RootShortcut, NewestFirst, StartStays, OverwrittenFirst, FlippedAlike])
def test_a_fault_is_seen(fault: type[Technique]) -> None:
    operation = MAX if fault is StartStays else CONCATENATION
    (case, *_) = (case for case in CASES if case.operation == operation)
    step = 2 if fault.one_count_only else 1  # even seeds are of one range
    with pytest.raises((AssertionError, Damaged), match=r"instead of|does not hold the fold"):
        all(compare(case, seed, [fault]) for seed in range(0, 20, step))
