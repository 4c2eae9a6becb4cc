"""How dear the dearest answers of a technique are, and how much its state holds."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from time import process_time_ns
from typing import Any

from benchmarks.literature.headline import Headline
from benchmarks.literature.techniques import RIVALS
from tidewheel.queries.choice import technique_named
from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.technique import Technique

SEED = 7
SIZE = 1024
COUNTED_SLIDES, SLIDES = 8_000, 40_000
OUTLIERS = 0.000_05  # of the slowest answers, left out as published
MEMORY_SIZES = (64, 96, 160, 256, 400, 640, 1024)
HELD = "values of the state are counted; published is a process's memory"


@dataclass(frozen=True)
class Answers:
    """Operations and nanoseconds of single slides: the mean, and the dearest."""

    operations: float
    most_operations: int
    mean_ns: float
    most_ns: float


def walk(count: int) -> list[int]:
    """As readings of a machine: each is near the one before it."""
    chance, value, found = random.Random(SEED), 0.0, []
    for _ in range(count):
        value = 0.98 * value + chance.gauss(0, 1000)
        found.append(round(value))
    return found


def latencies() -> Iterator[Headline]:
    for slick, operation, published in (
        ("SlickDeque (Non-Inv)", MAX,
         "8 % better than the second best, at most 17 %; highest spike 283 % lower than DABA's"),
        ("SlickDeque (Inv)", whole_sum(), "75 % better than the second best, at most 548 %"),
    ):  # fmt: skip
        yield Headline(
            f"{slick}, latency of one answer over {SIZE:,} partials", published,
            partial(_counted, slick, operation), partial(_timed, slick, operation),
            "by operations as published; its dearest slide is bounded by the window, DABA's by 8", slick, "FlatFIT",
        )  # fmt: skip


def _found(slick: str, operation: Operation, slides: int) -> tuple[Answers, dict[str, Answers]]:
    """Of the same rivals as for the throughput."""
    partials = walk(slides)
    return _answers(slick, operation, partials), {name: _answers(name, operation, partials) for name in RIVALS}


def _counted(slick: str, operation: Operation) -> str:
    mine, theirs = _found(slick, operation, COUNTED_SLIDES)
    second = min(theirs, key=lambda name: theirs[name].operations)
    return (
        f"{mine.operations:.2f} operations, {second} {theirs[second].operations:.2f}; "
        f"at most {mine.most_operations}, DABA {theirs['DABA'].most_operations}"
    )


def _timed(slick: str, operation: Operation) -> str:
    mine, theirs = _found(slick, operation, SLIDES)
    second = min(theirs, key=lambda name: theirs[name].mean_ns)
    return (
        f"{theirs[second].mean_ns / mine.mean_ns:.2f}x the speed of {second} ({mine.mean_ns:,.0f} ns); "
        f"highest spike {mine.most_ns / 1000:,.0f} µs, DABA's {theirs['DABA'].most_ns / 1000:,.0f} µs"
    )


def _answers(name: str, operation: Operation, partials: Sequence[int]) -> Answers:
    technique, times, operations = technique_named(name)(operation, [SIZE]), [], []
    for number, given in enumerate(partials):
        before, begun = technique.calls, process_time_ns()
        technique.insert(given)
        technique.query(SIZE)
        spent = process_time_ns() - begun
        if number >= 2 * SIZE:
            times.append(spent)
            operations.append(technique.calls - before)
    times.sort()
    kept = times[: len(times) - max(1, round(OUTLIERS * len(times)))]
    return Answers(fmean(operations), max(operations), fmean(kept), kept[-1])


def memory() -> Iterator[Headline]:
    slick, slick_inv = "SlickDeque (Non-Inv)", "SlickDeque (Inv)"
    for one, other, operation, published, why in (
        (slick, "Panes", MAX, "2x less, at most 5x", f"{HELD}; of a walk few partials can still win"),
        (slick_inv, "Panes", whole_sum(), "equal", f"{HELD}, the running answer among them"),
        ("FlatFIT", "FlatFAT", MAX, "1.4x less, at most 1.9x", HELD),
    ):
        yield Headline(
            f"{one} / {other}, memory", published, partial(_held_less, one, other, operation), why=why,
            subject=one, rival="FlatFAT" if other == "Panes" else "Panes", slow=True,
        )  # fmt: skip


def _held_less(one: str, other: str, operation: Operation) -> str:
    ratios = [
        held(technique_named(other)(operation, [size]), size) / held(technique_named(one)(operation, [size]), size)
        for size in MEMORY_SIZES
    ]
    return f"{other} holds {fmean(ratios):.2f}x, at most {max(ratios):.2f}x"


def held(technique: Technique, size: int) -> int:
    """The most values that a state holds over a walk."""
    most = 0
    for number, given in enumerate(walk(4 * size)):
        technique.insert(given)
        if number >= 2 * size:
            most = max(most, values_in(technique.state()))
    return most


def values_in(state: Any) -> int:
    """
    >>> values_in({"nodes": deque([(1, 7), (4, 5)]), "newest": 4})
    5
    """
    if isinstance(state, dict):
        return sum(map(values_in, state.values()))
    return sum(map(values_in, state)) if isinstance(state, list | tuple | deque) else 1
