"""What Weave Share saves: by the rate of records, the number of queries, how much windows overlap, how slides are
drawn; and what its three speed-ups are worth.

Rows of `python -m benchmarks headlines`. Costs are the published ones, operations a second. Windows lie on whole
seconds, so a second has one edge at the most, however many queries share a tree; on a finer grid one tree for all
costs more, and not sharing saves more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.headline import Headline
from benchmarks.planning import draw
from benchmarks.reference_workload import reference
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.effort import BITMAP, LOOKUP, NAIVE, SMALLER, counted_weave
from tidewheel.queries.planning.loom import Loom

GRID = "edges of whole seconds; the templates of slides are not published"
RATES = ((250, 50, "80 %"), (250, 2_000, "24 %"), (250, 3_000, "6 %"), (1_000, 10_000, "12 % (62 % elsewhere)"),
         (2_000, 10_000, "24 %"))  # fmt: skip
OVERLAPS = (50, 200, 500, 1_000, 2_000)
OVERLAPS_QUERIES, OVERLAPS_RATE = 2_000, 100_000
SKEWS = (0.0, 1.0, 2.0, 3.0, 4.0)
SKEWS_QUERIES, SKEWS_RATE, SKEWS_OVERLAP = (250, 1_000), 100, 10
EFFORT_QUERIES, EFFORT_RATE, EFFORT_SKEW, EFFORT_OVERLAP = 250, 100, 0.7, 10


def weaving() -> Iterator[Headline]:
    yield from _below_others()
    yield from _by_rate()
    yield _by_overlap()
    yield from _by_skew()
    yield _speed_ups()


def _costs(loom: Loom, *names: str) -> dict[str, float]:
    return {name: float(planner_named(name).plan(loom, draw()).cost) for name in names}


def _below_others() -> Iterator[Headline]:
    others = ("Shared", "Insert-then-Weave", "Random partition", "Random", "No Share")
    for size, rate in ((250, 50), (250, 300), (1_000, 50)):
        costs = _costs(Loom(reference(size, rate)), "Weave Share", *others)
        below = ", ".join(f"{costs[name] / costs['Weave Share']:.1f}x below {name}" for name in others)
        yield Headline(
            f"Weave Share, {size:,} queries, {rate} records a second", "three to four orders of magnitude below other "
            "plans at 1,000 queries; up to 40 times in a later summary", below, GRID,
        )  # fmt: skip


def _by_rate() -> Iterator[Headline]:
    for size, rate, published in RATES:
        yield Headline(
            f"saved by Weave Share against Shared, {size:,} queries, {rate:,} records a second", published,
            _saved(Loom(reference(size, rate))), GRID,
        )  # fmt: skip


def _saved(loom: Loom) -> str:
    plan = planner_named("Weave Share").plan(loom, draw())
    trees = "one tree" if len(plan.trees) == 1 else f"{len(plan.trees)} trees"
    return f"{1 - float(plan.cost) / _costs(loom, 'Shared')['Shared']:.0%}, {trees}"


def _by_overlap() -> Headline:
    found = (
        f"{overlap:,}: {_saved(Loom(reference(OVERLAPS_QUERIES, OVERLAPS_RATE, overlap_max=overlap)))}"
        for overlap in OVERLAPS
    )
    return Headline(
        f"the same by the greatest overlap, {OVERLAPS_QUERIES:,} queries, {OVERLAPS_RATE:,} records a second",
        "one tree below 200, 19 to 74 % above", "; ".join(found), GRID,
    )  # fmt: skip


def _by_skew() -> Iterator[Headline]:
    for size in SKEWS_QUERIES:
        found = (
            f"{skew:g}: {_saved(Loom(reference(size, SKEWS_RATE, overlap_max=SKEWS_OVERLAP, skew=skew)))}"
            for skew in SKEWS
        )
        yield Headline(
            f"the same by the skew towards long slides, {size:,} queries", "rises to a maximum, larger for more "
            "queries, then one tree is as good", "; ".join(found), GRID,
        )  # fmt: skip


def _speed_ups() -> Headline:
    workload = reference(EFFORT_QUERIES, EFFORT_RATE, overlap_max=EFFORT_OVERLAP, skew=EFFORT_SKEW)
    _, probes = counted_weave(Loom(workload))
    ways = (NAIVE, LOOKUP, BITMAP, SMALLER)
    steps = ", ".join(f"{after} {probes[before] / probes[after]:.0f}x" for before, after in pairwise(ways))
    return Headline(
        f"three speed-ups of Weave Share, {EFFORT_QUERIES} queries", "each about 10x in time, 1,000x in all",
        f"{steps}; {probes[NAIVE] / probes[SMALLER]:,.0f}x in all, in probes for common edges",
        "probes are counted, seconds were published",
    )  # fmt: skip
