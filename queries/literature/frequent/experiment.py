"""The published experiment (Golab 2006, section 6.4): FREQUENT beside exact counts, from many starting points.

Each window is filled once from where it starts, by sub-windows of b items, as the source does. Decided here, as it
leaves this open: runs in which no item exceeds delta do not count in `identified`; list entries and counters are told
apart; the error is given for all items above delta, and for the reported ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

from tidewheel.queries.operations.frequent import Bound, TopList, bounds_of, top_list


@dataclass(frozen=True)
class Measures:
    """The figures of one window, or the mean of many windows."""

    threshold: float  # delta as a share of the window
    over: float  # items that exceed delta
    reported: float
    identified: float | None  # the share of these that is reported
    list_pairs: float
    counters: float
    error_over: float | None  # mean of (true - counted) / true over the items above delta
    error_reported: float | None


def measures(window: Sequence[Any], b: int, k: int, bound: Bound = Bound.KTH) -> Measures:
    lists = [top_list(Counter(window[first : first + b]), k, bound) for first in range(0, len(window), b)]
    return _measured(Counter(window), lists)


def _measured(truth: Counter[Any], lists: Sequence[TopList]) -> Measures:
    bounds = bounds_of(lists)
    low = {found.item: found.low for found in bounds.items}
    over = [item for item, count in truth.items() if count > bounds.delta]
    reported = [found.item for found in bounds.reported()]
    return Measures(
        threshold=bounds.delta / bounds.total,
        over=len(over),
        reported=len(reported),
        identified=len(reported) / len(over) if over else None,
        list_pairs=sum(len(kept.counts) for kept in lists),
        counters=len(low),
        error_over=_mean((truth[item] - low[item]) / truth[item] for item in over),
        error_reported=_mean((truth[item] - low[item]) / truth[item] for item in reported),
    )


def mean_measures(runs: Sequence[Measures]) -> Measures:
    """Average each figure over the runs that have it."""
    means = {
        field.name: _mean(value for run in runs if (value := getattr(run, field.name)) is not None)
        for field in fields(Measures)
    }
    return Measures(**means)  # type: ignore[arg-type]


def _mean(values: Iterable[float]) -> float | None:
    held = list(values)
    return fmean(held) if held else None


def experiment(stream: Sequence[Any], starts: Sequence[int], n: int, b: int, k: int, bound: Bound) -> Measures:
    return mean_measures([measures(stream[start : start + n], b, k, bound) for start in starts])
