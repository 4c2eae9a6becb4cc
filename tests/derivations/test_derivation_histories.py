"""Archives derived of archives over random histories.

Every update and every read is judged, and every broken rule is found.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.support.models.derived_bugs import BUGS
from tests.support.models.derived_world import World, Wrong

STEPS = 16
MANY = int(os.environ.get("TIDEWHEEL_HISTORIES", "1000"))
BUG_SEEDS = 600


def _play(seeds: range) -> Counter[str]:
    met: Counter[str] = Counter()
    for seed in seeds:
        world = World(seed)
        try:
            world.play(STEPS)
        except Wrong as wrong:
            raise AssertionError(f"seed {seed}: {wrong}\n{world.derived['d'].form}") from wrong
        met += world.met
    return met


def test_what_is_derived_is_what_the_judge_says():
    met = _play(range(MANY))
    for what in ("replay", "late slot", "forget", "undo", "parts", "left early", "two at once", "read"):
        assert met[what] >= MANY // 10, met


@pytest.mark.nightly
def test_what_is_derived_over_a_hundred_thousand_histories():
    _play(range(10_000, 110_000))


@pytest.mark.parametrize("bug", BUGS)
def test_a_broken_rule_is_found(bug):
    for seed in range(BUG_SEEDS):
        try:
            World(seed, frozenset({bug})).play(STEPS)
        except Wrong:
            return
    pytest.fail(f"no history of {BUG_SEEDS} shows that {bug} is broken")
