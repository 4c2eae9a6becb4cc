"""Plans of Weave Share and TriWeave by the cost of each technique: the published experiments with new cost estimation.

Slides are drawn from the factors of a number, ranges are whole multiples of them. Omega is the published one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import fmean

from benchmarks.literature.headline import Headline
from benchmarks.literature.planning import draw
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.cost_model import Levels
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.omega_model import omega_model
from tidewheel.queries.planning.omegas import OMEGAS, Form
from tidewheel.queries.planning.workload import Workload, workload_of
from tidewheel.queries.windows import Window

SEED = 7
WEAVE, TRI_WEAVE, ONE_TREE = "Weave Share", "TriWeave", "Shared"
SLICK = "SlickDeque (Inv)"


@dataclass(frozen=True)
class Point:
    """The middle of the published experiments; each of them moves one of these."""

    queries: int = 100
    slide_max: int = 1_000
    overlap_max: int = 10_000
    rate: Fraction = Fraction(1)
    skew: float = 0  # towards long slides

    def workload(self) -> Workload:
        factors = [one for one in range(1, self.slide_max + 1) if self.slide_max % one == 0]
        chance = random.Random(SEED)
        weights = [rank**-self.skew for rank in range(len(factors), 0, -1)]
        slides = chance.choices(factors, weights, k=self.queries)
        return workload_of([Window(slide * chance.randint(1, self.overlap_max), slide) for slide in slides], self.rate)


MIDDLE = Point()
EXPERIMENTS = (
    ("number of queries, 10 to 100", "8 %", [replace(MIDDLE, queries=one) for one in (10, 30, 100)]),
    ("longest slide, 10 to 100,000", "2 %", [replace(MIDDLE, slide_max=10**one) for one in (1, 3, 5)]),
    ("greatest overlap, 100 to 1,000,000", "2 %", [replace(MIDDLE, overlap_max=10**one) for one in (2, 4, 6)]),
    ("rate, 0.01 to 100", "18 %", [replace(MIDDLE, rate=Fraction(10) ** one) for one in (-2, 0, 2)]),
    ("skew, -1 to 1", "5 %", [replace(MIDDLE, skew=one) for one in (-1, 0, 1)]),
)


def new_costs() -> Iterator[Headline]:
    for overlap_max, published in ((10_000, "SlickDeque 3x below FlatFIT, 5,000x below Panes"),
                                   (1_000_000, "up to 270,000x")):  # fmt: skip
        yield Headline(
            f"new cost estimation, 100 queries, overlaps up to {overlap_max:,}", published,
            partial(_below, replace(MIDDLE, overlap_max=overlap_max)), why="plans of Weave Share; the factor to Panes "
            "grows with the overlap, and depends on the draw", subject=WEAVE, rival=ONE_TREE,
            slow=overlap_max == MIDDLE.overlap_max,
        )  # fmt: skip
    for number, (varied, published, points) in enumerate(EXPERIMENTS, start=1):
        yield Headline(
            f"TriWeave / Weave Share, experiment {number}: {varied}", f"{published} better on average",
            partial(_saved_by_levels, points), why="at one record per unit fragments of all edges are as many as the "
            "records, so a third level saves nothing", subject=TRI_WEAVE, rival=WEAVE, slow=True,
        )  # fmt: skip


def levels_of(planner: str) -> Levels:
    """TriWeave is Weave Share by the cost of three levels."""
    return Levels.THREE if planner == TRI_WEAVE else Levels.TWO


def cost(workload: Workload, technique: str, levels: Levels) -> float:
    loom = Loom(workload, omega_model(technique, Form.PUBLISHED, levels))
    return float(planner_named(WEAVE).plan(loom, draw()).cost)


def _below(point: Point) -> str:
    workload = point.workload()
    costs = {name: cost(workload, name, Levels.TWO) for name in ("Panes", "FlatFIT", SLICK)}
    return f"{costs['FlatFIT'] / costs[SLICK]:.1f}x below FlatFIT, {costs['Panes'] / costs[SLICK]:,.0f}x below Panes"


def _saved_by_levels(points: list[Point]) -> str:
    saved: dict[Point, list[float]] = {point: [] for point in points}
    for point in points:
        workload = point.workload()
        for technique in OMEGAS:
            two, three = (cost(workload, technique, levels_of(name)) for name in (WEAVE, TRI_WEAVE))
            saved[point].append(1 - three / two)
    means = [fmean(some) for some in saved.values()]
    return f"{fmean(means):+.0%} on average; {', '.join(f'{one:+.0%}' for one in means)}"
