"""Files by their least key admit what a look at each file admits, whatever the bounds and the question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tidewheel.indexing.core.state import FileFact
from tidewheel.sql.keys.file_access import Access, admitted
from tidewheel.sql.keys.key_conditions import AnyKey, KeyBetween, KeyCondition, KeyEquals
from tidewheel.sql.keys.key_order import BLOCK_FILES, KeyOrder


def some_files(chance: random.Random, keys: Sequence[Any]) -> tuple[FileFact, ...]:
    """Key ranges narrow and wide, some of which the log does not tell, some records of which are over."""
    files = []
    for number in range(chance.choice([0, 1, BLOCK_FILES, 5 * BLOCK_FILES + 7])):
        low = chance.randrange(len(keys))
        high = min(len(keys) - 1, low + chance.choice([0, 1, len(keys)]))
        second = sorted(chance.choices(range(9), k=2))
        bounds: list[tuple[Any, ...]] = [(keys[low], second[0]), (keys[high], second[1])]
        for side in range(2):
            if chance.random() < 0.05:
                bounds[side] = (None, None)
        files.append(FileFact(f"{number}", 0, 0, 0, 0, 0, 0, 0, 1, 1, chance.choice([None, 5, 15]), *bounds))
    return tuple(files)


def some_condition(chance: random.Random, keys: Sequence[Any]) -> KeyCondition:
    low, high = (chance.choice([(), (chance.choice(keys),), (chance.choice(keys), chance.randrange(9))]) for _ in "lh")
    conditions: list[KeyCondition] = [AnyKey(), KeyBetween(low, high), KeyEquals(low or (keys[0],))]
    return chance.choice(conditions)


@pytest.mark.parametrize("keys", [range(500), [f"k{n:03}é" for n in range(500)]], ids=["numbers", "texts"])
def test_the_order_leaves_out_nothing_that_may_match(keys: Sequence[Any]) -> None:
    chance = random.Random(7)
    for _ in range(150):
        files = some_files(chance, keys)
        order = KeyOrder(files)
        for _ in range(10):
            condition = some_condition(chance, keys)
            everything = admitted(files, condition, 10)
            assert set(admitted(order.near(condition), condition, 10)) == set(everything)


def test_a_probe_of_one_run_looks_at_few_files() -> None:
    files = [FileFact(f"{n}", 0, 0, 0, 0, 0, 0, 0, 1, 1, None, (10 * n,), (10 * n + 9,)) for n in range(10_000)]
    near = list(KeyOrder(files).near(KeyEquals((43_210,))))
    assert files[4321] in near
    assert len(near) <= BLOCK_FILES


def test_every_file_has_a_reason() -> None:
    chance = random.Random(3)
    files = some_files(chance, range(500))
    condition = KeyEquals((250,))
    access = Access(0, 10, files, admitted(files, condition, 10))
    assert {file for file, _ in access.reasons()} == set(files)
    assert len(access.read) + len(access.expired) + len(access.outside_key) == access.files_total == len(files)
    assert all(file.valid_until_max_us == 5 for file in access.expired)
