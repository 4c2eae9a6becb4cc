"""Technique × operation × window × stream × slicing, compared with the oracle after each step.

TIDEWHEEL_SEED=7 pytest tests/test_query_matrix.py begins at another seed; a mismatch names its own.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import count, cycle

import pytest

from tests.support.query_operations import CASES
from tests.support.query_streams import compare
from tidewheel.queries.choice import fitting
from tidewheel.queries.slicing import Slicing

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
