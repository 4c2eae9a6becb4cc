"""The kernels give the pure room's answers: per way of folding, and per aggregate over random groups and windows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.models import query_operations as draws
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.aggregates import MAKERS, Argument, ArgumentKind, aggregate
from tidewheel.queries.kernels.answers import Folds
from tidewheel.queries.kernels.columns import loaded, stored
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.partials import Spans, sorted_partials
from tidewheel.queries.kernels.prefix_sums import span_sums, span_xors
from tidewheel.queries.kernels.refold import refold
from tidewheel.queries.kernels.van_herk import blockwise, blockwise_objects
from tidewheel.queries.operation import Aggregate, Operation
from tidewheel.queries.operations.exact_floats import BUCKET_INFINITE, FLOAT_SUM
from tidewheel.queries.operations.whole_sums import whole_sum

SEED = 20261119


def random_spans(chance: random.Random, rows: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    ends = [sorted(chance.sample(range(rows + 1), 2)) for _ in range(count)]
    return np.array([first for first, _ in ends]), np.array([end for _, end in ends])


WAYS: list[tuple[str, Callable[..., Any], Any]] = [
    ("refold add", lambda *args: refold(np.add, *args), np.add),
    ("refold max", lambda *args: refold(np.maximum, *args), np.maximum),
    ("prefix sums", span_sums, np.add),
    ("prefix xors", span_xors, np.bitwise_xor),
    ("doubled max", lambda *args: doubled(np.maximum, *args), np.maximum),
    ("doubled gcd", lambda *args: doubled(np.gcd, *args), np.gcd),
    ("blockwise add", lambda *args: blockwise(np.add, *args), np.add),
    ("blockwise min", lambda *args: blockwise(np.minimum, *args), np.minimum),
]


@pytest.mark.parametrize(("way", "ufunc"), [pytest.param(way, ufunc, id=name) for name, way, ufunc in WAYS])
def test_every_span_of_every_small_array(way, ufunc) -> None:
    for rows in range(1, 20):
        values = np.random.default_rng(rows).integers(-50, 50, rows)
        start, end = np.array([(first, end) for end in range(1, rows + 1) for first in range(end)]).T
        expected = [ufunc.reduce(values[first:last]) for first, last in zip(start, end, strict=True)]
        assert way(values, start, end).tolist() == expected, rows


@pytest.mark.parametrize(("way", "ufunc"), [pytest.param(way, ufunc, id=name) for name, way, ufunc in WAYS])
def test_random_spans(way, ufunc) -> None:
    chance = random.Random(SEED)
    values = np.random.default_rng(SEED).integers(-(10**9), 10**9, 3000)
    start, end = random_spans(chance, 3000, 300)
    expected = [ufunc.reduce(values[first:last]) for first, last in zip(start, end, strict=True)]
    assert way(values, start, end).tolist() == expected


def test_blocks_of_anything_keep_the_order() -> None:
    for rows in range(1, 20):
        letters = [chr(ord("a") + row) for row in range(rows)]
        start, end = np.array([(first, end) for end in range(1, rows + 1) for first in range(end)]).T
        expected = ["".join(letters[first:last]) for first, last in zip(start, end, strict=True)]
        assert blockwise_objects(str.__add__, letters, start, end) == expected


def test_running_totals_may_wrap() -> None:
    values = np.full(12, 2**62)
    assert span_sums(values, np.array([10]), np.array([11])).tolist() == [2**62]


Draw = Callable[[random.Random, int], tuple[Any, ...]]
KINDS: dict[str, tuple[Argument, Any, Draw]] = {
    "whole": (Argument(ArgumentKind.WHOLE), pa.int64(), draws.whole),
    "small": (Argument(ArgumentKind.WHOLE), pa.int64(), draws.small),
    "decimal": (Argument(ArgumentKind.DECIMAL, 2), pa.decimal128(38, 2), draws.decimal),
    "cents": (Argument(ArgumentKind.DECIMAL, 2), pa.decimal128(38, 2), draws.cents),
    "float": (Argument(ArgumentKind.FLOAT), pa.float64(), draws.real),
    "infinite": (Argument(ArgumentKind.FLOAT), pa.float64(), draws.infinite),
    "factor": (Argument(ArgumentKind.FLOAT), pa.float64(), draws.factor),
    "truth": (Argument(ArgumentKind.BOOLEAN), pa.bool_(), draws.truth),
    "text": (Argument(), pa.string(), draws.text),
}
OVERFLOWS = {
    ("sum_of_squares", "whole"),
    ("sum_of_squares", "decimal"),
    ("product", "whole"),
    ("product", "infinite"),
    ("range", "whole"),
}
CASES = [
    (name, kind)
    for name, maker in MAKERS.items()
    if not maker.fractional and not maker.sketched  # approximate ones: test_query_sketches.py
    for kind, (argument, _, _) in KINDS.items()
    if argument.kind in maker.kinds and (name, kind) not in OVERFLOWS
]


def inputs_of(asked: Aggregate, row: tuple[Any, Any, int]) -> list[Any]:
    return [row[("value", "by", "at").index(name)] for name in asked.inputs]


def table(chance: random.Random, asked: Aggregate, kind: str) -> tuple[list[Any], dict[Operation, list[Any]]]:
    """Partials as (group, fragment, accumulators), unsorted; some groups come often, some in one fragment only."""
    _, value_type, draw = KINDS[kind]
    keys = [(chance.choice(["a", "a", "a", "b", "c", None, str(row)]), chance.randint(-6, 9)) for row in range(60)]
    partials = []
    for number, key in enumerate(keys):
        rows = [
            (draw(chance, at)[0], chance.choice([None, 1.5, chance.random()]), at) for at in range(number, number + 3)
        ]
        lifted = [[operation.lift(*inputs_of(asked, row)) for row in rows] for operation in asked.operations]
        folded = [operation.fold(parts) for operation, parts in zip(asked.operations, lifted, strict=True)]
        partials.append((key, folded))
    input_types = [{"value": value_type, "by": pa.float64(), "at": pa.int64()}[name] for name in asked.inputs]
    columns = {
        operation: stored(operation, [folded[position] for _, folded in partials], input_types)
        for position, operation in enumerate(asked.operations)
    }
    return partials, columns


def expected_answers(asked: Aggregate, partials: list[Any], windows: list[tuple[int, int]]) -> dict[Any, Any]:
    expected = {}
    for group in {group for (group, _), _ in partials}:
        for number, (first, end) in enumerate(windows):
            # the order of rows within a fragment, then of fragments: sorting is stable
            inside = sorted((p for p in partials if p[0][0] == group and first <= p[0][1] < end), key=lambda p: p[0][1])
            if inside:
                parts = zip(*(folded for _, folded in inside), strict=True)
                folds = (operation.fold(part) for operation, part in zip(asked.operations, parts, strict=True))
                expected[group, number] = asked.answer(folds)
    return expected


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-12) or (math.isnan(found) and math.isnan(expected))
    return bool(found == expected)


@pytest.mark.parametrize(
    ("overlap_max", "run_min"), [(0, 4096), (99, 4096), (0, 1)], ids=["tables", "each span anew", "slices"]
)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_answers_are_those_of_the_pure_room(
    name: str, kind: str, overlap_max: int, run_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{SEED} {name} {kind}")
    asked = aggregate(name, KINDS[kind][0], 10_000 if MAKERS[name].limited else None)
    partials, columns = table(chance, asked, kind)
    windows = [
        (first, first + length)
        for first, length in [(-9, 2), (-6, 1), (0, 4), (2, 4), (-20, 50), (9, 1), (30, 4), (3, 0)]
    ]
    rows = sorted_partials({"g": pa.array([g for (g, _), _ in partials])}, pa.array([f for (_, f), _ in partials]))
    spans = rows.spans(*(pa.array([window[side] for window in windows]) for side in (0, 1)))
    monkeypatch.setattr("tidewheel.queries.kernels.winners.OVERLAP_MAX", overlap_max)
    monkeypatch.setattr("tidewheel.queries.kernels.runs.RUN_MIN", run_min)
    answers = Folds(rows, spans, columns).answers(asked).to_pylist()
    groups = rows.groups["g"].take(pa.array(spans.group)).to_pylist()
    found = dict(zip(zip(groups, spans.window.tolist(), strict=True), answers, strict=True))
    expected = expected_answers(asked, partials, windows)
    assert found.keys() == expected.keys()
    wrong = {key: (found[key], expected[key]) for key in expected if not same(found[key], expected[key])}
    assert not wrong


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_accumulators_come_back_from_their_columns(name: str, kind: str) -> None:
    chance = random.Random(f"{SEED} {name} {kind}")
    asked = aggregate(name, KINDS[kind][0], 10_000 if MAKERS[name].limited else None)
    partials, columns = table(chance, asked, kind)
    for position, operation in enumerate(asked.operations):
        assert loaded(operation, columns[operation]) == [folded[position] for _, folded in partials]


def one_group(operation: Operation, accumulators: list[Any], value_type: Any) -> tuple[Any, list[Any]]:
    rows = sorted_partials({}, pa.array(range(len(accumulators))))
    return rows, stored(operation, accumulators, [value_type])


@pytest.mark.parametrize("seed", range(8))
def test_float_sums_are_exact_to_the_last_bits(seed: int) -> None:
    """Cancelling, tiny, huge: against the exactly rounded sum."""
    chance = random.Random(seed)
    spread = chance.choice([1, 60, 1000])
    values = [math.ldexp(chance.uniform(-1, 1), chance.randint(-spread, spread)) for _ in range(200)]
    values += [-value for value in values[::3]] + [1e300, 1.0, -1e300, 5e-324]
    asked = aggregate("sum", Argument(ArgumentKind.FLOAT))
    counting, summing = asked.operations
    rows, column = one_group(summing, [summing.lift(value) for value in values], pa.float64())
    start, end = random_spans(chance, len(values), 300)
    spans = Spans(np.zeros(300, np.int64), np.arange(300), start, end)
    answers = Folds(rows, spans, {counting: [pa.array([1] * len(values))], summing: column}).answers(asked)
    for found, first, last in zip(answers.to_pylist(), start, end, strict=True):
        assert math.isclose(found, float(sum(map(Fraction, values[first:last]))), rel_tol=1e-15)


def test_entries_that_an_engine_did_not_carry_are_summed_as_they_are() -> None:
    column = pa.array(
        [[(0, 2**90), (0, -1), (1, -(2**58)), (-30, 5)], [], [(BUCKET_INFINITE, 1)], [(BUCKET_INFINITE, -1)]],
        pa.list_(pa.struct([("bucket", pa.int32()), ("units", pa.decimal128(38, 0))])),
    )
    assert [FLOAT_SUM.lower(value) for value in loaded(FLOAT_SUM, [column])][:3] == [
        -1.0 + 5 * 2.0**-960,
        0.0,
        math.inf,
    ]
    asked = aggregate("sum", Argument(ArgumentKind.FLOAT))
    rows = sorted_partials({}, pa.array(range(4)))
    columns = {asked.operations[0]: [pa.array([1] * 4)], asked.operations[1]: [column]}
    spans = rows.spans(pa.array([0, 0, 0, 2]), pa.array([1, 3, 4, 4]))
    assert Folds(rows, spans, columns).answers(asked).to_pylist() == [-1.0, math.inf, -1.0, 0.0]


def test_what_has_more_than_38_digits_is_an_error_also_here() -> None:
    asked = aggregate("sum", Argument(ArgumentKind.WHOLE))
    counting, summing = asked.operations
    most = 10**38 - 1
    rows, column = one_group(whole_sum(), [most, -most, -most, most, 1], pa.int64())
    columns = {counting: [pa.array([1] * 5)], summing: column}

    def answers(first: int, end: int) -> list[Decimal]:
        spans = rows.spans(pa.array([first]), pa.array([end]))
        return Folds(rows, spans, columns).answers(asked).to_pylist()

    assert answers(0, 5) == [Decimal(1)]
    assert answers(4, 5) == [Decimal(1)]
    assert (answers(0, 1), answers(1, 2)) == ([Decimal(most)], [Decimal(-most)])
    for first, end in ((3, 5), (1, 3)):
        with pytest.raises(InvalidInput, match="sum overflows"):
            answers(first, end)


@pytest.mark.parametrize("largest", [1, 2**30, 2**53, 2**60, 2**62, 2**63 - 1, 2**63, 2**64, 2**100])
def test_whole_sums_are_exact_however_large(largest: int) -> None:
    chance = random.Random(largest)
    values = [chance.randint(-largest, largest) for _ in range(30)] + [largest, largest, -largest, -largest, -largest]
    asked = aggregate("sum", Argument(ArgumentKind.WHOLE))
    counting, summing = asked.operations
    rows, column = one_group(summing, values, pa.int64())
    start, end = random_spans(chance, len(values), 60)
    spans = Spans(np.zeros(60, np.int64), np.arange(60), start, end)
    folds = Folds(rows, spans, {counting: [pa.array([1] * len(values))], summing: column})
    expected = [sum(values[first:last]) for first, last in zip(start, end, strict=True)]
    assert folds.answers(asked).to_pylist() == expected
    means = [total / (last - first) for total, first, last in zip(expected, start.tolist(), end.tolist(), strict=True)]
    assert folds.answers(aggregate("avg", Argument(ArgumentKind.WHOLE))).to_pylist() == pytest.approx(means, rel=1e-15)


def test_a_range_that_its_type_cannot_hold_is_an_error() -> None:
    asked = aggregate("range", Argument(ArgumentKind.WHOLE))
    rows, column = one_group(asked.operations[0], [-(2**63), 2**63 - 1], pa.int64())
    spans = rows.spans(pa.array([0]), pa.array([2]))
    with pytest.raises(InvalidInput, match="range overflows int64"):
        Folds(rows, spans, dict.fromkeys(asked.operations, column)).answers(asked)


@pytest.mark.parametrize("name", ["variance", "sum", "avg", "sum_of_squares"])
@pytest.mark.parametrize("kind", ["whole", "float", "decimal"])
def test_zeros_are_stored_as_empty_lists(name: str, kind: str) -> None:
    argument, value_type, _ = KINDS[kind]
    asked = aggregate(name, argument)
    lifted = {operation: [operation.lift(0), operation.lift(0)] for operation in asked.operations}
    columns = {operation: stored(operation, parts, [value_type]) for operation, parts in lifted.items()}
    rows = sorted_partials({}, pa.array([1, 2]))
    assert Folds(rows, rows.spans(pa.array([1]), pa.array([3])), columns).answers(asked).to_pylist() == [0]


@pytest.mark.parametrize("name", ["count_rows", "sum", "avg", "max", "arg_max", "last", "stddev", "last_n"])
@pytest.mark.parametrize("size", [1, 7, 100, 1500])
def test_tables_of_many_sizes(name: str, size: int) -> None:
    chance = random.Random(f"{SEED} {name} {size}")
    asked = aggregate(name, Argument(ArgumentKind.FLOAT), 4 if MAKERS[name].limited else None)
    keys = [(chance.randint(0, max(1, size // 20)), chance.randint(-50, 200)) for _ in range(size)]
    records = [(chance.gauss(0, 1e6), chance.randint(0, 5), at) for at in range(size)]
    lifted = [[operation.lift(*inputs_of(asked, row)) for operation in asked.operations] for row in records]
    types = [{"value": pa.float64(), "by": pa.int64(), "at": pa.int64()}[name] for name in asked.inputs]
    columns = {op: stored(op, [row[place] for row in lifted], types) for place, op in enumerate(asked.operations)}
    windows = [(end - chance.randint(1, 120), end) for end in range(-40, 220, 13)]
    rows = sorted_partials({"g": pa.array([g for g, _ in keys])}, pa.array([f for _, f in keys]))
    spans = rows.spans(*(pa.array([window[side] for window in windows]) for side in (0, 1)))
    answers = Folds(rows, spans, columns).answers(asked).to_pylist()
    groups = rows.groups["g"].take(pa.array(spans.group)).to_pylist()
    found = dict(zip(zip(groups, spans.window.tolist(), strict=True), answers, strict=True))
    expected = expected_answers(asked, list(zip(keys, lifted, strict=True)), windows)
    assert found.keys() == expected.keys()
    assert all(same(found[key], expected[key]) for key in expected)


def test_many_groups_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    groups, fragments = pa.array([7, 3, 3, 5, 7, 9]), pa.array([1, 2, 1, 9, 3, -4])
    rows = sorted_partials({"g": groups}, fragments)
    windows = (pa.array([0, 1, -9]), pa.array([2, 4, 99]))
    whole = rows.spans(*windows)
    monkeypatch.setattr("tidewheel.queries.kernels.partials.PAIRS_MAX", 1)
    parts = rows.spans(*windows)
    assert all((getattr(whole, name) == getattr(parts, name)).all() for name in ("group", "window", "start", "end"))
    assert rows.groups["g"].to_pylist() == [3, 5, 7, 9]
    assert list(zip(whole.group.tolist(), whole.window.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (1, 2), (2, 0), (2, 1), (2, 2), (3, 2),
    ]  # fmt: skip


def test_fragments_may_be_as_far_apart_as_numbers_go() -> None:
    far = 2**62
    columns, fragments = {"g": pa.array([1, 2, 2, 1])}, pa.array([-far, far, 0, 5])
    rows = sorted_partials(columns, fragments)
    spans = rows.spans(pa.array([-far, 1, 5, far]), pa.array([6, far, far + 1, far]))
    numbers = np.column_stack([spans.group, spans.window, spans.end - spans.start]).tolist()
    assert list(map(tuple, numbers)) == [(0, 0, 2), (0, 1, 1), (0, 2, 1), (1, 0, 1), (1, 2, 1)]


def test_groups_have_any_columns() -> None:
    asked = aggregate("count")
    regions, hosts = pa.array(["b", "a", None, "a", "b"]), pa.chunked_array([[2, 1, 1], [1, None]])
    for columns, expected in [
        ({"region": regions, "host": hosts}, [("a", 1, 5), ("b", 2, 1), ("b", None, 7), (None, 1, 3)]),
        ({"host": hosts, "region": regions}, [(1, "a", 5), (1, None, 3), (2, "b", 1), (None, "b", 7)]),
        ({"region": regions}, [("a", 5), ("b", 8), (None, 3)]),
        ({}, [(16,)]),
    ]:
        rows = sorted_partials(columns, pa.array([4, 1, 1, 0, 2]))
        spans = rows.spans(pa.array([0]), pa.array([5]))
        answers = Folds(rows, spans, {asked.operations[0]: [pa.array([1, 2, 3, 3, 7])]}).answers(asked)
        groups = rows.groups.select(list(columns)).take(pa.array(spans.group)).to_pylist()
        found = [(*group.values(), answer) for group, answer in zip(groups or [{}], answers.to_pylist(), strict=True)]
        assert found == expected


def test_of_nothing_there_are_no_answers() -> None:
    asked = aggregate("sum", Argument(ArgumentKind.WHOLE))
    columns = {operation: stored(operation, [], [pa.int64()]) for operation in asked.operations}
    nothing = pa.array([], pa.int64())
    for groups in ({}, {"g": nothing}, {"g": nothing, "h": pa.array([], pa.string())}):
        rows = sorted_partials(groups, nothing)
        for firsts, ends in (([], []), ([1], [5])):
            spans = rows.spans(pa.array(firsts, pa.int64()), pa.array(ends, pa.int64()))
            assert len(Folds(rows, spans, columns).answers(asked)) == 0
    with pytest.raises(InvalidInput, match="2 windows begin and 1 end"):
        rows.spans(pa.array([1, 2]), pa.array([3]))
