"""Edges counted by F1 and by Bit Set: alone, and while Weave Share plans, with and without a table of divisors.

Plans are those of five published workloads, of fewer queries. F1 is the literal formula over phases without those that
lie within others, as published; the collapsed one is ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import gcd, lcm
from statistics import median

from benchmarks.literature.headline import Headline
from benchmarks.literature.planning import PERIOD_MAX, SETS, draw, published_slides, seconds
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.edge_counts import bit_set, f1, f1_collapsed
from tidewheel.queries.planning.edge_space import PhaseSpace
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.phases import Phase, period_of, reduced
from tidewheel.queries.planning.workload import Request, Workload
from tidewheel.queries.windows import Window

MARKED_MAX = 10**7  # periods that Bit Set is timed on while planning
TABLE_MAX = 512  # divisors up to this are in the table
WEAVE, NO_TREES = "Weave Share", "No Share"
PLAIN, TABLE = "F1", "F1 + Opt"


@dataclass(frozen=True)
class Experiment:
    number: int
    queries: int
    longest: int
    rate: Fraction
    skew: float
    overlap_max: int
    primes: bool
    published: str
    faster: int  # by so many percent F1 + Opt was faster than F1


EXPERIMENTS = (
    Experiment(1, 100, 1_000, Fraction(1, 500), 0.5, 10, False, "350x, at most 790x", 28),
    Experiment(2, 100, 100, Fraction(1), 3, 100, True, "2,200x, at most 10,000x", 18),
    Experiment(3, 100, 100, Fraction(100), 1, 1_000, False, "3,800x, at most 16,000x", 19),
    Experiment(4, 50, 500, Fraction(1, 10), 1, 100, False, "14,000x, at most 60,000x", 18),
    Experiment(5, 100, 600, Fraction(1), 3, 100, True, "5,600x, at most 16,000x", 26),
)


def edges() -> Iterator[Headline]:
    yield Headline(
        "F1 / Bit Set, edges of one set of slides", "350x to 60,000x, of whole plans", None, _by_sets,
        f"periods up to {PERIOD_MAX:.0e}; published are plans up to where the memory of Bit Set ended",
    )  # fmt: skip


def plan_generation() -> Iterator[Headline]:
    for one in EXPERIMENTS:
        yield Headline(
            f"plan generation by Weave Share, F1 / Bit Set, experiment {one.number}, {one.queries} queries",
            one.published, partial(_looks, one), partial(_planned, one),
            "fewer queries than published; a mark is far cheaper here than a phase of the formula", WEAVE, NO_TREES,
        )  # fmt: skip
    for one in EXPERIMENTS:
        yield Headline(
            f"F1 + Opt / F1, experiment {one.number}", f"{one.faster} % faster", partial(_steps_saved, one),
            partial(_opt_timed, one), f"a table of divisors up to {TABLE_MAX}; Python's own gcd needs none",
            TABLE, PLAIN,
        )  # fmt: skip


def _by_sets() -> str:
    literal, collapsed = [], []
    for slides in SETS:
        if lcm(*slides) <= PERIOD_MAX:
            phases = reduced([(slide, 0) for slide in slides])
            marked = seconds(partial(bit_set, phases))
            literal.append(marked / max(seconds(partial(f1, phases)), 1e-6))
            collapsed.append(marked / max(seconds(partial(f1_collapsed, phases)), 1e-6))
    return (
        f"{median(literal):,.0f}x in the median, at most {max(literal):,.0f}x; "
        f"collapsed {median(collapsed):,.0f}x, at most {max(collapsed):,.0f}x"
    )


class _Formula(Workload):
    """Edges as phases, however short the period is."""

    @cached_property
    def space(self) -> PhaseSpace:
        return PhaseSpace(period_of(phase for phases in self.phases for phase in phases))


def tried(one: Experiment) -> list[list[Phase]]:
    """The trees whose edges are counted while Weave Share plans, as phases, each once."""
    chance = random.Random(1)
    slides = published_slides(chance, one.queries, one.longest, one.skew, one.primes)
    windows = [Window(slide * chance.randint(1, one.overlap_max), slide) for slide in slides]
    workload = _Formula(tuple(Request(str(at), window) for at, window in enumerate(windows)), one.rate)
    planner_named(WEAVE).plan(Loom(workload), draw())
    return [sorted(phases) for phases in workload.space.counted]


def _looks(one: Experiment) -> str:
    """Marks of Bit Set, and phases looked at in the groups of the formula: n × 2^(n - 1) of n."""
    trees = tried(one)
    marks = sum(period_of(phases) // slide for phases in trees for slide, _ in phases)
    looks = sum(len(phases) << len(phases) - 1 for phases in trees)
    longest = max(map(period_of, trees))
    return f"{marks / looks:,.0f}x the marks ({len(trees):,} trees, periods up to {longest:.0e})"


def _planned(one: Experiment) -> str:
    trees = [phases for phases in tried(one) if period_of(phases) <= MARKED_MAX]
    marked, counted, collapsed = (seconds(partial(_each, count, trees)) for count in (bit_set, f1, f1_collapsed))
    return (
        f"{marked / counted:,.1f}x, collapsed {marked / collapsed:,.1f}x "
        f"({len(trees):,} trees with periods up to {MARKED_MAX:.0e})"
    )


def _each(count: Callable[[list[Phase]], object], trees: Sequence[list[Phase]]) -> None:
    for phases in trees:
        count(phases)


class Euclid:
    """Greatest common divisors by steps that are counted; looked up where both numbers are in the table."""

    def __init__(self, table_max: int = 0) -> None:
        self.steps, self._max = 0, table_max
        self._table = [[gcd(one, other) for other in range(table_max + 1)] for one in range(table_max + 1)]

    def __call__(self, one: int, other: int) -> int:
        while other:
            self.steps += 1
            if one <= self._max and other <= self._max:
                return self._table[one][other]
            one, other = other, one % other
        return one


def divisors_named(name: str) -> Euclid:
    return Euclid(TABLE_MAX if name == TABLE else 0)


def literal_count(phases: Sequence[Phase], common: Callable[[int, int], int]) -> int:
    """F1 with a way to find common divisors.

    >>> literal_count([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)], gcd)
    27
    """
    period = _multiple([slide for slide, _ in phases], common)
    count = 0
    for size in range(1, len(phases) + 1):
        for group in combinations(phases, size):
            pairs = combinations(group, 2)
            if all((shift - other_shift) % common(slide, other) == 0
                   for (slide, shift), (other, other_shift) in pairs):  # fmt: skip
                count += (-1) ** (size + 1) * (period // _multiple([slide for slide, _ in group], common))
    return count


def _multiple(slides: Sequence[int], common: Callable[[int, int], int]) -> int:
    found = 1
    for slide in slides:
        found = found // common(found, slide) * slide
    return found


def _steps_saved(one: Experiment) -> str:
    trees, steps = tried(one), {}
    for name in (PLAIN, TABLE):
        divisors = divisors_named(name)
        for phases in trees:
            literal_count(phases, divisors)
        steps[name] = divisors.steps
    return f"{1 - steps[TABLE] / steps[PLAIN]:.0%} fewer steps of Euclid"


def _opt_timed(one: Experiment) -> str:
    trees = tried(one)
    plain, table, own = (
        seconds(partial(_each, partial(literal_count, common=common), trees))
        for common in (divisors_named(PLAIN), divisors_named(TABLE), gcd)
    )
    return f"{1 - table / plain:.0%} faster; Python's own gcd {1 - own / plain:.0%}"
