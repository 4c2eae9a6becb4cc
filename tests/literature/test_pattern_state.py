"""Structures of live records: the calendar queue's edge case, and all of them against brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.models.planning import vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.arrival_list import ArrivalList
from tidewheel.queries.literature.state.calendar_queue import CalendarQueue, Partitions
from tidewheel.queries.literature.state.days import DAYS
from tidewheel.queries.literature.state.deletion_directory import DeletionDirectory
from tidewheel.queries.literature.state.fifo import Fifo
from tidewheel.queries.literature.state.group_array import GroupArray
from tidewheel.queries.literature.state.hashed import Hashed
from tidewheel.queries.literature.state.keyed import Keyed
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps
from tidewheel.queries.literature.state.ring import Ring
from tidewheel.queries.literature.state.store import Store


def record(number: int, ts: int, exp: float) -> Record:
    return Record((0, number), (number % 3,), ts, exp)


@pytest.mark.parametrize("order", DAYS)
@pytest.mark.parametrize("vector", vectors("update_patterns/tv09_calendar_queue.json"))
def test_days_that_hold_two_years(vector: dict[str, Any], order: str) -> None:
    queue = CalendarQueue(Steps(), vector["days"], vector["year"], order, vector["now"])
    assert {exp: queue.day_of(int(exp)) for exp in vector["day_of"]} == vector["day_of"]
    for exp in vector["at_50"]:
        queue.insert(record(exp, 50, exp))
    for now, ended in vector["expire"]:
        assert [one.exp for one in queue.expire(now)] == ended
        for exp in vector["at_55"] if now == 55 else ():
            queue.insert(record(exp, 55, exp))
    assert sorted(one.exp for one in queue.days[0]) == vector["day_0_at_60"]
    on_disk = Partitions(vector["days"], vector["year"])
    for exp in (*vector["at_50"], *vector["at_55"]):
        on_disk.insert(exp)
    assert on_disk.drop_until(60) == [51, 56, 57, 58, 59, 60]
    assert sorted(exp for day in on_disk.held.values() for exp in day)[-2:] == vector["at_55"]


def _days(order: str, days: int = 4, *, scans_all: bool = False) -> Callable[[Steps], Store]:
    return lambda steps: CalendarQueue(steps, days, 20, order, scans_all=scans_all)


MAKERS: dict[str, Callable[[Steps], Store]] = {
    "list": ArrivalList,
    "directory": lambda steps: DeletionDirectory(CalendarQueue(steps, 4, 20, "heap"), tombstones=True),
    "directory of days": lambda steps: DeletionDirectory(CalendarQueue(steps, 4, 20, "sorted"), tombstones=False),
    **{f"{order} days": _days(order) for order in DAYS},
    **{f"{order} days, all searched": _days(order, 7, scans_all=True) for order in DAYS},
}


@pytest.mark.parametrize("name", MAKERS)
def test_structures_are_brute_force_at_every_tick(name: str) -> None:
    chance = random.Random(name)
    store, made = MAKERS[name](Steps()), 0
    alive: dict[tuple[Any, ...], Record] = {}
    for now in range(1, 300):
        gone = sorted((one for one in alive.values() if one.exp <= now), key=lambda one: (one.exp, one.id))
        assert store.expire(now) == gone
        alive = {key: one for key, one in alive.items() if one.exp > now}
        for _ in range(chance.randrange(3)):
            made += 1
            one = record(made, now, chance.choice((FOREVER, *range(now + 1, now + 21))) if made % 9 else FOREVER)
            alive[one.id] = one
            store.insert(one)
        if alive and chance.random() < 0.3:
            one = alive.pop(chance.choice(list(alive)))
            store.discard(one)
            if chance.random() < 0.5:  # it is revived
                store.insert(one)
                alive[one.id] = one
        assert sorted(store) == sorted(alive.values())
        assert name == "directory" or len(store) == len(alive)


def test_a_fifo_queue_takes_one_constant_lifetime() -> None:
    queue = Fifo(Steps())
    for at in range(1, 6):
        queue.insert(record(at, at, at + 10))
    queue.discard(record(3, 3, 13))
    assert ([one.ts for one in queue.expire(14)], len(queue), queue.steps.touched) == ([1, 2, 4], 1, 11)
    with pytest.raises(InvalidInput, match="FIFO queue was given exp=7 after exp=15"):
        queue.insert(record(9, 6, 7))


@pytest.mark.parametrize(("chains", "least", "most"), [(1, 50, 50), (10, 1, 20), (None, 1, 1)])
def test_a_chain_is_searched_from_its_oldest(chains: int | None, least: int, most: int) -> None:
    held = Hashed(Steps(), chains)
    for number in range(100):
        held.insert(Record((number,), (), 1))
    held.steps.touched = 0
    held.discard(Record((49,), (), 1))
    assert (held.expire(10**9), len(held)) == ([], 99)
    assert least <= held.steps.touched <= most


def test_a_probe_passes_by_what_has_ended_and_was_not_purged() -> None:
    state = Keyed(ArrivalList(Steps()), lambda one: one.values)
    for number, exp in enumerate((5, 9, 9)):
        state.insert(record(3 * number, 1, exp))
    assert [one.exp for one in state.probe((0,), 5)] == [9, 9]
    state.discard(record(3, 1, 9))
    assert (len(state.expire(9)), len(state), state.probe((0,), 1)) == (2, 0, [])


def test_what_ends_after_a_year_or_has_ended_is_refused() -> None:
    queue = CalendarQueue(Steps(), 5, 50, now=50)
    for exp in (50, 101):
        with pytest.raises(InvalidInput, match="lifetime exceeds bound S=50, or has ended"):
            queue.insert(record(1, 50, exp))
    with pytest.raises(InvalidInput, match="days are unsorted, sorted, heap"):
        CalendarQueue(Steps(), 5, 50, "random")


def test_an_array_by_group_replaces() -> None:
    held = GroupArray(Steps())
    for number, ts in ((1, 1), (2, 2), (1, 3)):
        held.insert(Record((-1, number), (number, ts), ts))
    assert [one.values for one in held] == [(1, 3), (2, 2)]
    held.discard(Record((-1, 2), (), 2).negative())
    assert (held.expire(10**9), len(held), held.steps.total) == ([], 1, 4)
    one = Record((0, 1), ("a",), 1, 7)
    assert [now for now in range(10) if one.is_live(now)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_circular_array_keeps_the_newest(size: int) -> None:
    ring, put = Ring[int](size), list(range(12))
    for count, number in enumerate(put, start=1):
        assert ring.put(number) == (number - size if number >= size else None)
        assert (list(ring), len(ring)) == (put[max(0, count - size) : count], min(count, size))
