"""The cost of an order of a window join: attribute comparisons in a unit of time.

Golab, Waterloo 2006, chapter 5. A tuple of one stream probes the others in the order of the plan; each tuple that
it visits is one comparison, each match goes on to the next window. Inserting and expiring do not depend on the order
and are left out. Four extensions are ours, each compared with counted runs: lazy expiration, hash tables, and lazy
runs with and without restore.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.join_sizes import JoinInput, Number

Order = tuple[int, ...]  # places of the inputs, the first to be probed first


def check_order(order: Sequence[int], count: int) -> None:
    """Raise if the order is no permutation of the inputs."""
    if sorted(order) != list(range(count)):
        raise InvalidInput(
            f"{', '.join(str(one + 1) for one in order)} is no order of {count} inputs", "name each input once"
        )


def probing_order(order: Order, stream: int) -> Order:
    """Return whom a tuple of the stream probes: the others, in the order of the plan."""
    return tuple(one for one in order if one != stream)


def costs(order: Order, inputs: Sequence[JoinInput]) -> tuple[Fraction, ...]:
    """Return the comparisons of each stream's arrivals, evaluated and expired at once, by nested loops.

    >>> table = [JoinInput(10, 100, 500), JoinInput(1, 100, 50), JoinInput(1, 200, 40), JoinInput(3, 100, 5)]
    >>> [int(one) for one in costs((0, 1, 2, 3), table)]
    [3800, 3800, 2400, 6000]
    """
    check_order(order, len(inputs))
    sizes = [one.size for one in inputs]
    return tuple(
        Fraction(one.rate) * _scanned(stream, order, inputs, sizes, sizes) for stream, one in enumerate(inputs)
    )


def cost(order: Order, inputs: Sequence[JoinInput]) -> Fraction:
    """Return the comparisons of an order, of all streams together."""
    return sum(costs(order, inputs), start=Fraction(0))


def _scanned(
    stream: int,
    order: Order,
    inputs: Sequence[JoinInput],
    visited: Sequence[Fraction],
    matching: Sequence[Fraction],
) -> Fraction:
    """Return how many tuples one probe visits, where each window has so many, and so many of them could match."""
    total, branches, known = Fraction(0), Fraction(1), inputs[stream].values
    for other in probing_order(order, stream):
        total += branches * visited[other]
        branches *= matching[other] / max(known, inputs[other].values)
        known = min(known, inputs[other].values)
    return total


def lazily_expired_cost(order: Order, inputs: Sequence[JoinInput], every: Number) -> Fraction:
    """Return the tuples that are visited where windows are purged now and then: each costs a look at its end.

    Comparisons of attributes stay those of `cost`, as the look comes first.
    """
    check_order(order, len(inputs))
    visited = [Fraction(one.rate) * (Fraction(one.length) + Fraction(every) / 2) for one in inputs]
    sizes = [one.size for one in inputs]
    return sum(
        (Fraction(one.rate) * _scanned(stream, order, inputs, visited, sizes) for stream, one in enumerate(inputs)),
        start=Fraction(0),
    )


def hashed_cost(order: Order, inputs: Sequence[JoinInput], buckets: int) -> Fraction:
    """Return the comparisons with hash tables of so many buckets (key mod b).

    One bucket is `cost`; where b divides every domain, it is `cost` / b.
    """
    check_order(order, len(inputs))
    return sum(
        (
            Fraction(one.rate)
            / one.values
            * sum(_bucket_scanned(stream, value, order, inputs, buckets) for value in range(1, one.values + 1))
            for stream, one in enumerate(inputs)
        ),
        start=Fraction(0),
    )


def _bucket_scanned(stream: int, value: int, order: Order, inputs: Sequence[JoinInput], buckets: int) -> Fraction:
    total, branches = Fraction(0), Fraction(1)
    for other in probing_order(order, stream):
        values = inputs[other].values
        in_bucket = (values - value % buckets) // buckets + (value % buckets > 0)
        total += branches * inputs[other].size * Fraction(in_bucket, values)
        if value > values:
            break
        branches *= inputs[other].size / values
    return total


@dataclass(frozen=True)
class Laziness:
    """How lazy runs change the sizes of windows: of those that come before the probing stream, and after it."""

    before: Callable[[JoinInput, Fraction], Fraction]
    after: Callable[[JoinInput, Fraction], Fraction]


# No-restore purges ahead of a run, so what is not inserted yet is short of a slide; restore keeps a slide longer.
NO_RESTORE = Laziness(
    before=lambda one, slide: Fraction(one.rate) * Fraction(one.length),
    after=lambda one, slide: Fraction(one.rate) * max(Fraction(0), Fraction(one.length) - slide),
)
RESTORE = Laziness(
    before=lambda one, slide: Fraction(one.rate) * (Fraction(one.length) + slide),
    after=lambda one, slide: Fraction(one.rate) * Fraction(one.length),
)


def lazy_cost(order: Order, inputs: Sequence[JoinInput], slide: Number, laziness: Laziness) -> float:
    """Return the comparisons of lazy runs, one probe for each group of equal values that came since the last run.

    With restore it is an upper bound: tuples that end before the group's first are passed by uncompared.
    """
    check_order(order, len(inputs))
    total = 0.0
    for stream, one in enumerate(inputs):
        groups = one.values * -math.expm1(-float(one.rate) * float(slide) / one.values)
        seen = order[: order.index(stream)]
        sizes = [
            (laziness.before if other in seen else laziness.after)(held, Fraction(slide))
            for other, held in enumerate(inputs)
        ]
        total += groups / float(slide) * float(_scanned(stream, order, inputs, sizes, sizes))
    return total
