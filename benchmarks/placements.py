"""The literature's grid of 256 workloads on several nodes: which optimizer has least done in all, which most evenly.

Rows of `python -m benchmarks headlines`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from statistics import fmean

from benchmarks.headline import Headline
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.placement.catalogue import OPTIMIZERS
from tidewheel.queries.planning.placement.nodes import Setting
from tidewheel.queries.planning.workload import workload_of
from tidewheel.queries.windows import Window

GRID = tuple(product((250, 500), (4, 8, 16, 32), (10, 100), (25, 50), (0, 1), (10, 100), (False, True)))
Ratios = dict[str, list[float]]


def grid_windows(size: int, slide_max: int, skew: int, overlap_max: int, primes: bool, seed: int) -> list[Window]:
    draw = random.Random(seed)
    slides = [s for s in range(slide_max, 0, -1) if not primes or (s > 1 and all(s % k for k in range(2, s)))]
    weights = [rank**-skew for rank in range(1, len(slides) + 1)]
    return [Window(slide * draw.randint(1, overlap_max), slide) for slide in draw.choices(slides, weights, k=size)]


def placed(every: int = 1) -> tuple[Ratios, Ratios]:
    """Of each optimizer the totals and the dearest nodes, by those of the best; of every so manyth workload."""
    totals: Ratios = {one.name: [] for one in OPTIMIZERS}
    mosts: Ratios = {one.name: [] for one in OPTIMIZERS}
    for seed, (size, nodes, rate, slide_max, skew, overlap_max, primes) in enumerate(GRID):
        if seed % every:
            continue
        windows = grid_windows(size, slide_max, skew, overlap_max, primes, seed)
        loom = Loom(workload_of(windows, Fraction(rate)))
        found = {one.name: one.place(loom, Setting(nodes, random.Random(seed).randrange)) for one in OPTIMIZERS}
        best_total, best_most = min(one.total for one in found.values()), min(one.most for one in found.values())
        for name, one in found.items():
            totals[name].append(float(one.total / best_total))
            mosts[name].append(float(one.most / best_most))
    return totals, mosts


def placements(every: int = 9) -> Iterator[Headline]:
    for what, name, published, ratios in zip(
        ("least in all", "most evenly"), ("WG_TN", "WG_I"),
        ("WG_TN best in 90 %, else within 0.2 %", "WG_I best in 80 %, else within 3 %"), placed(every), strict=True,
    ):  # fmt: skip
        mine = ratios[name]
        means = sorted((fmean(some), other) for other, some in ratios.items())
        yield Headline(
            f"13 optimizers on 4 to 32 nodes, {what}", published,
            f"{name} best in {fmean(one == 1 for one in mine):.0%}, else within {max(mine) - 1:.0%}; means of "
            f"ratios to the best: {', '.join(f'{other} {value:.2f}' for value, other in means[:3])}",
            f"{len(mine)} of the grid's {len(GRID)} workloads; how they were drawn is not published",
        )  # fmt: skip
