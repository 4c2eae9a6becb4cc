"""How much the techniques of final aggregation do, and how fast: the headlines of FlatFIT and SlickDeque.

Panes is no rival: of a few partials on it is never the second best.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean

from benchmarks.literature.headline import Headline
from benchmarks.literature.windows import slides_per_second
from tidewheel.queries.choice import technique_named
from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum

SEED = 7
SIZES, MANY_SIZES = (64, 256, 1024), (64, 256)
SECONDS = 0.15
RIVALS = ("FlatFAT", "B-Int", "FlatFIT", "TwoStacks", "DABA")
MANY_RIVALS = ("FlatFAT", "B-Int", "FlatFIT")  # the others answer one range only
CALLS = "a call in CPython costs more than what an operation saves"
TWICE = "two operations for each range and slide, where FlatFIT has about one"


def techniques() -> Iterator[Headline]:
    inv, non_inv, fat = "SlickDeque (Inv)", "SlickDeque (Non-Inv)", ("FlatFAT",)
    yield _row("FlatFIT / FlatFAT, one range, max", "1.8x, at most 2.6x", "FlatFIT", fat, MAX, False, CALLS)
    yield _row("FlatFIT / FlatFAT, every range, max", "10x, at most 17x", "FlatFIT", fat, MAX, True, CALLS)
    for what, published, subject, operation, many, why in (
        ("one range, sum", "+15 %, at most +19 %", inv, whole_sum(), False, CALLS),
        ("one range, max", "+7 %, at most +10 %", non_inv, MAX, False, CALLS),
        ("every range, sum", "+45 %, at most +60 %", inv, whole_sum(), True, TWICE),
        ("every range, max", "+266 %, at most +345 %", non_inv, MAX, True, "answers are looked up: no operation"),
    ):
        rivals = MANY_RIVALS if many else RIVALS
        yield _row(f"SlickDeque / second best, {what}", published, subject, rivals, operation, many, why)


def _row(
    what: str, published: str, subject: str, rivals: Sequence[str], operation: Operation, many: bool, why: str
) -> Headline:
    return Headline(
        what, published, partial(_fewer, subject, rivals, operation, many),
        partial(_faster, subject, rivals, operation, many), why, subject, rivals[0], slow=many,
    )  # fmt: skip


def _asked(many: bool) -> list[Sequence[int]]:
    return [range(1, size + 1) for size in MANY_SIZES] if many else [[size] for size in SIZES]


def _fewer(one: str, others: Sequence[str], operation: Operation, many: bool) -> str:
    ratios = []
    for asked in _asked(many):
        theirs = {name: operations(name, operation, asked) for name in others}
        second = min(others, key=lambda name: theirs[name])
        ratios.append((theirs[second] / operations(one, operation, asked), second))
    names = sorted({name for _, name in ratios})
    return f"{' or '.join(names)} needs {fmean(ratio for ratio, _ in ratios):.2f}x the operations"


def _faster(one: str, others: Sequence[str], operation: Operation, many: bool) -> str:
    ratios = []
    for asked in _asked(many):
        speeds = {name: slides_per_second(technique_named(name)(operation, asked), list(asked), SECONDS)
                  for name in (one, *others)}  # fmt: skip
        ratios.append(speeds[one] / max(speeds[name] for name in others))
    return f"{fmean(ratios):.2f}x the slides a second, at most {max(ratios):.2f}x"


def operations(name: str, operation: Operation, asked: Sequence[int]) -> float:
    """A slide's, on average over one window, once the window has been filled twice."""
    technique, chance = technique_named(name)(operation, asked), random.Random(SEED)
    size, before = max(asked), 0
    for turn in range(3 * size):
        if turn == 2 * size:
            before = technique.calls
        technique.insert(chance.randrange(10**6))
        technique.query_many(asked)
    return (technique.calls - before) / size
