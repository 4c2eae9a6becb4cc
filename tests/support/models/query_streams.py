"""Random shared plans and streams, and every technique compared with the oracle after each step."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.support.models.query_operations import Case
from tidewheel.queries.choice import fitting
from tidewheel.queries.literature.incremental import Answer, Incremental
from tidewheel.queries.oracle import window_fold
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.slicing import Slicing
from tidewheel.queries.technique import Technique
from tidewheel.queries.windows import Window

Records = list[tuple[int, tuple[Any, ...]]]
STREAMS = ("dense", "sparse", "bursts")


def random_windows(chance: random.Random, one_range: bool) -> list[Window]:
    if one_range:  # its slide divides it: one count of fragments, however it is cut
        slide = chance.randint(1, 4)
        return [Window(slide * chance.randint(1, 12), slide, chance.randint(-5, 5))]
    return [
        Window(chance.randint(1, 40), chance.randint(1, 10), chance.choice([0, 0, chance.randint(-9, 9)]))
        for _ in range(chance.randint(1, 4))
    ]


def random_records(chance: random.Random, case: Case, stream: str, start: int, count: int) -> Records:
    steps = {"dense": [1], "sparse": [1, 2, 9, 40], "bursts": [0, 0, 0, 3]}[stream]
    records, at = [], start
    for _ in range(count):
        records.append((at, case.draw(chance, at)))
        at += chance.choice(steps)
    return records


def truth(case: Case, windows: list[Window], records: Records, start: int, end: int) -> dict[tuple[Window, int], Any]:
    return {
        (window, report): window_fold(case.operation, records, report - window.length, report)
        for window in dict.fromkeys(windows)
        for report in window.reports_between(start, end)
    }


def answers(machine: Incremental, records: Records, end: int) -> list[Answer]:
    given = [answer for at, inputs in records for answer in machine.add(at, *inputs)]
    return given + list(machine.advance(end))


def compare(
    case: Case, seed: int, techniques: Sequence[type[Technique]] | None = None, records_count: int = 40
) -> Counter[tuple[str, str, str]]:
    """All slicings × all techniques that fit, on one random stream: how many answers were compared of each."""
    chance = random.Random(seed)
    # By turns, so that techniques of one range have their share of every operation.
    windows, start = random_windows(chance, one_range=seed % 2 == 0), chance.randint(-30, 30)
    records = random_records(chance, case, chance.choice(STREAMS), start, records_count)
    end = records[-1][0] + chance.choice([0, 1, 50])
    expected = truth(case, windows, records, start, end)
    compared: Counter[tuple[str, str, str]] = Counter()
    for slicing in Slicing:
        plan = build_shared_plan(windows, slicing)
        for technique in techniques or fitting(case.operation, {count for count in plan.counts if count}):
            what = f"seed {seed}: {case.name} of {case.draw.__name__}, {slicing}, {technique.name}, {windows}"
            given = _answered(plan, case, start, technique, records, end, what)
            assert given.keys() == expected.keys(), what
            compared[case.name, slicing, technique.name] += len(given)
            for key, found in given.items():
                assert case.same(found, expected[key]), f"{what}, at {key}: {found} instead of {expected[key]}"
    return compared


def _answered(
    plan: SharedPlan, case: Case, start: int, technique: type[Technique], records: Records, end: int, what: str
) -> dict[tuple[Window, int], Any]:
    machine = Incremental(plan, case.operation, start, technique, checked=not case.rounds)
    try:
        given = answers(machine, records, end)
    except Exception as error:
        error.add_note(what)
        raise
    assert [answer.report for answer in given] == sorted(answer.report for answer in given), what
    return {(answer.window, answer.report): answer.accumulator for answer in given}
