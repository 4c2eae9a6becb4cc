"""The aggregates by the names people write, and the types of argument they take.

    aggregate("avg", Argument(ArgumentKind.FLOAT)).operations      # count and sum, shared with a plain sum
    aggregate("count_distinct", Argument(ArgumentKind.OTHER), 1000)

A holistic aggregate (median, quantiles, mode) is refused: no accumulator of bounded size gives it. Quantiles and counts
of distinct values come also approximately, with a known error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate
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
    variance,
)
from tidewheel.queries.operations.approximate import DistinctSketches
from tidewheel.queries.operations.value_range import value_range
from tidewheel.queries.operations.variance import FLOATS, Numbers, whole_numbers


class ArgumentKind(StrEnum):
    WHOLE = "whole number"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    OTHER = "text, date or time"
    NESTED = "list or struct"


PLAIN = tuple(kind for kind in ArgumentKind if kind is not ArgumentKind.NESTED)
NUMBERS = (ArgumentKind.WHOLE, ArgumentKind.DECIMAL, ArgumentKind.FLOAT)


@dataclass(frozen=True)
class Argument:
    """The type of the aggregated value; `scale` is a decimal's number of places."""

    kind: ArgumentKind = ArgumentKind.OTHER
    scale: int = 0

    @property
    def numbers(self) -> Numbers:
        return FLOATS if self.kind is ArgumentKind.FLOAT else whole_numbers(self.scale)


@dataclass(frozen=True)
class Maker:
    """`make` takes the argument, and after it what the aggregate takes: a limit, a fraction, sketches."""

    make: Callable[..., Aggregate]
    kinds: tuple[ArgumentKind, ...] = tuple(ArgumentKind)
    limited: bool = False
    fractional: bool = False
    sketched: bool = False


def _plain(aggregate: Aggregate, kinds: tuple[ArgumentKind, ...] = tuple(ArgumentKind)) -> Maker:
    def make(_argument: Argument) -> Aggregate:
        return aggregate

    return Maker(make, kinds)


def _of_numbers(make: Callable[[Numbers], Aggregate]) -> Maker:
    def of_argument(argument: Argument) -> Aggregate:
        return make(argument.numbers)

    return Maker(of_argument, NUMBERS)


def _limited(make: Callable[[int], Aggregate]) -> Maker:
    def of_limit(_argument: Argument, limit: int) -> Aggregate:
        return make(limit)

    return Maker(of_limit, PLAIN, limited=True)


def _quantile(_argument: Argument, fraction: float) -> Aggregate:
    return approximate.approx_quantile(fraction)


def _distinct(_argument: Argument, sketches: DistinctSketches | None) -> Aggregate:
    return approximate.approx_count_distinct(sketches)


def _kll(_argument: Argument, fraction: float, sketches: DistinctSketches | None) -> Aggregate:
    return kll.kll_quantile(fraction, None if sketches is None else sketches.quantiles)


def _product(argument: Argument) -> Aggregate:
    return products.whole_product if argument.kind is ArgumentKind.WHOLE else products.real_product


MAKERS: Mapping[str, Maker] = {
    "count_rows": _plain(counting.count_rows),  # count(*)
    "count": _plain(counting.count),
    "sum": _of_numbers(variance.total),
    "avg": _of_numbers(variance.average),
    "min": _plain(extremes.minimum),
    "max": _plain(extremes.maximum),
    "arg_min": _plain(chosen.arg_min),
    "arg_max": _plain(chosen.arg_max),
    "first": _plain(chosen.first),
    "last": _plain(chosen.last),
    "variance": _of_numbers(variance.var_samp),
    "var_samp": _of_numbers(variance.var_samp),
    "var_pop": _of_numbers(variance.var_pop),
    "stddev": _of_numbers(variance.stddev_samp),
    "stddev_samp": _of_numbers(variance.stddev_samp),
    "stddev_pop": _of_numbers(variance.stddev_pop),
    "bool_and": _plain(logic.bool_and, (ArgumentKind.BOOLEAN,)),
    "bool_or": _plain(logic.bool_or, (ArgumentKind.BOOLEAN,)),
    "product": Maker(_product, NUMBERS),
    "geometric_mean": _plain(products.geometric_mean, NUMBERS),
    "sum_of_squares": _of_numbers(variance.sum_of_squares),
    "bit_and": _plain(logic.bit_and, (ArgumentKind.WHOLE,)),
    "bit_or": _plain(logic.bit_or, (ArgumentKind.WHOLE,)),
    "bit_xor": _plain(logic.bit_xor, (ArgumentKind.WHOLE,)),
    "range": _plain(value_range, NUMBERS),
    "gcd": _plain(divisors.common_divisor, (ArgumentKind.WHOLE,)),
    "first_n": _limited(lists.first_n),
    "last_n": _limited(lists.last_n),
    "concatenate": _limited(lists.concatenate),
    "count_distinct": _limited(distinct.count_distinct),
    "collect_distinct": _limited(distinct.collect_distinct),
    "approx_count_distinct": Maker(_distinct, PLAIN, sketched=True),
    "approx_quantile": Maker(_quantile, NUMBERS, fractional=True),
    "kll_quantile": Maker(_kll, NUMBERS, fractional=True, sketched=True),
}
HOLISTIC = ("median", "mode", "quantile", "quantile_cont", "quantile_disc", "mad", "top_k")
_APPROXIMATELY = {
    "median": "approx_quantile(x, 0.5)",
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc"), "approx_quantile(x, 0.99)"),
}


def aggregate(
    name: str,
    argument: Argument = Argument(),
    limit: int | None = None,
    fraction: float | None = None,
    sketches: DistinctSketches | None = None,
) -> Aggregate:
    """The aggregate of that name over such an argument; `sketches` are those of a library, where one is installed.

    >>> aggregate("avg", Argument(ArgumentKind.WHOLE)).answer([4, 10])
    2.5
    """
    maker = _maker(name)
    if argument.kind not in maker.kinds:
        takes = " or ".join(f"a {kind}" for kind in maker.kinds)
        raise InvalidInput(f"{name} of a {argument.kind}", f"it takes {takes}: cast the argument")
    if maker.limited and limit is None:
        raise InvalidInput(f"{name} without a limit", f"say how many values are kept at most: {name}(x, 1000)")
    if not maker.limited and limit is not None:
        raise InvalidInput(f"{name} takes no limit", f"write {name}(x)")
    _check_fraction(name, maker, fraction)
    asked = ((maker.limited, limit), (maker.fractional, fraction), (maker.sketched, sketches))
    return maker.make(argument, *(value for is_taken, value in asked if is_taken))


def _check_fraction(name: str, maker: Maker, fraction: float | None) -> None:
    if not maker.fractional and fraction is not None:
        raise InvalidInput(f"{name} takes no fraction", f"write {name}(x)")
    if maker.fractional and (fraction is None or not 0 <= fraction <= 1):
        said = "without a fraction" if fraction is None else f"of the fraction {fraction}"
        raise InvalidInput(f"{name} {said}", f"say which share of the records lies below, 0 to 1: {name}(x, 0.99)")


def _maker(name: str) -> Maker:
    if name in HOLISTIC:
        raise InvalidInput(
            f"operation '{name}' is holistic: it cannot be assembled from partial aggregates, "
            "so no standing query answers it",
            (f"write {_APPROXIMATELY[name]}, which is approximate; or " if name in _APPROXIMATELY else "")
            + "ask the records themselves when you need it: tidewheel sql",
        )
    if name not in MAKERS:
        raise InvalidInput(f"unknown aggregate '{name}'", f"known are {', '.join(MAKERS)}")
    return MAKERS[name]
