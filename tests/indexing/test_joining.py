"""Which runs are joined: few enough are left, few bytes are rewritten, and none of the others shares their slots."""

from __future__ import annotations

import random

import pytest

from tidewheel.indexing.core.joining import join_count, joined_runs
from tidewheel.indexing.core.state import FileFact


def appended(sizes: list[float], runs_max: int) -> tuple[list[float], float, float]:
    """The runs after batches of these sizes, oldest first; the bytes rewritten, and by joining everything each time."""
    runs: list[float] = []
    joined_runs: list[float] = []
    rewritten = joined = 0.0
    for size in sizes:
        count = join_count(runs[::-1], runs_max, receives=True)
        going = [runs.pop() for _ in range(count)]
        rewritten += sum(going)
        runs.append(sum(going) + size)
        assert len(runs) <= runs_max
        if len(joined_runs) == runs_max:
            joined += sum(joined_runs)
            joined_runs = [sum(joined_runs)]
        joined_runs.append(size)
    return runs, rewritten, joined


@pytest.mark.parametrize("runs_max", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("batches", [1, 5, 36, 200])
def test_equal_batches_are_rewritten_less_than_by_joining_everything(runs_max: int, batches: int) -> None:
    runs, rewritten, joined = appended([1.0] * batches, runs_max)
    assert sum(runs) == batches
    assert rewritten <= joined


def test_eight_runs_take_in_forty_four_batches_with_each_rewritten_once_at_most() -> None:
    runs, rewritten, joined = appended([1.0] * 44, 8)
    assert runs == [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]
    assert rewritten < 44
    assert joined > 2 * rewritten


def test_with_one_run_everything_is_joined() -> None:
    assert appended([3.0, 1.0, 5.0], 1)[0] == [9.0]


@pytest.mark.parametrize("seed", range(20))
def test_batches_of_any_size_keep_the_bound_and_cost_no_more_on_average(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice([0.1, 1.0, 4.0]) * chance.random() for _ in range(300)]
    runs, rewritten, joined = appended(sizes, chance.choice([2, 4, 8, 16]))
    assert sum(runs) == pytest.approx(sum(sizes))
    assert rewritten <= joined


@pytest.mark.parametrize("runs_max", [1, 2, 3])
@pytest.mark.parametrize("receives", [False, True])
def test_runs_that_share_insertion_slots_stay_together(runs_max: int, receives: bool) -> None:
    chance = random.Random(runs_max)
    for _ in range(500):
        files = [some_file(chance, f"run-{number}") for number in range(chance.randrange(1, 7))]
        going = joined_runs(files, runs_max, receives)
        left = [file for file in files if file.run not in going]
        joined = 1 if going or receives else 0
        assert len({file.run for file in left}) + joined <= max(runs_max, joined)
        if going:
            first = min(file.ins_min for file in files if file.run in going)
            last = max(file.ins_max for file in files if file.run in going)
            assert not any(file.ins_min <= last and first <= file.ins_max for file in left)


def some_file(chance: random.Random, run: str) -> FileFact:
    first = chance.randrange(20)
    slots = first, first + chance.choice([0, 0, 1, 5])
    return FileFact(f"{run}/part", 0, 0, 0, *slots, 0, 0, 1, chance.choice([1, 10, 100]))
