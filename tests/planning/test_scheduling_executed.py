"""Schedulers with answers that are really computed: the service time is that of the processor.

Which scheduler does better is asserted of the mean of fresh seeds, by how useful its answers are and how late; how much
better depends on what is done after a scan, and is not.
"""

from __future__ import annotations

import random
from collections import Counter
from statistics import fmean
from time import process_time
from typing import Any

import pytest

from tidewheel.queries.scheduling.playing import Clock, play
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts
from tidewheel.queries.scheduling.schedule_worth import Worth, worth
from tidewheel.queries.scheduling.schedulers import scheduler_named

SLOWED = 30.0  # this machine is so many times slower by the virtual clock
UPDATES, PASSED_OVER = 250, 50
KEYS = (("src",), ("dst",), ("src", "dst"), ("protocol",), ("sport",), ("dport",), ("protocol", "sport"),
        ("protocol", "dport"))  # fmt: skip
SCHEDULERS = ("No-S", "CS", "HS", "H-LS", "H-LP")


class Stream:
    """Slots of counters for each group's key, computed when they come."""

    def __init__(self, seed: int, rate: int) -> None:
        self._chance, self._rate = random.Random(seed), rate
        values = rate // 1_500  # at the doubled rate all distinct values are doubled
        self._sizes = {"src": 1000 * values, "dst": 1000 * values, "protocol": 100 * values,
                       "sport": 100 * values, "dport": 100 * values}  # fmt: skip
        self.slots: list[list[Counter[Any]]] = [[] for _ in KEYS]

    def update(self) -> None:
        chance = self._chance
        rows = [{name: chance.randrange(size) for name, size in self._sizes.items()} for _ in range(self._rate)]
        for slots, key in zip(self.slots, KEYS, strict=True):
            slots.append(Counter({value: 100 * n for value, n in Counter(_key(row, key) for row in rows).items()}))
            del slots[:-100]

    def run(self, queries: list[Periodic]) -> float:
        """One scan for all windows, each answered on the way."""
        before = process_time()
        group = int(queries[0].name.partition(".")[0])
        wanted: dict[int, list[Periodic]] = {}
        for query in queries:
            wanted.setdefault(min(query.window, len(self.slots[group])), []).append(query)
        folded: Counter[Any] = Counter()
        for back in range(1, max(wanted) + 1):
            folded.update(self.slots[group][-back])
            for query in wanted.get(back, ()):
                _answer(folded, query)
        return (process_time() - before) * SLOWED


def _key(row: dict[str, int], key: tuple[str, ...]) -> Any:
    return row[key[0]] if len(key) == 1 else tuple(row[name] for name in key)


def _answer(folded: Counter[Any], query: Periodic) -> object:
    if hash(query.name) % 2:
        return folded.most_common(10)
    return sorted(folded.values())[len(folded) // 2]


def executed(seed: int, each: int, rate: int) -> tuple[dict[str, Worth], dict[str, int]]:
    chance = random.Random(seed + each)
    groups: dict[str, list[Periodic]] = {}
    for group in range(len(KEYS)):
        groups[str(group)] = []
        for at in range(each):
            window = chance.randint(20, 100)
            groups[str(group)].append(Periodic(f"{group}.{at}", window, chance.randint(1, window // 2)))
    queries = [query for group in groups.values() for query in group]
    found, tasks = {}, {}
    for name in SCHEDULERS:
        scheduler, stream = scheduler_named(name), Stream(seed, rate)
        planned = scheduler.tasks(groups, RunCosts(after=2), 0)
        timetable = _Fed(scheduler.timetable(planned), stream)
        runs = play(timetable, UPDATES, lambda some, stream=stream: stream.run(list(some)), Clock(1.0))  # type: ignore[misc]
        found[name], tasks[name] = worth(runs, queries, PASSED_OVER, UPDATES), len(planned)
    return found, tasks


class _Fed:
    """A timetable whose updates bring a slot of the stream."""

    def __init__(self, inner: Any, stream: Stream) -> None:
        self._inner, self._stream = inner, stream

    @property
    def version(self) -> int:
        return int(self._inner.version)

    def advance(self) -> None:
        self._inner.advance()
        self._stream.update()

    def choose(self) -> Any:
        return self._inner.choose()


@pytest.mark.nightly
@pytest.mark.parametrize(("each", "rate", "late_by_hybrid"), [(20, 3_000, 1.2), (30, 1_500, 1.2), (30, 3_000, 1.5)])
def test_schedulers_executed(each: int, rate: int, late_by_hybrid: float) -> None:
    found = [executed(seed, each, rate) for seed in (5000, 6000, 7000)]
    useful = {name: fmean(one[name].useful for one, _ in found) for name in SCHEDULERS}
    latency = {name: fmean(one[name].latency for one, _ in found) for name in SCHEDULERS}
    told = {name: f"{useful[name]:.2f} useful, {latency[name]:.2f} late" for name in SCHEDULERS}
    print(told)
    assert useful["No-S"] < useful["CS"] < useful["HS"] < min(useful["H-LS"], useful["H-LP"]), told
    assert latency["No-S"] > latency["CS"] > latency["HS"] > max(latency["H-LS"], latency["H-LP"]), told
    assert useful["H-LP"] / useful["HS"] >= late_by_hybrid, told
    assert all(tasks["HS"] <= 0.75 * tasks["CS"] for _, tasks in found)
