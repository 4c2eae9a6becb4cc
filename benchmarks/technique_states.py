"""How long techniques take for single answers, and how much they hold: rows of `python -m benchmarks headlines`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter_ns
from typing import Any

from benchmarks.headline import Headline
from tidewheel.queries.choice import technique_named
from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.technique import Technique

SEED = 7
SIZE = 1024
SLIDES, PANES_SLIDES = 40_000, 4_000
OUTLIERS = 0.000_05  # of the slowest answers, left out as published
MEMORY_SIZES = (64, 96, 160, 256, 400, 640, 1024)
OTHERS = ("Panes", "FlatFAT", "B-Int", "TwoStacks", "DABA", "FlatFIT")
SUM_OTHERS = ("Panes (Inv)", *OTHERS)


@dataclass(frozen=True)
class Answers:
    """Nanoseconds of single slides, and the operations of the dearest."""

    mean_ns: float
    most_ns: float
    most_operations: int


def walk(count: int) -> list[int]:
    """As readings of a machine: each is near the one before it."""
    chance, value, found = random.Random(SEED), 0.0, []
    for _ in range(count):
        value = 0.98 * value + chance.gauss(0, 1000)
        found.append(round(value))
    return found


def answers(name: str, operation: Operation, partials: Sequence[int]) -> Answers:
    technique, times, operations = technique_named(name)(operation, [SIZE]), [], []
    for number, partial in enumerate(partials):
        before, begun = technique.calls, perf_counter_ns()
        technique.insert(partial)
        technique.query(SIZE)
        spent = perf_counter_ns() - begun
        if number >= 2 * SIZE:
            times.append(spent)
            operations.append(technique.calls - before)
    times.sort()
    kept = times[: len(times) - max(1, round(OUTLIERS * len(times)))]
    return Answers(fmean(kept), kept[-1], max(operations))


def latencies() -> Iterator[Headline]:
    partials = walk(SLIDES)
    for slick, operation, others, published in (
        ("SlickDeque (Non-Inv)", MAX, OTHERS,
         "8 % better than the second best, at most 17 %; spikes 283 % lower than DABA's"),
        ("SlickDeque (Inv)", whole_sum(), SUM_OTHERS, "75 % better than the second best, at most 548 %"),
    ):  # fmt: skip
        found = {name: answers(name, operation, partials[: PANES_SLIDES if name == "Panes" else None])
                 for name in (slick, *others)}  # fmt: skip
        second = min(others, key=lambda name: found[name].mean_ns)
        mine, daba = found[slick], found["DABA"]
        yield Headline(
            f"{slick}, one answer of {SIZE:,} partials, latency", published,
            f"{found[second].mean_ns / mine.mean_ns:.2f}x the speed of {second} ({mine.mean_ns:,.0f} ns); highest "
            f"spike {mine.most_ns / 1000:,.0f} µs, DABA's {daba.most_ns / 1000:,.0f} µs; "
            f"at most {mine.most_operations} operations, DABA {daba.most_operations}",
            "spikes of a clock in CPython are those of its memory; operations are counted",
        )  # fmt: skip


def memory() -> Iterator[Headline]:
    """By values that a state holds at most, over a walk."""

    def held(name: str, operation: Operation) -> list[int]:
        return [_held(technique_named(name)(operation, [size]), size) for size in MEMORY_SIZES]

    panes, fat, fit = (held(name, MAX) for name in ("Panes", "FlatFAT", "FlatFIT"))
    slick, slick_inv = held("SlickDeque (Non-Inv)", MAX), held("SlickDeque (Inv)", whole_sum())
    for what, published, ours, others, why in (
        ("SlickDeque (Non-Inv) / Panes, memory", "2x less, at most 5x", slick, panes,
         "values of the state, published is a process's memory; few partials of a walk can still win"),
        ("SlickDeque (Inv) / Panes, memory", "equal", slick_inv, panes,
         "values of the state, the running answer among them"),
        ("FlatFIT / FlatFAT, memory", "1.4x less, at most 1.9x", fit, fat, "values of the state"),
    ):  # fmt: skip
        ratios = [theirs / mine for theirs, mine in zip(others, ours, strict=True)]
        yield Headline(what, published, f"the other holds {fmean(ratios):.2f}x, at most {max(ratios):.2f}x", why)


def _held(technique: Technique, size: int) -> int:
    most = 0
    for number, partial in enumerate(walk(4 * size)):
        technique.insert(partial)
        technique.query(size)
        if number >= 2 * size and number % 16 == 0:
            most = max(most, _values(technique.state()))
    return most


def _values(state: Any) -> int:
    if isinstance(state, dict):
        return sum(map(_values, state.values()))
    return sum(map(_values, state)) if isinstance(state, list | tuple) else 1
