"""Oracle equality on real Delta tables: layout × strategy × G×E × order of operations.

The default suite plays a pairwise cover: every pair of values of two parameters appears in some history. The full
grid is nightly.
"""

from __future__ import annotations

import random
from itertools import combinations, product
from pathlib import Path

import pytest

from tests.support.archives.small_archive import SmallArchive, generation_of
from tests.support.models.histories import ORDERS, History
from tidewheel.hands import VARIABLE

SPAN = 4
PARAMETERS = {
    "kind": ("round_robin", "chronological", "wave_by_insertion", "wave_by_expiration", "randomized"),
    "strategy": ("rebuild", "no_rebuild", "expire_rebuild"),
    "size": ((1, 1), (2, 2), (3, 2), (4, 4), (1, SPAN), (SPAN, 1)),
    "order": ORDERS,
}
Case = tuple[str, str, tuple[int, int], str]
GRID: list[Case] = list(product(*PARAMETERS.values()))  # type: ignore[arg-type]


def pairs_of(case: Case) -> set[tuple[object, ...]]:
    return {(a, case[a], b, case[b]) for a, b in combinations(range(len(case)), 2)}


def pairwise(grid: list[Case]) -> list[Case]:
    """A small cover of all pairs, greedily from a fixed shuffle."""
    missing = set().union(*(pairs_of(case) for case in grid))
    candidates = list(grid)
    random.Random(7).shuffle(candidates)
    chosen = []
    while missing:
        best = max(candidates, key=lambda case: len(pairs_of(case) & missing))
        chosen.append(best)
        missing -= pairs_of(best)
    return chosen


def name_of(case: Case) -> str:
    kind, strategy, (g, e), order = case
    return f"{kind}-{strategy}-{g}x{e}-{order}"


def play(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, strategy, (g, e), order = case
    if kind == "wave_by_insertion":
        e = 1
    if kind == "wave_by_expiration":
        g = 1
    generation = generation_of(kind, g, e, strategy, span=SPAN, dead_share_max=0.4, runs_max=3)
    seed = GRID.index(case)
    # One half of the histories moves rows with Spark, the other as their size decides: in this process.
    monkeypatch.setenv(VARIABLE, random.Random(seed).choice(["spark", ""]))
    try:
        History(SmallArchive(folder, generation, SPAN).create(), seed, slots=5).play(order)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise


@pytest.mark.parametrize("case", pairwise(GRID), ids=name_of)
@pytest.mark.usefixtures("spark")
def test_history_equals_the_oracle(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(case, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("case", GRID, ids=name_of)
@pytest.mark.usefixtures("spark")
def test_every_history_equals_the_oracle(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(case, tmp_path, monkeypatch)
