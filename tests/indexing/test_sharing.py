"""Which task writes what: everything once, in the order of keys, and no task much more than its part."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tidewheel.indexing.core.sharing import SMALLEST_PIECES_OF_A_FILE, Piece, shared, tasks_for

Shares = dict[tuple[int, ...], tuple[Piece, ...]]


def loads_of(shares: Shares, sizes: dict[tuple[int, ...], float], tasks: int) -> list[float]:
    loads = [0.0] * tasks
    for at, pieces in shares.items():
        for start, piece in zip([0.0, *(one.until for one in pieces)], pieces, strict=False):
            loads[piece.task] += sizes[at] * (piece.until - start)
    return loads


@pytest.mark.parametrize("seed", range(200))
def test_all_is_shared_out_once_in_few_large_pieces_to_even_tasks(seed: int) -> None:
    chance = random.Random(seed)
    cores, target = chance.choice([1, 2, 3, 8, 40]), chance.choice([64, 1000, 4096])
    sizes: dict[tuple[int, ...], float] = {
        (number,): chance.choice([0, 1, 30, 500, 9000]) * chance.random() for number in range(chance.randint(1, 30))
    }
    divisible = {at for at in sizes if chance.random() < 0.5}
    tasks = tasks_for(sum(sizes.values()), cores, target)
    piece_min = target // SMALLEST_PIECES_OF_A_FILE
    shares = shared(sizes, divisible, tasks, target)

    assert shares.keys() == sizes.keys()
    for at, pieces in shares.items():
        ends = [0.0, *(piece.until for piece in pieces)]
        assert ends[-1] == 1.0
        if len(pieces) > 1:
            assert at in divisible
            assert all((end - start) * sizes[at] >= piece_min - 1e-6 for start, end in pairwise(ends))
    assert sum(len(pieces) - 1 for pieces in shares.values()) < tasks
    whole = shared(sizes, (), tasks, target)
    most = max(loads_of(shares, sizes, tasks))
    assert most <= max(loads_of(whole, sizes, tasks)) + piece_min
    indivisible = max((size for at, size in sizes.items() if at not in divisible), default=0.0)
    level = sum(sizes.values()) / min(tasks, max(2, sum(sizes.values()) * 8 // target))
    assert most <= level + max(indivisible, 2 * piece_min) + 1


def test_what_is_even_as_it_is_is_not_cut() -> None:
    sizes = {(number,): 100.0 for number in range(8)}
    assert all(len(pieces) == 1 for pieces in shared(sizes, set(sizes), 2, 1000).values())


def test_one_large_column_is_cut_where_both_tasks_have_the_same() -> None:
    sizes: dict[tuple[int, ...], float] = {(0,): 53.0, **{(number,): 3.0 for number in range(1, 5)}}
    shares = shared(sizes, {(0,)}, 2, 128)
    assert len(shares[(0,)]) == 2
    assert loads_of(shares, sizes, 2) == pytest.approx([32.5, 32.5])


def test_no_pieces_for_cores_that_would_get_crumbs() -> None:
    assert len(shared({(0,): 256.0}, {(0,)}, 200, 128)[(0,)]) == 16
