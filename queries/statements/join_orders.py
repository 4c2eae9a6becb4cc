"""Orders of a window join: by size, greedy, greedy with fast streams moved up, or the best of all.

Golab, Waterloo 2006, chapter 5. Selectivity alone orders badly, as a fast stream that is probed late makes every
tuple of it dear. So the greedy order is augmented: fast streams are tried at each place above their own, and the cost
decides. The thesis leaves open which streams are fast and how far they move: here those above the widest gap of the
rates, and to every place. State is kept per window, so another order may begin at any run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, permutations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.join_costs import Order, cost
from tidewheel.queries.statements.join_sizes import JoinInput, size

EXHAUSTIVE_MAX = 6  # 720 orders
_GAP_MIN = 2  # a rate is fast if it is at least twice the next one


@dataclass(frozen=True)
class Choice:
    """An order, what it costs, and all orders that were priced, as they were generated."""

    order: Order
    cost: Fraction
    priced: tuple[tuple[Order, Fraction], ...]


def window_size_order(inputs: Sequence[JoinInput], buckets: Sequence[int] | None = None) -> Order:
    """Return the inputs by their windows' sizes, or by those of a bucket: right where all domains are equal.

    >>> window_size_order([JoinInput(3, 10, 5), JoinInput(1, 20, 5)])
    (1, 0)
    """
    shares = buckets or [1] * len(inputs)
    return tuple(sorted(range(len(inputs)), key=lambda place: (inputs[place].size / shares[place], place)))


def initial_order(inputs: Sequence[JoinInput]) -> Order:
    """Return the greedy order: the pair with the fewest results, then always the input that makes the fewest."""
    _several(inputs)
    order = list(min(combinations(range(len(inputs)), 2), key=lambda pair: size([inputs[place] for place in pair])))
    while len(order) < len(inputs):
        left = [place for place in range(len(inputs)) if place not in order]
        order.append(min(left, key=lambda place: size([inputs[one] for one in (*order, place)])))
    return tuple(order)


def fast_inputs(inputs: Sequence[JoinInput]) -> frozenset[int]:
    """Return the inputs above the widest gap of the rates, if it is at least twofold."""
    places = sorted(range(len(inputs)), key=lambda place: -inputs[place].rate)
    gaps = [Fraction(inputs[above].rate) / Fraction(inputs[below].rate) for above, below in pairwise(places)]
    widest = max(gaps)
    return frozenset(places[: gaps.index(widest) + 1]) if widest >= _GAP_MIN else frozenset()


def augmented_order(inputs: Sequence[JoinInput], *, both_first: bool = False) -> Choice:
    """Return the cheapest of the greedy order and those with fast inputs moved up; ties: the first generated.

    About n^f orders are priced, where f inputs are fast. `both_first` (ours) also begins with the first pair swapped:
    who leads it changes no size, but the cost.
    """
    first = initial_order(inputs)
    begun = [first, (first[1], first[0], *first[2:])] if both_first else [first]
    fast = fast_inputs(inputs)
    found: dict[Order, None] = dict.fromkeys(begun)
    for begin in begun:
        found |= dict.fromkeys(_moved_up(begin, [place for place in begin if place in fast]))
    return _cheapest(inputs, list(found))


def _moved_up(begin: Order, fast: Sequence[int]) -> list[Order]:
    candidates = [begin]
    for stream in fast:
        moved = [order for candidate in candidates for order in _raised(candidate, stream)]
        candidates = list(dict.fromkeys(candidates + moved))
    return candidates


def _raised(order: Order, stream: int) -> Iterator[Order]:
    """Give the orders with the stream at each place above its own, the next one first."""
    at = order.index(stream)
    others = order[:at] + order[at + 1 :]
    for place in range(at - 1, -1, -1):
        yield (*others[:place], stream, *others[place:])


def exhaustive_order(inputs: Sequence[JoinInput]) -> Choice:
    """Return the cheapest of all n! orders; ties: the first in the order of their numbers."""
    _several(inputs)
    return _cheapest(inputs, list(permutations(range(len(inputs)))))


def best_order(inputs: Sequence[JoinInput]) -> Choice:
    """Return the cheapest order that is searched for: all of them up to six inputs, above that heuristically."""
    return exhaustive_order(inputs) if len(inputs) <= EXHAUSTIVE_MAX else augmented_order(inputs, both_first=True)


def _cheapest(inputs: Sequence[JoinInput], orders: Sequence[Order]) -> Choice:
    priced = tuple((order, cost(order, inputs)) for order in orders)
    order, least = min(priced, key=lambda one: one[1])
    return Choice(order, least, priced)


def _several(inputs: Sequence[JoinInput]) -> None:
    if len(inputs) < 2:
        raise InvalidInput(f"a join of {len(inputs)} streams", "name at least two")


def _sized(inputs: Sequence[JoinInput]) -> Choice:
    return _cheapest(inputs, [window_size_order(inputs)])


def _greedy(inputs: Sequence[JoinInput]) -> Choice:
    return _cheapest(inputs, [initial_order(inputs)])


Ordering = Callable[[Sequence[JoinInput]], Choice]
ORDERINGS: dict[str, Ordering] = {
    "size": _sized,
    "initial": _greedy,
    "augmented": augmented_order,
    "exhaustive": exhaustive_order,
}
