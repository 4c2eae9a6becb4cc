"""Standing queries against the oracle, in memory: whatever happened, answers within revise are those of the records."""

from __future__ import annotations

import os
import random

import pytest

from tests.support.models.model_queries import AXIS, SPAN, ModelQueries, ModelSource, random_query
from tidewheel.indexing.core.batches import NO_SOURCE
from tidewheel.indexing.core.slots import ranges_of, ranges_since
from tidewheel.queries.standing.answer_oracle import StreamRecord
from tidewheel.queries.standing.given_slots import GivenSlots
from tidewheel.queries.standing.lineage import Cover, Coverage, PartialLineage
from tidewheel.queries.standing.query import Counts, Query
from tidewheel.queries.standing.reach import slot_reached
from tidewheel.queries.standing.staleness import StalePartials, slot_of_report
from tidewheel.queries.standing.tree import window_of

HISTORIES = int(os.environ.get("TIDEWHEEL_HISTORIES", "400"))
HORIZON = 30
ALL = Coverage(Cover.ALL)


def some_batch(chance: random.Random, slot: int) -> tuple[StreamRecord, ...]:
    def time_us() -> int | None:
        minute = AXIS.interval_us
        lag = chance.choice([0, 0, 0, 0, -1, -4, 1, 2]) * minute
        return None if chance.random() < 0.05 else AXIS.start_us(slot) + chance.randrange(minute) + lag

    return tuple(
        StreamRecord(
            slot,
            time_us(),
            slot + chance.randint(-1, 6),
            {"k": chance.randrange(3), "r": chance.randrange(2), "v": chance.randrange(1, 10)},
        )
        for _ in range(chance.choice([0, 1, 4, 9]))
    )


def coverages(model: ModelQueries, query: Query) -> dict[int, Coverage]:
    """By slot, what the partials of the query's tree hold of it; an undone slot is none, as if it had never come."""
    tree = model.assignment.tree_of[query.name]
    told = {
        slot: PartialLineage.from_texts(batch.lineage)
        for (slot, part), batch in model.partials.ledger.batches.items()
        if part == tree
    }
    return {slot: one.coverage for slot, one in told.items() if one.source != NO_SOURCE}


def share(covered: dict[int, Coverage], query: Query, at_us: int) -> float:
    """Of the slots on which an answer depends, those that are covered for it.

    It depends on those of its window (and before, as far as times may lie ahead), and on late ones that are not whole.
    """
    last = AXIS.slot_of(at_us + query.terms.late_us - 1)
    reach_us, ahead_us = query.terms.window_us, query.terms.ahead_us
    first = AXIS.slot_of(at_us - 1) - SPAN + 1 if reach_us is None else AXIS.slot_of(at_us - reach_us - ahead_us)
    before = AXIS.slot_of(at_us - 1)
    wanted = range(first, last + 1)
    late = [slot for slot, one in covered.items() if query.terms.time and slot > last and not one.is_exact(before)]
    return sum(slot in covered and covered[slot].is_exact(before) for slot in wanted) / (len(wanted) + len(late))


def check(model: ModelQueries, query: Query) -> int:
    """Every report within revise is there, right, and says how much it covers; the number of answers compared."""
    last = slot_reached(model.source.ledger)
    covered = coverages(model, query)
    seen = [slot for slot, one in covered.items() if one.cover is not Cover.NONE]
    if last is None or not seen:
        return 0
    first_us = max(model.now_us - query.terms.revise_us, AXIS.start_us(min(seen)) + 1)
    compared = 0
    for at_us in window_of(query).reports_between(first_us - 1, AXIS.end_us(last)):
        slot = slot_of_report(AXIS, at_us)
        complete = share(covered, query, at_us)
        rows = model.answers.rows.get((slot, query.part))
        if rows is None:
            assert complete == 0, (query, at_us, slot)
            continue
        given = {key[1:]: values[:-1] for key, values in rows.items() if key[0] == at_us}
        assert given == model.truth(query, at_us), (query, at_us, slot)
        assert {values[-1] for key, values in rows.items() if key[0] == at_us} <= {complete}
        compared += 1
    return compared


