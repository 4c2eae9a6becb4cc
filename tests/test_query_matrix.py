"""Technique × operation × window × stream × slicing, compared with the oracle after each step.

TIDEWHEEL_SEED=7 pytest tests/test_query_matrix.py begins at another seed; a mismatch names its own.
"""

from __future__ import annotations

import os
from itertools import count, cycle, islice

import pytest

from tests.support.query_operations import CASES
from tests.support.query_streams import compare

SEED = int(os.environ.get("TIDEWHEEL_SEED", "20261119"))


def play(answers_wanted: int) -> None:
    compared = 0
    for seed, case in zip(count(SEED), cycle(CASES), strict=False):
        compared += compare(case, seed)
        if compared >= answers_wanted and seed - SEED >= len(CASES):
            break
    print(f"{compared} answers from seed {SEED} on, none wrong")


def test_every_technique_gives_the_oracles_answers() -> None:
    play(100_000)


@pytest.mark.nightly
def test_every_technique_gives_the_oracles_answers_a_million_times() -> None:
    play(1_000_000)


def test_the_matrix_has_every_operation() -> None:
    assert len(list(islice(CASES, 100))) == len(CASES) > 30
