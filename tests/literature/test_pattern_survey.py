"""Clocks and heartbeats, wave indices, decay, bounded memory: what the survey defines, as it runs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.bounded_memory import is_bounded
from tidewheel.queries.literature.patterns.clocks import Clock, MergeUnion, Slack
from tidewheel.queries.literature.patterns.decay import ExponentialDecay, PolynomialDecay
from tidewheel.queries.literature.patterns.generated_streams import query_plan
from tidewheel.queries.literature.patterns.wave_index import ChronologicalIndex, Entry, WaveIndex, wave_index_over
from tidewheel.queries.literature.state.fifo import Fifo
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.legality import Illegal


def record(ts: int, number: int = 0) -> Record:
    return Record((number, ts), (), ts)


@pytest.mark.parametrize("vector", vectors("update_patterns/tv12_clocks.json"))
def test_an_operator_expires_by_its_own_clock(vector: dict[str, Any]) -> None:
    told = vector["clock"]
    sources = [Clock(), Clock()]
    for source in sources:
        source.hear(told["sources"])
    join = Clock(sources)
    largest = Clock([join])
    largest.process(0, told["processed"])
    state = Fifo(Steps())
    for exp in (*told["gone"], *told["counted"]):
        state.insert(Record((exp,), (), exp - 6, exp))
    assert [one.exp for one in state.expire(largest.now)] == told["gone"]
    assert [one.exp for one in state] == told["counted"]
    assert (join.now, largest.request(), largest.now) == (0, told["sources"], told["sources"])
    with pytest.raises(InvalidInput, match="a tuple or heartbeat of 99 comes after one of 100"):
        sources[0].hear(99)


def test_a_merge_gives_tuples_by_time_whatever_lags() -> None:
    chance = random.Random(5)
    streams = [sorted(chance.randrange(100) for _ in range(40)) for _ in range(3)]
    waiting, union, found = [list(one) for one in streams], MergeUnion(3), []
    while any(waiting):
        side = chance.choice([at for at, left in enumerate(waiting) if left])
        found += union.add(side, record(waiting[side].pop(0), side))
        assert all(left or union.heartbeat(at, 100) is not None for at, left in enumerate(waiting))
    for side in range(3):
        found += union.heartbeat(side, 100)
    assert [one.ts for one in found] == sorted(ts for stream in streams for ts in stream)
    assert len(union) == 0


def test_slack_sorts_what_is_late_by_as_much() -> None:
    sort = Slack(2)
    found = [one.ts for ts in (1, 5, 3, 4, 9, 8, 7) for one in sort.add(record(ts))]
    assert [*found, *(one.ts for one in sort.flush())] == [1, 3, 4, 5, 7, 8, 9]
    with pytest.raises(InvalidInput, match=r"Tuple ts=2 not after watermark τ_k=7 \(late data\)"):
        sort.add(record(2))


WAVE = pages("update_patterns/tv14_wave_index.json")


@pytest.mark.parametrize("how", ["R-ins", "D-ins", "R-exp", "D-exp"])
@pytest.mark.parametrize("vector", vectors("update_patterns/tv14_wave_index.json"))
def test_a_wave_index_touches_one_sub_index(vector: dict[str, Any], how: str) -> None:
    size, slide = WAVE["size"], WAVE["slide"]
    index = WaveIndex(f"{how}{WAVE['parts']}", size, slide)
    for now in range(slide, 36, slide):
        new = [Entry(at % 3, at, at + size) for at in range(now - slide + 1, now + 1)]
        told = index.update(now, new)
        if now == size:
            held = {str(number): sorted(one.ts for one in sub) for number, sub in enumerate(index.subs, start=1)}
            assert held == vector["at_16"]
            assert {name: [held[name][0] + size, held[name][-1] + size] for name in held} == vector["exp_at_16"]
        if now == 18:
            assert {"inserted": [*told.inserted], "deleted": [*told.deleted]} == vector["update_18"]
        if str(now) in vector["touched"]:
            assert told.touched == (vector["touched"][str(now)],)
        alive = range(max(1, now - size + 1), now + 1)
        assert sorted(one.ts for one in index.probe(1)) == [at for at in alive if at % 3 == 1]


@pytest.mark.parametrize("name", ["R-ins4", "D-exp4", "R-ins8", "R-exp1"])
def test_lifetimes_that_differ_touch_all_sub_indices(name: str) -> None:
    chance, index = random.Random(2), WaveIndex(name, 16, 2)
    touched = []
    for now in range(2, 202, 2):
        new = [Entry(chance.randrange(5), at, now + chance.randint(1, 15)) for at in (now - 1, now) for _ in range(40)]
        touched.append(len(index.update(now, new).touched))
    assert set(touched[10:]) == {index.parts}


def test_buckets_of_a_wave_index() -> None:
    rebuilt, in_place = WaveIndex("R-ins4", 16, 2), WaveIndex("D-ins4", 16, 2, room=2)
    chronological = ChronologicalIndex()
    for now in range(2, 34, 2):
        new = [Entry(at % 2, at, at + 16) for at in (now - 1, now) for _ in range(5)]
        gone = rebuilt.update(now, new).deleted
        assert in_place.update(now, new).deleted == gone == chronological.update(now, new)
        assert sorted(chronological.probe(0)[0]) == sorted(rebuilt.probe(0)) == sorted(in_place.probe(0))
    assert (rebuilt.buckets, in_place.buckets, chronological.probe(0)[1]) == (8, 40, 80)
    with pytest.raises(InvalidInput, match="n·Δ must divide S"):
        WaveIndex("R-ins4", 16, 3)
    with pytest.raises(Illegal, match=r"Wave index refused: view is variable-lifetime \(WK\)"):
        wave_index_over(query_plan("Q1", 16), "R-ins4", 16, 2)
    with pytest.raises(InvalidInput, match="no wave index is named R4"):
        WaveIndex("R4", 16, 2)


def test_weights_fall_with_age() -> None:
    values = [(3, 4.0), (8, 1.0), (8, 2.0), (20, 5.0), (15, 7.0)]
    decayed = ExponentialDecay(half_life=6)
    for at, value in values:
        decayed.add(value, at)
    weights = [2 ** ((at - 25) / 6) for at, _ in values]
    total = sum(value * weight for weight, (_, value) in zip(weights, values, strict=True))
    assert decayed.total(25) == pytest.approx(total)
    assert decayed.average(25) == pytest.approx(total / sum(weights))
    assert ExponentialDecay(6).average(1) is None
    polynomial = PolynomialDecay(2)
    for at, value in values:
        polynomial.add(int(value), at)
    assert polynomial.total(25) == pytest.approx(sum(int(value) / (26 - at) ** 2 for at, value in values))


@pytest.mark.parametrize("vector", vectors("update_patterns/tv15_bounded_memory.json"))
def test_bounded_memory(vector: dict[str, Any]) -> None:
    streams = pages("update_patterns/tv15_bounded_memory.json")["streams"]
    columns = {f"{stream}.{field}" for stream, fields in streams.items() for field in fields}
    where = [Comparison(left, sign, right, right in columns) for left, sign, right in vector["where"]]
    for distinct, true in ((False, vector["with_duplicates"]), (True, vector["distinct"])):
        assert is_bounded(vector["kept"], where, distinct=distinct) is true
