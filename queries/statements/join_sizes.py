"""The size of a window join, the rate and the lives of its results, and the share that lazy runs never see.

Golab, Waterloo 2006, chapter 5, under two assumptions: each window's join values are uniform on a prefix {1..v} of
one common list, and arrivals are independent. The closed forms are ours: a size does not depend on the order in which
it is multiplied out. (The thesis prints a size formula and a lost share that its own tables contradict.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tidewheel.indexing.errors import InvalidInput

Number = int | float | Fraction


@dataclass(frozen=True)
class JoinInput:
    """A window of a join: arrivals per unit of time, its length, and the size of its values' domain.

    >>> size([JoinInput(10, 100, 500), JoinInput(1, 100, 50)])
    Fraction(200, 1)
    """

    rate: Number
    length: Number
    values: int

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.length <= 0 or self.values < 1:
            raise InvalidInput(
                f"a join input of rate {self.rate}, length {self.length} and {self.values} values",
                "rate and length are above 0, and there is at least 1 value",
            )

    @property
    def size(self) -> Fraction:
        """How many tuples the window holds."""
        return Fraction(self.rate) * Fraction(self.length)


def size(inputs: Sequence[JoinInput]) -> Fraction:
    """Return φ: how many results of the join are alive at a time."""
    sizes = math.prod((one.size for one in inputs), start=Fraction(1))
    return sizes * min(one.values for one in inputs) / math.prod(one.values for one in inputs)


def ends_per_unit(inputs: Sequence[JoinInput]) -> Fraction:
    """Return Σ 1/T: results of the join that come in a unit of time, per live one."""
    return sum((1 / Fraction(one.length) for one in inputs), start=Fraction(0))


def result_rate(inputs: Sequence[JoinInput]) -> Fraction:
    """Return how many results come in a unit of time."""
    return size(inputs) * ends_per_unit(inputs)


def mean_life(inputs: Sequence[JoinInput]) -> Fraction:
    """Return the mean life of a result."""
    return 1 / ends_per_unit(inputs)


def surviving_share(inputs: Sequence[JoinInput], slide: Number) -> Fraction:
    """Return the share of the results now alive that will be alive after a slide."""
    return math.prod(
        (1 - min(Fraction(1), Fraction(slide) / Fraction(one.length)) for one in inputs), start=Fraction(1)
    )


def lost_share(inputs: Sequence[JoinInput], slide: Number) -> Fraction:
    """Return the share of the results that a run every `slide` never sees: born and dead between two runs.

    The thesis's rule of thumb, Δ/T, counts lives shorter than Δ: twice as many for two equal windows.

    >>> float(lost_share([JoinInput(1, 60, 10)] * 2, 10))
    0.08333333333333333
    """
    if not 0 < slide <= min(one.length for one in inputs):
        raise InvalidInput(
            f"the share that is lost with a slide of {slide} is not known",
            "the formula is for slides above 0 and no longer than the shortest window",
        )
    return 1 - (1 - surviving_share(inputs, slide)) / (Fraction(slide) * ends_per_unit(inputs))


@dataclass(frozen=True)
class IndexSize:
    """Rows of an index that holds the join's live results, and what an update moves."""

    live: Fraction
    inserted: Fraction
    logged: Fraction  # with restore: what was born and died in between is in the log alone

    @property
    def restored(self) -> Fraction:
        return self.logged - self.inserted


def index_size(inputs: Sequence[JoinInput], slide: Number) -> IndexSize:
    """Return the rows of the doubly partitioned index of a join, in a steady state."""
    live = size(inputs)
    return IndexSize(live, live * (1 - surviving_share(inputs, slide)), result_rate(inputs) * Fraction(slide))


# Estimating domains from what a window shows.


def shown_values(domain: float, drawn: Number) -> float:
    """Return how many distinct values a number of uniform draws shows on average."""
    return domain * -math.expm1(float(drawn) * math.log1p(-1 / domain)) if domain > 1 else 1.0


def domain_of(shown: float, drawn: Number) -> float:
    """Return the domain that shows so many distinct values in so many draws.

    >>> round(domain_of(shown_values(100, 100), 100))
    100
    """
    if not 1 <= shown < drawn:
        raise InvalidInput(
            f"{shown} distinct values in {drawn} draws tell no domain", "there must be fewer than draws, at least 1"
        )
    low, high = shown, 2 * shown
    while shown_values(high, drawn) < shown:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if shown_values(middle, drawn) < shown else (low, middle)
    return high


def match_share(left: Mapping[Any, float], right: Mapping[Any, float]) -> float:
    """Return the chance that two tuples of two histograms match: for skewed keys, in place of 1/max(v)."""
    total: float = sum(left.values()) * sum(right.values())
    return sum(count * right.get(key, 0.0) for key, count in left.items()) / total
