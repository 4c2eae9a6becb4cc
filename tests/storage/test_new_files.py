"""Rows in the order of their files: as a stable sort has them, whatever comes one after the other."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tidewheel.local.new_files import stable_order
from tidewheel.local.side_by_side import side_by_side

SEED = 20261119


@pytest.mark.parametrize("longest", [1, 2, 50])
def test_rows_are_in_the_order_of_a_stable_sort(longest: int) -> None:
    chance = random.Random(SEED)
    for rows in (1, 2, 3, 100, 1000):
        texts, numbers = list[str](), list[int]()
        while len(texts) < rows:
            run = chance.randint(1, longest)
            texts += [chance.choice("abc")] * run
            numbers += [chance.randint(-2, 2)] * run
        table = pa.table(
            {"0": pa.chunked_array([texts[: rows // 2], texts[rows // 2 : rows]], pa.string()), "1": numbers[:rows]}
        )
        expected = pc.sort_indices(table, sort_keys=[("0", "ascending"), ("1", "ascending")]).to_pylist()
        assert stable_order(table.columns).tolist() == expected


def test_what_is_done_side_by_side_comes_in_order_with_the_first_error() -> None:
    assert side_by_side(lambda one: one * one, range(100)) == [one * one for one in range(100)]
    assert side_by_side(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda one: 1 // one, [1, 0, 1])
