"""The fault simulator: histories with crashes and rival writers hold every invariant, and each invariant can fail."""

from __future__ import annotations

import os

import pytest

from tests.simulate import simulate
from tests.simulator.faults import Fault
from tests.simulator.invariants import AFTER_COMMIT, AFTER_VACUUM
from tests.simulator.playing import STEPS_PER_HISTORY, failure, shrunk_history
from tests.simulator.steps import random_steps

SEED = int(os.environ.get("TIDEWHEEL_SEED", "0"))
HISTORIES_PER_FAULT = 300
STEPS_SHOWN_MAX = 20


def test_random_histories_with_faults_hold_every_invariant() -> None:
    tally = simulate(SEED, steps=100_000)
    assert all(tally[what] > 100 for what in ("commits", "conflicts", "crashes", "vacuums", "reads", "undone"))


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(4))
def test_a_million_steps(block: int) -> None:
    simulate(1_000_000 * (block + 1) + SEED, steps=1_000_000)


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_each_invariant_notices_its_planted_bug(fault: Fault) -> None:
    """Alone, so that no other invariant speaks first; and the history that shows it becomes a short one."""
    for seed in range(HISTORIES_PER_FAULT):
        steps = random_steps(seed, STEPS_PER_HISTORY)
        error = failure(seed, steps, fault, only=fault.value)
        if error is not None:
            break
    else:
        pytest.fail(f"{HISTORIES_PER_FAULT} histories did not show {fault.name}")
    assert getattr(error, "invariant", "") == fault.value, error
    assert failure(seed, steps) is None, "without the bug the same history is sound"
    short = shrunk_history(seed, steps, error, fault)
    assert len(short) <= STEPS_SHOWN_MAX, short


def test_there_is_a_planted_bug_for_every_invariant() -> None:
    assert {fault.value for fault in Fault} == (AFTER_COMMIT.keys() | AFTER_VACUUM.keys() | {"pinned readers"})


def test_the_same_seed_is_the_same_history() -> None:
    assert simulate(SEED, steps=300) == simulate(SEED, steps=300)
