"""Answers of an aggregate for many windows and groups at once: accumulators in as Arrow arrays, answers out as one.

Each operation has its fold: prefix sums where it is invertible over whole numbers, a selection or doubling tables where
it is idempotent, van Herk's blocks over Python values for whatever is left. The oracle is the fold of the pure room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.kernels.arrays import Real, Whole, int64s
from tidewheel.queries.kernels.columns import loaded
from tidewheel.queries.kernels.limbs import WideTotals, decimal_totals, wide_totals
from tidewheel.queries.kernels.partials import Partials, Spans
from tidewheel.queries.kernels.prefix_sums import span_sums, span_xors
from tidewheel.queries.kernels.van_herk import blockwise_objects
from tidewheel.queries.kernels.winners import WINNER_FIRST, folded, selected
from tidewheel.queries.operation import Aggregate, Operation
from tidewheel.queries.operations.exact_floats import BUCKET_MIN
from tidewheel.queries.operations.wide import WIDE

Columns = Sequence[Any]  # Arrow arrays as `Operation.columns` declares them, one row per partial
IDEMPOTENT = {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "gcd": np.gcd}


@dataclass(frozen=True)
class Folds:
    """The folds of one set of spans; the columns of each operation are brought into order once."""

    partials: Partials
    spans: Spans
    columns: Mapping[Operation, Columns]

    def answers(self, aggregate: Aggregate) -> Any:
        """One answer per span, as an Arrow array."""
        if not len(self.spans):
            return pa.nulls(0)
        finish = _FINISHES.get(aggregate.name, _finish_each)
        return finish(self, aggregate)

    def sorted(self, operation: Operation) -> list[Any]:
        return [self.partials.sorted(column) for column in self.columns[operation]]

    def counts(self, operation: Operation) -> Whole:
        (column,) = self.sorted(operation)
        return span_sums(int64s(column), self.spans.start, self.spans.end)

    def accumulators(self, operation: Operation) -> list[Any]:
        """As Python values, for what is finished one by one."""
        columns = self.sorted(operation)
        start, end = self.spans.start, self.spans.end
        if _is_wide(operation):
            return _wide_accumulators(operation, wide_totals(columns[0], start, end))
        if operation.name in ("count", "log_count", "count_rows"):
            return list(span_sums(int64s(columns[0]), start, end).tolist())
        if operation.name == "sum":
            return decimal_totals(columns[0], start, end).to_integers(0)
        return blockwise_objects(operation.join, loaded(operation, columns), start, end)


def _is_wide(operation: Operation) -> bool:
    return operation.columns[0].sql_type == WIDE


def _wide_accumulators(operation: Operation, totals: WideTotals) -> list[Any]:
    if isinstance(operation.identity, int):
        return totals.finite.to_integers(0)
    units = totals.finite.to_integers(BUCKET_MIN)
    return list(zip(units, totals.infinite.tolist(), totals.negative_infinite.tolist(), strict=True))


def _finish_each(folds: Folds, aggregate: Aggregate) -> Any:
    parts = [folds.accumulators(operation) for operation in aggregate.operations]
    return pa.array([aggregate.answer(row) for row in zip(*parts, strict=True)])


def _finish_count(folds: Folds, aggregate: Aggregate) -> Any:
    return pa.array(folds.counts(aggregate.operations[0]))


def _finish_sum(folds: Folds, aggregate: Aggregate) -> Any:
    counting, summing = aggregate.operations
    counts, (column,) = folds.counts(counting), folds.sorted(summing)
    if _is_wide(summing):
        return pa.array(_floats(wide_totals(column, folds.spans.start, folds.spans.end)), mask=counts == 0)
    totals = decimal_totals(column, folds.spans.start, folds.spans.end)
    return totals.to_decimals(column.type.scale, counts > 0, aggregate.name)


def _finish_avg(folds: Folds, aggregate: Aggregate) -> Any:
    counting, summing = aggregate.operations
    counts, (column,) = folds.counts(counting), folds.sorted(summing)
    divisors = np.maximum(counts, 1)
    if _is_wide(summing):
        means = _floats(wide_totals(column, folds.spans.start, folds.spans.end), divisors)
    else:
        totals = decimal_totals(column, folds.spans.start, folds.spans.end)
        means = totals.to_floats(divisors) / 10.0**column.type.scale
    return pa.array(means, mask=counts == 0)


def _floats(totals: WideTotals, count: Whole | None = None) -> Real:
    floats = totals.finite.to_floats(count)
    floats[totals.infinite > 0] = np.inf
    floats[totals.negative_infinite > 0] = -np.inf
    floats[(totals.infinite > 0) & (totals.negative_infinite > 0)] = np.nan
    return floats


def _finish_selection(folds: Folds, aggregate: Aggregate) -> Any:
    (operation,) = aggregate.operations
    named = {column.name: array for column, array in zip(operation.columns, folds.sorted(operation), strict=True)}
    return selected(operation.name, named, folds.spans.start, folds.spans.end)


def _finish_range(folds: Folds, aggregate: Aggregate) -> Any:
    columns = [folds.sorted(operation)[0] for operation in aggregate.operations]
    largest, smallest = (
        selected(operation.name, {"value": column}, folds.spans.start, folds.spans.end)
        for operation, column in zip(aggregate.operations, columns, strict=True)
    )
    if pa.types.is_floating(largest.type):
        return pc.subtract(largest, smallest)
    pairs = zip(largest.to_pylist(), smallest.to_pylist(), strict=True)
    try:
        return pa.array([aggregate.answer(pair) for pair in pairs], largest.type)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InvalidInput(f"range overflows {largest.type}", "range(x::DOUBLE) has no such limit") from error


def _finish_idempotent(folds: Folds, aggregate: Aggregate) -> Any:
    (operation,) = aggregate.operations
    (column,) = folds.sorted(operation)
    valid = np.asarray(column.is_valid())
    neutral = -1 if operation.name == "bit_and" else 0
    values = np.asarray(column.fill_null(neutral))
    bits = folded(IDEMPOTENT[operation.name], values, folds.spans.start, folds.spans.end)
    return pa.array(bits, mask=span_sums(valid.astype(np.int64), folds.spans.start, folds.spans.end) == 0)


def _finish_xor(folds: Folds, aggregate: Aggregate) -> Any:
    counts, (column,) = folds.counts(aggregate.operations[0]), folds.sorted(aggregate.operations[1])
    return pa.array(span_xors(int64s(column), folds.spans.start, folds.spans.end), mask=counts == 0)


_FINISHES: dict[str, Callable[[Folds, Aggregate], Any]] = {
    "count_rows": _finish_count,
    "count": _finish_count,
    "sum": _finish_sum,
    "avg": _finish_avg,
    "bit_xor": _finish_xor,
    "range": _finish_range,
    **dict.fromkeys(IDEMPOTENT, _finish_idempotent),
    **dict.fromkeys(WINNER_FIRST, _finish_selection),
}
# The others are finished one by one, as Python values.
FOLDED_AS_ARRAYS = frozenset(_FINISHES)
