"""Final operations per edge of a tree, by technique: Ω of the literature, as published and exactly.

The published ones charge every query at every edge. A query of slide s is answered only at the fraction
f = 1 / (s × rate) of them, which the exact ones know; how many partials a report combines is in both nP = range × rate.
Where a publication contradicts itself, `published` is what its plots show: for SlickDeque (Inv) once the number of
different nP, not twice as its text says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import ceil, factorial, floor, fsum, gcd, log2

from tidewheel.queries.operations.counting import COUNT_ROWS
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.techniques.flat_fit import FlatFIT
from tidewheel.queries.windows import Window

Omega = Callable[[Fraction, frozenset[Window]], Fraction | float]
"""Of a tree with that many edges per unit and those windows."""

REMEMBERED_MAX = 1 << 16
TURNS_MAX = 2000
RUN_MAX = 8000  # slides


class Form(Enum):
    PUBLISHED = "published"
    EXACT = "exact"


def partials_of(rate: Fraction, window: Window) -> int:
    """nP: how many partials the window spans, of average length."""
    return max(1, ceil(window.length * rate))


def _answered(rate: Fraction, window: Window) -> Fraction:
    return 1 / (window.slide * rate)


def panes(_: Fraction, windows: frozenset[Window]) -> Fraction:
    return sum((Fraction(window.length, window.slide) for window in windows), Fraction(0))


def panes_exact(rate: Fraction, windows: frozenset[Window]) -> Fraction:
    return sum((_answered(rate, one) * (one.length * rate - 1) for one in windows), Fraction(0))


def flat_fat(rate: Fraction, windows: frozenset[Window]) -> float:
    """Nothing for a window of one partial, of which the formula has no logarithm."""
    counts = [partials_of(rate, window) for window in windows]
    return fsum(floor(log2(n - 1)) + (n - 1) / (1 << n.bit_length() - 1) for n in counts if n > 1)


def flat_fat_exact(_: Fraction, windows: frozenset[Window]) -> float:
    """For operations that commute: a path to the root per insert, and as many nodes as cover the range, less one."""
    return _flat_fat(windows)


@lru_cache(REMEMBERED_MAX)
def _flat_fat(windows: frozenset[Window]) -> float:
    plan = _plan_of(windows)
    leaves = 1 << (plan.count_max - 1).bit_length()
    reports = [
        (plan.number_of(at), {plan.count(one, at) for one in due}) for at, due in plan.reports_between(0, plan.period)
    ]
    # Where in the ring a report falls repeats after so many periods; a few of them are near enough.
    turns = min(leaves // gcd(leaves, len(plan.edges)), 1 + TURNS_MAX // len(reports))
    nodes = sum(
        _nodes_covering((end + turn * len(plan.edges)) % leaves, count, leaves) - 1
        for turn in range(turns)
        for end, counts in reports
        for count in counts
        if count not in (0, leaves)
    )
    return log2(leaves) + nodes / (turns * len(plan.edges))


def _nodes_covering(end: int, count: int, leaves: int) -> int:
    """Nodes of a binary tree over a ring of leaves that cover `count` of them.

    >>> [_nodes_covering(8, count, 8) for count in (1, 2, 3, 4, 7)]
    [1, 1, 2, 1, 3]
    """
    first, end = end + leaves - count, end + leaves
    nodes = 0
    while first < end:
        nodes += first % 2 + end % 2
        first, end = (first + 1) // 2, end // 2
    return nodes


def flat_fit(_: Fraction, windows: frozenset[Window]) -> Fraction:
    return Fraction(3 * len(windows))


def flat_fit_exact(rate: Fraction, windows: frozenset[Window]) -> Fraction:
    """Counted on a run, as no formula is exact here; an estimate where the windows are too long for one."""
    counted = _flat_fit(windows)
    if counted is not None:
        return counted
    return min(Fraction(3 * len(windows)), 1 + 3 * sum((_answered(rate, one) for one in windows), Fraction(0)))


@lru_cache(REMEMBERED_MAX)
def _flat_fit(windows: frozenset[Window]) -> Fraction | None:
    """Operations do not depend on records. The first windows, in which the ring has no long jumps yet, do not count."""
    plan = _plan_of(windows)
    edges, cycle = len(plan.edges), max(plan.count_max + 1, len(plan.edges))
    if 2 * cycle > RUN_MAX:
        return None
    due = {at % plan.period: {plan.count(one, at) for one in each} for at, each in plan.reports_between(0, plan.period)}
    asked = [due.get(edge % plan.period, set()) for edge in plan.edges]
    technique, before = FlatFIT(COUNT_ROWS, plan.counts), 0
    slides = edges * ceil(min(10 * cycle, RUN_MAX) / edges)
    passed = edges * ceil(cycle * (2 if slides >= 5 * cycle else 1) / edges)
    for slide in range(slides):
        if slide == passed:
            before = technique.calls
        technique.insert(1)
        technique.query_many(asked[slide % edges])
    return Fraction(technique.calls - before, slides - passed)


def slick_deque_inv(rate: Fraction, windows: frozenset[Window]) -> Fraction:
    return Fraction(len({partials_of(rate, window) for window in windows}))


def slick_deque_inv_exact(_: Fraction, windows: frozenset[Window]) -> Fraction:
    return _slick_deque_inv(windows)


@lru_cache(REMEMBERED_MAX)
def _slick_deque_inv(windows: frozenset[Window]) -> Fraction:
    return Fraction(2 * len(_plan_of(windows).counts))


def slick_deque_non_inv(rate: Fraction, windows: frozenset[Window]) -> float:
    most = max(partials_of(rate, window) for window in windows)
    walk = sum(1 / factorial(i) for i in range(1, min(most, 25) + 1))
    return 2 - 2 / most + len(windows) + walk


def slick_deque_non_inv_exact(_: Fraction, windows: frozenset[Window]) -> float:
    """For inputs in random order: the deque is as long as a harmonic number says."""
    return _slick_deque_non_inv(windows)


@lru_cache(REMEMBERED_MAX)
def _slick_deque_non_inv(windows: frozenset[Window]) -> float:
    plan = _plan_of(windows)
    harmonic = _harmonic(plan.count_max)
    walked = 0.0
    for at, due in plan.reports_between(0, plan.period):
        counts = {plan.count(window, at) for window in due}
        walked += len(counts) + harmonic[plan.count_max] - harmonic[max(1, min(counts))]
    return 2 - 2 / plan.count_max + walked / len(plan.edges)


def _harmonic(most: int) -> list[float]:
    sums = [0.0]
    for n in range(1, most + 1):
        sums.append(sums[-1] + 1 / n)
    return sums


def _plan_of(windows: Iterable[Window]) -> SharedPlan:
    return build_shared_plan(sorted(windows))


OMEGAS: dict[str, dict[Form, Omega]] = {
    "Panes": {Form.PUBLISHED: panes, Form.EXACT: panes_exact},
    "FlatFAT": {Form.PUBLISHED: flat_fat, Form.EXACT: flat_fat_exact},
    "FlatFIT": {Form.PUBLISHED: flat_fit, Form.EXACT: flat_fit_exact},
    "SlickDeque (Inv)": {Form.PUBLISHED: slick_deque_inv, Form.EXACT: slick_deque_inv_exact},
    "SlickDeque (Non-Inv)": {Form.PUBLISHED: slick_deque_non_inv, Form.EXACT: slick_deque_non_inv_exact},
}


def true_operand_rate(workload: Workload, members: Iterable[int]) -> Fraction:
    """How many partials a tree's reports combine per unit of time, counted along one period.

    Rate × sum of range / slide assumes windows of average fragments; it is the same where ranges are multiples of
    slides, and less than one operand per query and edge off elsewhere.
    """
    windows = [workload.requests[position].window for position in members]
    plan = build_shared_plan(windows, workload.slicing)
    reports = (plan.count(window, at) for window in windows for at in window.reports_between(0, plan.period))
    return Fraction(sum(reports), plan.period)
