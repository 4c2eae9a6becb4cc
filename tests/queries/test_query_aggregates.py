"""What people ask for, judged by exact fractions and by DuckDB, and what is refused."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.aggregates import HOLISTIC, MAKERS, Argument, ArgumentKind, aggregate

SEED = 20261119
WHOLE, REAL = Argument(ArgumentKind.WHOLE), Argument(ArgumentKind.FLOAT)
EXACT = {name: maker for name, maker in MAKERS.items() if not maker.fractional and not maker.sketched}
LIMITED = tuple(name for name, maker in MAKERS.items() if maker.limited)


def answered(name: str, argument: Argument, rows: list[tuple[Any, ...]], limit: int | None = None) -> Any:
    """Over rows of (value, by, at)."""
    asked = aggregate(name, argument, limit)
    at = {"value": 0, "by": 1, "at": 2}
    inputs = [[row[at[name]] for name in asked.inputs] for row in rows]
    return asked.answer(operation.fold(operation.lift(*given) for given in inputs) for operation in asked.operations)


def values(*column: Any) -> list[tuple[Any, ...]]:
    return [(value, number, number) for number, value in enumerate(column)]


@pytest.mark.parametrize("name", EXACT)
def test_of_nothing_a_count_is_zero_and_all_else_is_null(name: str) -> None:
    argument = Argument(MAKERS[name].kinds[0])
    limit = 5 if name in LIMITED else None
    expected = 0 if name.startswith("count") else None
    assert answered(name, argument, [], limit) == expected
    if name != "count_rows":
        assert answered(name, argument, values(None, math.nan, Decimal("NaN")), limit) == expected


def test_missing_inputs_are_skipped_and_can_be_counted() -> None:
    rows = values(None, 2.0, math.nan, 4.0)
    assert answered("avg", REAL, rows) == 3.0
    assert answered("count_rows", REAL, rows) - answered("count", REAL, rows) == 2


def test_float_sums_are_exactly_rounded() -> None:
    chance = random.Random(SEED)
    for _ in range(300):
        column = [math.ldexp(chance.uniform(-1, 1), chance.randint(-1070, 1020)) for _ in range(chance.randint(1, 40))]
        column += [-value for value in chance.sample(column, chance.randint(0, len(column)))]
        exact = sum(map(Fraction, column))
        assert answered("sum", REAL, values(*column)) == float(exact)
        assert answered("avg", REAL, values(*column)) == float(exact / len(column))
        assert answered("sum", REAL, values(*column)) == math.fsum(column)


def test_what_is_lost_in_floats_is_not_lost_here() -> None:
    assert answered("sum", REAL, values(1e300, 1.0, -1e300)) == 1.0
    assert answered("var_pop", REAL, values(1e15 + 1, 1e15 + 2, 1e15 + 3)) == float(Fraction(2, 3))
    assert answered("var_pop", WHOLE, values(10**18 + 1, 10**18 + 2, 10**18 + 3)) == float(Fraction(2, 3))
    decimals = values(*(Decimal(10**15 + k).scaleb(-2) for k in range(3)))
    assert answered("var_pop", Argument(ArgumentKind.DECIMAL, 2), decimals) == float(Fraction(2, 30000))


def test_infinite_inputs_add_up_as_in_arithmetic() -> None:
    assert answered("sum", REAL, values(1.0, math.inf)) == math.inf
    assert answered("sum", REAL, values(1.0, -math.inf)) == -math.inf
    assert math.isnan(answered("sum", REAL, values(math.inf, -math.inf)))
    assert math.isnan(answered("variance", REAL, values(1.0, math.inf)))
    assert answered("sum", REAL, values(1.7e308, 1.7e308)) == math.inf
    assert answered("avg", REAL, values(1.7e308, 1.7e308)) == 1.7e308


def test_whole_numbers_and_decimals_are_exact_to_38_digits() -> None:
    cents = Argument(ArgumentKind.DECIMAL, 2)
    assert answered("sum", WHOLE, values(10**38 - 2, 1)) == 10**38 - 1
    assert answered("sum", WHOLE, values(10**38 - 1, 10**38 - 1, -(10**38) + 1)) == 10**38 - 1
    assert answered("sum", cents, values(Decimal("0.10"), Decimal("-0.30"))) == Decimal("-0.20")
    for argument in (WHOLE, cents):
        with pytest.raises(InvalidInput, match="sum overflows"):
            answered("sum", argument, values(10**38 - 1, 1))
    total = aggregate("sum", WHOLE).operations[1]
    with pytest.raises(InvalidInput, match="more than 38 digits"):
        total.store(10**38)
    with pytest.raises(InvalidInput, match="product overflows"):
        answered("product", WHOLE, values(*[10**10] * 4))
    with pytest.raises(InvalidInput, match="more than 2 places"):
        answered("sum", cents, values(Decimal("0.105")))


def test_squares_leave_38_digits_without_harm() -> None:
    assert answered("variance", WHOLE, values(10**30, 3 * 10**30)) == 2e60


def test_the_range_of_decimals_is_exact() -> None:
    wide = values(Decimal(f"{10**34}.00"), Decimal("-0.01"))
    assert answered("range", Argument(ArgumentKind.DECIMAL, 2), wide) == Decimal(f"{10**34}.01")


def test_products_have_zeros_and_signs() -> None:
    assert answered("product", WHOLE, values(3, 0, 5)) == 0
    assert answered("product", WHOLE, values(3, -1, 5)) == -15
    assert answered("product", REAL, values(1e200, 1e200, 1e-200, -1e-200)) == pytest.approx(-1.0, rel=1e-15)
    assert answered("product", REAL, values(1e200, 1e200)) == math.inf
    chance = random.Random(SEED)
    column = [chance.uniform(0.99, 1.02) for _ in range(20_000)]
    exact = math.exp(math.fsum(map(math.log, column)))
    assert answered("product", REAL, values(*column)) == pytest.approx(exact, rel=1e-11)
    with pytest.raises(InvalidInput, match="infinite factor"):
        answered("product", REAL, values(math.inf))


def test_the_geometric_mean_skips_what_has_no_logarithm() -> None:
    assert answered("geometric_mean", REAL, values(2.0, 8.0, -1.0)) == pytest.approx(4.0)
    assert answered("geometric_mean", REAL, values(2.0, 0.0)) == 0.0
    assert answered("geometric_mean", REAL, values(-1.0)) is None


def test_values_are_chosen_by_another() -> None:
    rows = [("a", 3, 1), ("b", 5, 2), ("c", 5, 3), ("d", None, 4), (None, 9, 5), ("e", math.nan, 6)]
    found = {name: answered(name, Argument(), rows) for name in ("arg_max", "arg_min", "first", "last")}
    assert found == {"arg_max": "c", "arg_min": "a", "first": "a", "last": "e"}


def test_lists_are_bounded() -> None:
    rows = [("c", 0, 3), ("a", 0, 1), ("d", 0, 4), ("b", 0, 2)]
    assert answered("first_n", Argument(), rows, 2) == ["a", "b"]
    assert answered("last_n", Argument(), rows, 2) == ["c", "d"]
    assert answered("concatenate", Argument(), rows, 4) == ["a", "b", "c", "d"]
    with pytest.raises(InvalidInput, match="the limit is 3"):
        answered("concatenate", Argument(), rows, 3)


def test_distinct_values_have_a_stated_limit() -> None:
    rows = values("x", "y", "x", None)
    assert answered("count_distinct", Argument(), rows, 2) == 2
    assert answered("collect_distinct", Argument(), rows, 2) == ["x", "y"]
    with pytest.raises(InvalidInput, match="more than 1 distinct values"):
        answered("count_distinct", Argument(), rows, 1)


@pytest.mark.parametrize("name", HOLISTIC)
def test_a_holistic_aggregate_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        aggregate(name, REAL)
    assert refused.value.message == (
        f"operation '{name}' is holistic: it cannot be assembled from partial aggregates, "
        "so no standing query answers it"
    )
    assert refused.value.remedy.endswith("ask the records themselves when you need it: tidewheel sql")


@pytest.mark.parametrize(
    ("name", "argument", "limit", "message"),
    [
        ("summ", WHOLE, None, "unknown aggregate 'summ'\n.*known are count_rows, count, sum"),
        ("sum", Argument(), None, "sum of a text, date or time\n.*takes a whole number or a decimal or a float"),
        ("bit_or", REAL, None, "bit_or of a float"),
        ("gcd", REAL, None, "gcd of a float"),
        ("count_distinct", Argument(), None, "count_distinct without a limit"),
        ("last_n", Argument(), 0, "last_n of 0 values"),
        ("count_distinct", Argument(), 0, "a limit of 0 distinct values"),
        ("sum", WHOLE, 3, "sum takes no limit"),
    ],
)
def test_what_cannot_be_is_refused(name: str, argument: Argument, limit: int | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        aggregate(name, argument, limit)


DUCKDB = {
    "count_rows": "count(*)", "geometric_mean": "geomean(x)", "range": "max(x) - min(x)",
    "sum_of_squares": "sum(x * x)", "arg_max": "arg_max(x, b)", "arg_min": "arg_min(x, b)",
    "first": "first(x ORDER BY t)", "last": "last(x ORDER BY t)", "gcd": None,
    "count_distinct": "count(DISTINCT x)", "collect_distinct": "list(DISTINCT x ORDER BY x)",
    "first_n": "list(x ORDER BY t)[:1000]", "last_n": "list(x ORDER BY t)", "concatenate": "list(x ORDER BY t)",
}  # fmt: skip


@pytest.mark.parametrize("kind", [ArgumentKind.WHOLE, ArgumentKind.FLOAT, ArgumentKind.BOOLEAN])
def test_duckdb_says_the_same(kind: ArgumentKind) -> None:
    """On harmless values: DuckDB rounds on the way, and counts NaN among the values."""
    chance = random.Random(SEED)
    draw = {
        ArgumentKind.WHOLE: lambda: chance.randint(1, 3), ArgumentKind.FLOAT: lambda: chance.uniform(0.5, 2.0),
        ArgumentKind.BOOLEAN: lambda: chance.random() < 0.5,
    }[kind]  # fmt: skip
    # by: all different, so that no tie is broken
    rows = [(draw(), by, at) for at, by in enumerate(chance.sample(range(99), 30))]
    sql_type = {ArgumentKind.WHOLE: "BIGINT", ArgumentKind.FLOAT: "DOUBLE", ArgumentKind.BOOLEAN: "BOOLEAN"}[kind]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows (x {sql_type}, b INTEGER, t INTEGER)")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", [*rows, (None, 100, 100)])
    compared = 0
    for name, maker in EXACT.items():
        expression = DUCKDB.get(name, f"{name}(x)")
        if kind not in maker.kinds or expression is None:
            continue
        where = "" if name == "count_rows" else " WHERE x IS NOT NULL"
        [(theirs,)] = connection.execute(f"SELECT {expression} FROM rows{where}").fetchall()
        ours = answered(name, Argument(kind), [*rows, (None, 100, 100)], 1000 if maker.limited else None)
        assert ours == (pytest.approx(theirs, rel=1e-12) if isinstance(theirs, float) else theirs), name
        compared += 1
    assert compared == {ArgumentKind.WHOLE: 28, ArgumentKind.FLOAT: 25, ArgumentKind.BOOLEAN: 15}[kind]
