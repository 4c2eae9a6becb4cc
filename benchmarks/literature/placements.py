"""The literature's grid of 256 workloads on several nodes: which optimizer has least done in all, which most evenly,
and how long each takes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from statistics import fmean

from benchmarks.literature.headline import Headline
from benchmarks.literature.planning import seconds
from tidewheel.queries.literature.placement.optimizers import OPTIMIZERS, optimizer_named
from tidewheel.queries.literature.placement.placed_nodes import Setting
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.workload import workload_of
from tidewheel.queries.windows import Window

GRID = tuple(product((250, 500), (4, 8, 16, 32), (10, 100), (25, 50), (0, 1), (10, 100), (False, True)))
EVERY = 9
Ratios = dict[str, list[float]]
TIMED_QUERIES, TIMED_NODES = 500, 8


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
        found = {
            one.name: optimizer_named(one.name).place(loom, Setting(nodes, random.Random(seed).randrange))
            for one in OPTIMIZERS
        }
        best_total, best_most = min(one.total for one in found.values()), min(one.most for one in found.values())
        for name, one in found.items():
            totals[name].append(float(one.total / best_total))
            mosts[name].append(float(one.most / best_most))
    return totals, mosts


def placements() -> Iterator[Headline]:
    for what, name, rival, published in (
        ("least in all", "WG_TN", "G_TL", "WG_TN best in 90 %, else within 0.2 %"),
        ("most evenly", "WG_I", "G_RR", "WG_I best in 80 %, else within 3 % on average"),
    ):
        yield Headline(
            f"13 optimizers on 4 to 32 nodes, {what}", published, partial(_placed, name, what == "least in all"),
            why=f"every {EVERY}th of the grid's {len(GRID)} workloads; how they were drawn is not published",
            subject=name, rival=rival, slow=True,
        )  # fmt: skip
    yield Headline(
        f"plan generation by 13 optimizers, {TIMED_QUERIES} queries on {TIMED_NODES} nodes",
        "WG_RR 0.01 s to W_TL 12.6 s; WG_TN 2.83 s, WG_I 3.94 s", partial(_trials, "WG_TN", "WG_I"), _generated,
        "the published seconds are means over the grid", "WG_TN", "WG_RR", slow=True,
    )  # fmt: skip


def _placed(name: str, in_all: bool) -> str:
    totals, mosts = placed(EVERY)
    ratios = totals if in_all else mosts
    mine, worse = ratios[name], [one - 1 for one in ratios[name] if one > 1]
    means = sorted((fmean(some), other) for other, some in ratios.items())
    else_within = f", else within {fmean(worse):.0%} on average, at most {max(worse):.0%}" if worse else ""
    return (
        f"{name} best in {fmean(one == 1 for one in mine):.0%}{else_within}; "
        f"means of ratios to the best: {', '.join(f'{other} {value:.2f}' for value, other in means[:3])}"
    )


def _loom() -> Loom:
    return Loom(workload_of(grid_windows(TIMED_QUERIES, 50, 1, 100, primes=False, seed=1), Fraction(100)))


def _trials(*names: str) -> str:
    """How many merges are tried."""
    found = []
    for name in names:
        loom = _loom()
        optimizer_named(name).place(loom, Setting(TIMED_NODES, random.Random(1).randrange))
        found.append(f"{name} tries {loom.evaluations:,} merges")
    return ", ".join(found)


def _generated() -> str:
    spent = {}
    for one in OPTIMIZERS:
        loom = _loom()
        spent[one.name] = seconds(partial(one.place, loom, Setting(TIMED_NODES, random.Random(1).randrange)))
    most = max(spent, key=lambda name: spent[name])
    return f"{most} {spent[most]:.2f} s, the longest; WG_TN {spent['WG_TN']:.2f} s, WG_I {spent['WG_I']:.2f} s"
