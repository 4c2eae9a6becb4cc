"""The choice of a technique for an operation and a plan: by the advice of the literature, or by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import AlgebraClass, Operation
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

TECHNIQUES: tuple[type[Technique], ...] = (
    Naive, PanesInv, FlatFAT, BInt, TwoStacks, DABA, FlatFIT, SlickDequeInv, SlickDequeNonInv,
)  # fmt: skip
# Below this the bookkeeping of every other technique outweighs what it saves.
NAIVE_MAX = 4


def choose(
    operation: Operation, counts: Collection[int], *, bounded_latency: bool = False, lifetimes: bool = False
) -> type[Technique]:
    """The technique for reports that ask for these counts of partials.

    `bounded_latency`: no single slide may cost much more than the others. `lifetimes`: records leave by lives of their
    own, so in no order, and every technique here relies on one.
    """
    if lifetimes:
        raise InvalidInput(
            "windows with individual lifetimes are not first-in first-out; "
            "use an invertible operation or the cell-based plan",
            f"'{operation.name}' over live records is folded from the cells that are alive",
        )
    if max(counts) <= NAIVE_MAX:
        return Naive
    if operation.algebra_class is AlgebraClass.INV:
        return SlickDequeInv
    if bounded_latency and len(counts) == 1:
        return DABA
    if operation.algebra_class is AlgebraClass.SEL:
        return SlickDequeNonInv
    return FlatFAT if bounded_latency else FlatFIT


def technique_named(name: str) -> type[Technique]:
    for technique in TECHNIQUES:
        if name in (technique.name, technique.__name__):
            return technique
    known = ", ".join(technique.name for technique in TECHNIQUES)
    raise InvalidInput(f"unknown technique '{name}'", f"known are {known}")


def fitting(operation: Operation, counts: Iterable[int]) -> list[type[Technique]]:
    """Every technique that is right for these reports."""
    several = len(set(counts)) > 1
    return [
        technique
        for technique in TECHNIQUES
        if operation.algebra_class in technique.classes and not (several and technique.one_count_only)
    ]
