"""Random histories on the pure planner: whatever happened, the content is the oracle's."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.support.models.model_table import ModelTable, cells_of, definition_of, forget_matcher, random_generation
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Oracle, Record

HISTORIES = int(os.environ.get("TIDEWHEEL_HISTORIES", "1500"))


def random_batch(chance: random.Random, slot: int, span: int) -> list[Record]:
    return [
        Record(slot, slot + chance.randint(0, span), chance.randrange(8), chance.randrange(1000))
        for _ in range(chance.choice([0, 1, 5, 20]))
    ]


def play(seed: int) -> None:
    chance = random.Random(seed)
    span = chance.choice([1, 2, 4, 7])
    table = ModelTable(
        definition_of(random_generation(chance, 0, span), span), rows_max_per_file=chance.choice([3, 50])
    )
    oracle, head = Oracle(), chance.randrange(-5, 5)
    for _ in range(chance.randrange(3, 25)):
        action = chance.choices(
            ["next", "back", "range", "jump", "expire", "forget", "migrate"], [8, 4, 2, 1, 1, 1, 1]
        )[0]
        if action == "forget":
            key = chance.randrange(8)
            table.forget(key)
            oracle.forget(forget_matcher(key))
        elif action == "migrate":
            number = table.definition.current.number + 1
            table.migrate(random_generation(chance, number, span), relocate=chance.random() < 0.5)
        elif action == "expire":
            head += chance.randrange(0, 3)
            table.update({}, expire_through=head)
            oracle.expire(head)
        else:
            first = head + 1
            if action == "back":
                first = head - chance.randrange(0, span + 3)
            if action == "jump":
                first = head + chance.randrange(1, 2 * span + 2)
            size = chance.randrange(2, 5) if action == "range" else 1
            batches = {slot: random_batch(chance, slot, span) for slot in range(first, first + size)}
            head = max(head, first + size - 1)
            table.update(batches)
            oracle.update(batches)
        check(table, oracle)


def check(table: ModelTable, oracle: Oracle) -> None:
    expected = oracle.content()
    assert Counter(table.content()) == Counter(expected)
    assert table.ledger.cells() == cells_of(expected)
    for fact, records in table.files.values():
        layout = table.definition.generation(fact.generation).layout
        for record in records:
            assert (layout.row_of(record.slot), layout.column_of(record.expiration_slot)) == (fact.g, fact.e)
    strategies = {generation.strategy for generation in table.definition.generations}
    if Strategy.NO_REBUILD not in strategies:
        stored = sum(len(records) for _, records in table.files.values())
        assert stored == len(expected), "a strategy that rebuilds columns keeps no dead record"


@pytest.mark.parametrize("block", range(10))
def test_random_histories_equal_the_oracle(block: int) -> None:
    for seed in range(block * HISTORIES // 10, (block + 1) * HISTORIES // 10):
        try:
            play(seed)
        except Exception as error:
            error.add_note(f"history seed {seed}: repeat with tests.indexing.test_plan_histories.play({seed})")
            raise


@pytest.mark.parametrize("g", [1, 2, 3, 4])
@pytest.mark.parametrize("e", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [LayoutKind.ROUND_ROBIN, LayoutKind.CHRONOLOGICAL])
def test_rebuild_in_order_on_full_data_touches_g_plus_e_minus_1(kind: LayoutKind, g: int, e: int) -> None:
    span = 12
    generation = Generation(0, Layout(kind, g, e, span), Strategy.REBUILD)
    table = ModelTable(definition_of(generation, span), rows_max_per_file=10**6)
    for slot in range(3 * span):
        before = set(table.files)
        table.update(
            {slot: [Record(slot, slot + life, key, (slot, life)) for life in range(1, span + 1) for key in range(2)]}
        )
        touched = {table.files[path][0].subindex for path in set(table.files) - before}
        places = (path.split("/")[2:4] for path in before - set(table.files))
        touched |= {(0, int(g), int(e)) for g, e in places}
        if slot >= 2 * span:
            assert len(touched) == g + e - 1


def test_no_rebuild_rewrites_nothing_while_its_bounds_hold() -> None:
    span = 8
    generation = Generation(
        0, Layout(LayoutKind.ROUND_ROBIN, 2, 2, span), Strategy.NO_REBUILD, dead_share_max=1.0, runs_max=10**6
    )
    table = ModelTable(definition_of(generation, span))
    for slot in range(4 * span):
        plan = table.update({slot: [Record(slot, slot + life, life, slot) for life in range(1, span + 1)]})
        assert not plan.rewritten


@pytest.mark.parametrize("strategy", list(Strategy))
def test_a_column_per_slot_expires_without_reading(strategy: Strategy) -> None:
    span = 6
    generation = Generation(0, Layout(LayoutKind.ROUND_ROBIN, 1, span, span), strategy, runs_max=10**6)
    table = ModelTable(definition_of(generation, span))
    for slot in range(4 * span):
        table.update({slot: [Record(slot, slot + life, life, slot) for life in range(1, span + 1)]})
        plan = table.update({}, expire_through=slot + 1)
        assert not plan.rewritten