def play(seed: int) -> int:
    chance = random.Random(seed)
    model = ModelQueries(ModelSource())
    model.source.observe(HORIZON)
    model.ask(tuple(random_query(chance, f"q{number}") for number in range(chance.randrange(1, 6))))
    head, lossy, compared = 0, chance.random() < 0.3, 0

    def readable(stale: StalePartials) -> Coverage:
        if not lossy or chance.random() < 0.6:
            return ALL
        tree = next(tree for tree in model.assignment.trees if tree.name == stale.tree)
        watermark = model.source.ledger.watermark
        if tree.counts is Counts.LIVE and chance.random() < 0.5 and watermark is not None:
            return Coverage(Cover.LIVE, since=watermark)
        return Coverage(Cover.NONE, why="gone")

    for _ in range(chance.randrange(3, 25)):
        act = chance.choice(["next"] * 5 + ["back", "replay", "empty", "jump", "forget", "undo", "queries", "expire"])
        if act == "forget":
            model.source.forget(chance.randrange(3))
        elif act == "undo" and model.source.ledger.version > model.source.barrier:
            model.source.undo(chance.randrange(model.source.barrier, model.source.ledger.version))
            head = max((end for _, end in model.source.ledger.applied), default=0)
        elif act == "expire":
            model.source.expire((model.source.ledger.watermark or 0) + chance.randrange(1, 6))
        elif act == "queries":
            kept = chance.sample(model.queries, chance.randrange(0, len(model.queries) + 1))
            fresh = [random_query(chance, f"q{seed}_{head}_{number}") for number in range(chance.randrange(1, 3))]
            model.ask(tuple({one.name: one for one in (*kept, *fresh)}.values()))
        else:
            steps = {"back": -chance.randrange(1, 5), "jump": chance.randrange(2, 8), "replay": 0, "empty": 0}
            slot = head + steps.get(act, 1)
            head = max(head, slot)
            model.source.update(slot, () if act == "empty" else some_batch(chance, slot))
        if chance.random() < 0.3:
            continue
        if chance.random() < 0.2:  # a refresh that dies between or within its commits
            model.build(readable, through=chance.randrange(0, 3))
            continue
        model.build(readable)
        if chance.random() < 0.1:
            model.give(through=chance.randrange(0, 3))
            continue
        model.give()
        assert model.due() == []
        compared += sum(check(model, query) for query in model.queries)
    return compared


@pytest.mark.parametrize("block", range(4))
def test_random_histories_equal_the_oracle(block: int) -> None:
    compared = 0
    for seed in range(block * HISTORIES // 4, (block + 1) * HISTORIES // 4):
        try:
            compared += play(seed)
        except Exception as error:
            error.add_note(f"history seed {seed}: repeat with tests.standing.test_standing_histories.play({seed})")
            raise
    assert compared > 10 * HISTORIES // 4


def test_only_slots_that_may_be_due_are_looked_at() -> None:
    chance = random.Random(1)
    for _ in range(500):
        slots = sorted(chance.sample(range(-5, 30), chance.randrange(0, 20)))
        first, last, young = chance.randrange(0, 10), chance.randrange(10, 25), chance.randrange(-3, 30)
        given = GivenSlots(ranges_since(ranges_of(slots), chance.randrange(-6, first + 1)))
        assert given.count(first, last) == sum(first <= slot < last for slot in slots)
        assert [slot for slot in range(first, last) if given.has(slot)] == [one for one in slots if first <= one < last]
        ranges = given.gaps_and_from(young, first, last)
        looked = [slot for low, high in ranges for slot in range(low, high + 1)]
        assert looked == [slot for slot in range(first, last + 1) if slot not in slots or slot >= young]
