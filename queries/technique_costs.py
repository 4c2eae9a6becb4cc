"""The cost of a technique for a plan: operations per closed fragment, with the answers due then, and values kept.

Where one window is cut once a slide, which is the most usual, a fragment is a slide, and the figures are those of the
catalogue's formulas. Other plans are played with whole numbers and counted, as far as that is quickly done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import fsum
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.choice import TECHNIQUES, choose
from tidewheel.queries.operation import AlgebraClass, Operation
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.shared_plan import SharedPlan
from tidewheel.queries.technique import Technique
from tidewheel.queries.techniques.b_int import BInt
from tidewheel.queries.techniques.daba import DABA
from tidewheel.queries.techniques.flat_fat import FlatFAT
from tidewheel.queries.techniques.flat_fit import FlatFIT
from tidewheel.queries.techniques.naive import Naive
from tidewheel.queries.techniques.panes_inv import PanesInv
from tidewheel.queries.techniques.slick_deque_inv import SlickDequeInv
from tidewheel.queries.techniques.slick_deque_non_inv import SlickDequeNonInv
from tidewheel.queries.techniques.two_stacks import TwoStacks

SEED = 7
PLACES_MAX = 4096
PLAYED_MAX = 10_000  # fragments and answers
# DABA at worst for a few partials; from nine on it is eight.
_DABA_WORST = (0, 0, 1, 2, 4, 5, 7, 5, 7)


@dataclass(frozen=True)
class Cost:
    """Operations on average and at worst; None where nobody counted. `values` are those of the state, at most."""

    mean: float | None
    worst: int | None
    values: int

    def plus(self, other: Cost) -> Cost:
        """Return the cost of both accumulators."""
        both = None if self.mean is None or other.mean is None else self.mean + other.mean
        worst = None if self.worst is None or other.worst is None else self.worst + other.worst
        return Cost(both, worst, self.values + other.values)


@dataclass(frozen=True)
class Offer:
    """The cost of a technique for some accumulators, or why it is refused; `advised` names those it is advised for."""

    technique: str
    cost: Cost | None
    refused: str = ""
    advised: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"technique": self.technique, "refused": self.refused, "advised_for": list(self.advised)}
        if self.cost is not None:
            told |= {
                "operations_per_fragment": self.cost.mean,
                "operations_at_worst": self.cost.worst,
                "state_values": self.cost.values,
            }
        return told


def offers(operations: Sequence[Operation], plan: SharedPlan, *, lifetimes: bool = False) -> list[Offer]:
    """Every technique for these accumulators. `lifetimes`: records leave by lives of their own."""
    return [_offer(technique, operations, plan, lifetimes=lifetimes) for technique in TECHNIQUES]


def _offer(technique: type[Technique], operations: Sequence[Operation], plan: SharedPlan, *, lifetimes: bool) -> Offer:
    try:
        chosen = [(one, choose(one, plan.counts, lifetimes=lifetimes)) for one in operations]
        for operation in operations:
            technique.refuse_unfit(operation, plan.counts)
    except InvalidInput as error:
        return Offer(technique.name, None, error.message)
    costs = reduce(Cost.plus, (cost(technique, operation, plan) for operation in operations))
    return Offer(technique.name, costs, advised=tuple(one.name for one, other in chosen if other is technique))


def cost(technique: type[Technique], operation: Operation, plan: SharedPlan) -> Cost:
    """Return the cost of one accumulator, for an operation and a plan that the technique serves."""
    values = values_kept(technique, plan)
    if len(plan.edges) == 1:
        mean, worst = _FORMULAS[technique](plan.count_max, operation)
        return Cost(mean, worst, values)
    if technique is Naive:
        costs = [sum(plan.count(window, at) - 1 for window in due) for at, due in plan.reports_between(0, plan.period)]
        return Cost(sum(costs) / len(plan.edges), max(costs), values)
    return _played(technique, operation.algebra_class is AlgebraClass.SEL, operation.commutative, plan, values)


def values_kept(technique: type[Technique], plan: SharedPlan) -> int:
    n, leaves = plan.count_max, 1 << (plan.count_max - 1).bit_length()
    kept = {Naive: n, PanesInv: n + 1, SlickDequeInv: n + len(plan.counts), FlatFAT: 2 * leaves, BInt: 2 * leaves}
    return kept.get(technique, 2 * n)


def _naive(n: int, _: Operation) -> tuple[float, int]:
    return n - 1, n - 1


def _running(_n: int, _: Operation) -> tuple[float, int]:
    return 2, 2


def _flat_fat(n: int, operation: Operation) -> tuple[float, int]:
    """The path of the insert, and the nodes that cover the window, at each place of the ring."""
    height = (n - 1).bit_length()

    def covering(inserted: int) -> int:
        rooted = n == 1 << height and (operation.commutative or not inserted % n)
        return 0 if rooted else _pieces(inserted - n, inserted, height) - 1

    costs = [height + covering(inserted) for inserted in _places(height)]
    return fsum(costs) / len(costs), max(costs)


def _b_int(n: int, _: Operation) -> tuple[float, int]:
    """The intervals that end with the insert, and those that make up the window, at each place of the rings."""
    height = (n - 1).bit_length()
    costs = [
        min(height, (inserted & -inserted).bit_length() - 1) + _pieces(inserted - n, inserted, height) - 1
        for inserted in _places(height)
    ]
    return fsum(costs) / len(costs), max(costs)


def _places(height: int) -> Iterable[int]:
    """How many partials were inserted, once the rings are full, until all comes again; of very many, some."""
    places = range(2 << height, 3 << height)
    if len(places) <= PLACES_MAX:
        return places
    return (places[one % len(places)] for one, _ in zip(_drawn(), range(PLACES_MAX), strict=False))


def _pieces(first: int, end: int, height: int) -> int:
    """The fewest intervals that make up [first, end), each as long as a power of two and aligned to it.

    >>> [_pieces(first, first + 6, 3) for first in range(8, 16)]
    [2, 4, 2, 3, 2, 4, 2, 3]
    """
    pieces = 0
    while first < end:
        first += 1 << min((first & -first).bit_length() - 1, (end - first).bit_length() - 1, height)
        pieces += 1
    return pieces


def _two_stacks(n: int, _: Operation) -> tuple[float, int]:
    return 3 - 3 / n, n if n > 1 else 0


def _daba(n: int, _: Operation) -> tuple[float, int]:
    worst = _DABA_WORST[n] if n < len(_DABA_WORST) else 8
    if n <= 2:
        return n - 1, worst
    return (5 - 6 / (n - 1) if n % 2 else 5 - 8 / n), worst


def _flat_fit(n: int, _: Operation) -> tuple[float, int]:
    return 3 * (n - 1) / (n + 1), n - 1


def _slick_deque_non_inv(n: int, _: Operation) -> tuple[float, int]:
    """On average for values in any order."""
    return 2 - 2 / n, n - 1


_FORMULAS: dict[type[Technique], Callable[[int, Operation], tuple[float, int]]] = {
    Naive: _naive,
    PanesInv: _running,
    FlatFAT: _flat_fat,
    BInt: _b_int,
    TwoStacks: _two_stacks,
    DABA: _daba,
    FlatFIT: _flat_fit,
    SlickDequeInv: _running,
    SlickDequeNonInv: _slick_deque_non_inv,
}


@lru_cache(1000)
def _played(technique: type[Technique], selects: bool, commutative: bool, plan: SharedPlan, values: int) -> Cost:
    """Counted, once the window is full."""
    turns = 2 + 2 * plan.count_max // len(plan.edges)
    reports = {plan.number_of(at): due for at, due in plan.reports_between(0, plan.period)}
    if turns * (len(plan.edges) + sum(map(len, reports.values()))) > PLAYED_MAX:
        return Cost(None, None, values)
    made, costs = technique(_stand_in(selects, commutative), plan.counts), list[int]()
    for number, drawn in zip(range(1, 1 + turns * len(plan.edges)), _drawn(), strict=False):
        before = made.calls
        made.insert(drawn)
        at = plan.start_of(number)
        made.query_many({plan.count(window, at) for window in plan.windows if window.reports_at(at)})
        costs.append(made.calls - before)
    full = costs[plan.count_max :]
    return Cost(sum(full) / len(full), max(full), values)


def _drawn() -> Iterator[int]:
    """Whole numbers as if by chance, always the same ones: Knuth's linear congruence, its high bits."""
    state = SEED
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        yield state >> 32


def _stand_in(selects: bool, commutative: bool) -> Operation:
    """As cheap an operation as there is: what one costs does not depend on which it is."""
    return MAX if selects else replace(whole_sum(), commutative=commutative)
