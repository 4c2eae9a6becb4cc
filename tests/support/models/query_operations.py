"""Every operation with random inputs for it: what the laws, the matrix of techniques and the kernels are tried on."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidewheel.local.partials.distinct_sketches import HllSketches
from tidewheel.local.partials.quantile_sketches import KllSketches
from tidewheel.queries.operation import Column, Operation
from tidewheel.queries.operations import (
    approximate,
    chosen,
    counting,
    distinct,
    divisors,
    extremes,
    kll,
    lists,
    logic,
    products,
)
from tidewheel.queries.operations.exact_floats import FLOAT_SUM, FLOAT_SUM_OF_SQUARES
from tidewheel.queries.operations.whole_sums import whole_sum, whole_sum_of_squares

Draw = Callable[[random.Random, int], tuple[Any, ...]]  # the inputs of one record, which comes at that time
MODULUS = 2**61 - 1


@dataclass(frozen=True)
class Case:
    operation: Operation
    draw: Draw
    rounds: bool = False  # combine rounds, so orders of combining differ in the last bits

    @property
    def name(self) -> str:
        return self.operation.name

    def accumulators(self, chance: random.Random, count: int) -> list[Any]:
        return [self.operation.lift(*self.draw(chance, at)) for at in range(count)]

    def same(self, x: Any, y: Any) -> bool:
        if x is None or y is None or not self.rounds:
            return bool(x == y)
        return math.isclose(self.operation.lower(x), self.operation.lower(y), rel_tol=1e-15)


def whole(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, 0, 1, -1, 7, chance.randint(-20, 20), chance.randint(-(2**62), 2**62)]),)


def small(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, chance.randint(-9, 9), chance.randint(-9, 9), chance.randint(-9, 9)]),)


def natural(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, 0, 12, 18, 8, 27, chance.randint(0, 10**6) * 6]),)


def decimal(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, Decimal("NaN"), Decimal(chance.randint(-(10**30), 10**30)).scaleb(-2)]),)


def cents(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, Decimal(chance.randint(-999, 999)).scaleb(-2)]),)


def real(chance: random.Random, _at: int) -> tuple[Any, ...]:
    wide = math.ldexp(chance.uniform(-1, 1), chance.randint(-1070, 1000))
    return (chance.choice([None, math.nan, 0.0, -0.0, 5e-324, 1e300, -1e300, 0.1, chance.gauss(1e9, 1), wide]),)


def infinite(chance: random.Random, at: int) -> tuple[Any, ...]:
    return chance.choice([(math.inf,), (-math.inf,), real(chance, at), real(chance, at)])


def factor(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, 0.0, 0.1, -3.5, chance.uniform(0.5, 2), chance.gauss(0, 1e100)]),)


def truth(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, True, False]),)


def text(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.choice([None, "", "a", "b", "ab", "ä", chance.choice("xyz") * 3]),)


def timed(chance: random.Random, at: int) -> tuple[Any, ...]:
    return (*text(chance, at), chance.choice([at, at, 5]))


def arg(chance: random.Random, at: int) -> tuple[Any, ...]:
    return (*text(chance, at), chance.choice([None, math.nan, 1.5, 2.5, chance.random()]), chance.choice([at, 5]))


def pair(chance: random.Random, at: int) -> tuple[Any, ...]:
    return arg(chance, at)[:2]


def _matrix(entry: int) -> tuple[int, int, int, int]:
    return (entry, 1, 1, 0)


def _matrix_product(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    a, b, c, d = x
    e, f, g, h = y
    products = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    return tuple(value % MODULUS for value in products)


# Associative and nothing else, so that a technique that counts on more is found out.
MATRIX_PRODUCT = Operation(
    "matrix_product", _matrix, _matrix_product, (Column("entries", "BIGINT[]"),), commutative=False
)


def _one_value(value: Any) -> tuple[Any, ...]:
    return (value,)


def _behind(older: Any, newer: Any) -> Any:
    return older + newer


def _without_prefix(total: Any, oldest: Any) -> Any:
    return total[len(oldest) :]


# The one of class INV that is not commutative, so it tells whether a technique takes the right side.
CONCATENATION = Operation(
    "concatenation", _one_value, _behind, (Column("entries", "T0[]"),), identity=(), evict_oldest=_without_prefix,
    commutative=False, store=_one_value, load=lambda columns: tuple(columns[0]),
)  # fmt: skip


def entry(chance: random.Random, _at: int) -> tuple[Any, ...]:
    return (chance.randrange(MODULUS),)


NOT_FOR_USERS = (CONCATENATION, MATRIX_PRODUCT)
CASES = (
    Case(counting.COUNT_ROWS, real),
    Case(counting.COUNT, real),
    Case(whole_sum(), whole),
    Case(whole_sum(2), decimal),
    Case(whole_sum_of_squares(), whole),
    Case(whole_sum_of_squares(2), decimal),
    Case(FLOAT_SUM, real),
    Case(FLOAT_SUM, infinite),
    Case(FLOAT_SUM_OF_SQUARES, infinite),
    Case(extremes.MAX, real),
    Case(extremes.MIN, whole),
    Case(extremes.MAX, text),
    Case(chosen.ARG_MAX, arg),
    Case(chosen.ARG_MIN, arg),
    Case(chosen.FIRST, timed),
    Case(chosen.LAST, timed),
    Case(chosen.arg_max_by_arrival(), pair),
    Case(chosen.arg_max_by_arrival(newest_wins=False), pair),
    Case(chosen.FIRST_BY_ARRIVAL, text),
    Case(chosen.LAST_BY_ARRIVAL, text),
    Case(logic.BOOL_AND, truth),
    Case(logic.BOOL_OR, truth),
    Case(logic.BIT_AND, whole),
    Case(logic.BIT_OR, whole),
    Case(logic.BIT_XOR, whole),
    Case(products.WHOLE_PRODUCT, small),
    Case(products.REAL_PRODUCT, factor, rounds=True),
    Case(products.LOG_SUM, factor),
    Case(products.LOG_COUNT, factor),
    Case(divisors.GCD, natural),
    Case(lists.first_n(3).operations[0], timed),
    Case(lists.last_n(3).operations[0], timed),
    Case(lists.listing(10**6), timed),
    Case(CONCATENATION, text),
    Case(distinct.distinct_values(10**6), text),
    Case(MATRIX_PRODUCT, entry),
)

# Their accumulators say what is to be merged, so that equal ones look different: test_query_sketches.py tries them.
APPROXIMATE = (
    Case(approximate.distinct_sketch(HllSketches()), text),
    Case(approximate.SUMMARY, real),
    Case(kll.kll_sketch(KllSketches()), real),
)
