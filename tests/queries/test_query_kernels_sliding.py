"""Spans that slide are folded by slices and give what spans in any order give; at every border of the two."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tidewheel.queries.kernels import runs, sliding
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.prefix_sums import span_sums, span_xors
from tidewheel.queries.kernels.runs import RUN_MIN, Run, runs_of
from tidewheel.queries.kernels.van_herk import blockwise

SEED = 20261119
Spans = tuple[np.ndarray, np.ndarray]
WAYS: dict[str, tuple[Callable[..., Any], Any]] = {
    "prefix sums": (span_sums, np.add),
    "prefix xors": (span_xors, np.bitwise_xor),
    "doubled max": (lambda *args: doubled(np.maximum, *args), np.maximum),
    "doubled or": (lambda *args: doubled(np.bitwise_or, *args), np.bitwise_or),
    "blockwise add": (lambda *args: blockwise(np.add, *args), np.add),
    "blockwise min": (lambda *args: blockwise(np.minimum, *args), np.minimum),
}


def expanded(found: list[Run]) -> Spans:
    start = np.concatenate([one.first + one.step * np.arange(one.count) for one in found])
    return start, start + np.repeat([one.length for one in found], [one.count for one in found])


def run_of(first: int, length: int, step: int, count: int) -> Spans:
    start = first + step * np.arange(count)
    return start, start + length


def joined(*spans: Spans) -> Spans:
    start, end = (np.concatenate(side) for side in zip(*spans, strict=True))
    return start, end


def expected(ufunc: Any, values: np.ndarray, start: np.ndarray, end: np.ndarray) -> list[int]:
    return [ufunc.reduce(values[first:last]) for first, last in zip(start, end, strict=True)]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is a run, and pieces and blocks are so small that few rows have many of them."""
    monkeypatch.setattr(runs, "RUN_MIN", 1)
    monkeypatch.setattr(runs, "LOOKED_AT", 5)
    for name, value in (("BLOCK", 2), ("WIDE", 4), ("PIECE", 6)):
        monkeypatch.setattr(sliding, name, value)


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorter runs are worth slicing."""
    monkeypatch.setattr(runs, "RUN_MIN", 256)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("way", "ufunc"), [pytest.param(*one, id=name) for name, one in WAYS.items()])
def test_every_run_over_few_rows(way: Callable[..., Any], ufunc: Any) -> None:
    for rows in (1, 2, 5, 12, 13, 29):
        values = np.random.default_rng(rows).integers(-50, 50, rows)
        for length, step, first in product(range(1, rows + 1), (1, 2, 3, 7), (0, 1, 5)):
            count = (rows - length - first) // step + 1
            if count > 0:
                spans = run_of(first, length, step, count)
                assert way(values, *spans).tolist() == expected(ufunc, values, *spans), (rows, length, step, first)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("way", "ufunc"), [pytest.param(*one, id=name) for name, one in WAYS.items()])
def test_every_span_of_few_rows_is_a_run_too(way: Callable[..., Any], ufunc: Any) -> None:
    for rows in (1, 4, 11, 17):
        values = np.random.default_rng(rows).integers(-50, 50, rows)
        start, end = np.array([(first, end) for end in range(1, rows + 1) for first in range(end)]).T
        assert way(values, start, end).tolist() == expected(ufunc, values, start, end)


@pytest.mark.parametrize("length", [1, 2, 31, 32, 63, 64, 65, 127, 128, 129, 130, 160, 161, 1000, 4095, 5000])
@pytest.mark.parametrize("step", [1, 3])
def test_lengths_at_the_borders_of_blocks(length: int, step: int) -> None:
    """With the sizes in use; more rows than a piece has."""
    rows = sliding.PIECE + 6_000
    values = np.random.default_rng(length).integers(-(10**12), 10**12, rows)
    spans = run_of(17, length, step, (rows - 17 - length) // step + 1)
    assert runs_of(*spans) == [Run(0, len(spans[0]), 17, length, step)]
    whole = np.lib.stride_tricks.sliding_window_view(values[17:], length)[::step]
    assert (doubled(np.maximum, values, *spans) == whole.max(axis=1)).all()
    assert (span_sums(values, *spans) == np.add.reduce(whole, axis=1)).all()
    assert (blockwise(np.add, values, *spans) == np.add.reduce(whole, axis=1)).all()


@pytest.mark.parametrize(("way", "ufunc"), [pytest.param(*one, id=name) for name, one in WAYS.items()])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.usefixtures("more")
def test_runs_between_spans_that_jump(way: Callable[..., Any], ufunc: Any, kind: Any) -> None:
    """As many groups have them that lack a fragment here and there; those of many lengths share their tables."""
    values = np.random.default_rng(SEED).integers(-(10**5), 10**5, 3_000).astype(kind)
    chance = random.Random(SEED)
    jumps = [sorted(chance.sample(range(3_001), 2)) for _ in range(4)]
    lone = (np.array([one for one, _ in jumps]), np.array([one for _, one in jumps]))
    spans = joined(run_of(0, 700, 1, 2_000), lone, run_of(5, 40, 2, 900), run_of(1, 1_000, 1, 1_999), lone)
    assert len(runs_of(*spans) or ()) > 6
    assert way(values, *spans).tolist() == expected(ufunc, values, *spans)


@pytest.mark.usefixtures("more")
def test_floats_and_their_infinities_slide() -> None:
    few = [-np.inf, np.inf, -0.0, 0.0, 1.5, -2.5e300]
    values = np.random.default_rng(SEED).choice(few, 3_000, p=[0.9] + [0.02] * 5)
    spans = run_of(0, 300, 1, 2_701)
    assert doubled(np.maximum, values, *spans).tolist() == expected(np.maximum, values, *spans)


def test_spans_are_found_as_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(SEED)
    monkeypatch.setattr(runs, "RUN_MIN", 1)
    for looked_at in (1, 2, 3, 7, 1 << 14):
        monkeypatch.setattr(runs, "LOOKED_AT", looked_at)
        for _ in range(60):
            made = joined(*(random_run(chance) for _ in range(chance.randint(1, 6))))
            found = runs_of(*made)
            if found is not None:
                assert [one.tolist() for one in expanded(found)] == [one.tolist() for one in made]
                assert [one.place for one in found] == np.cumsum([0, *(one.count for one in found[:-1])]).tolist()


def random_run(chance: random.Random) -> Spans:
    return run_of(chance.randint(0, 50), chance.randint(1, 20), chance.randint(1, 4), chance.choice([1, 1, 2, 3, 30]))


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_parts_of_a_run_begin_within_their_piece(rows: int) -> None:
    for first, step, count in product((0, 1, 6, 7), (1, 2, 3, 10), (1, 2, 5, 40)):
        whole = Run(11, count, first, 4, step)
        parts = list(whole.parts(rows))
        assert [part.place for _, part in parts] == sorted(part.place for _, part in parts)
        moved = [first for low, part in parts for first in (low + expanded([part])[0]).tolist()]
        assert moved == expanded([whole])[0].tolist()
        assert all(part.first >= 0 and part.first + (part.count - 1) * step < rows for _, part in parts)
        assert all(low % rows == 0 for low, _ in parts)


def refused() -> Iterator[Any]:
    many = 4 * RUN_MIN
    jumping = np.sort(np.random.default_rng(SEED).integers(0, 10**6, many))
    yield pytest.param(run_of(0, 5, 1, RUN_MIN - 1), id="too few")
    yield pytest.param((jumping, jumping + 9), id="no order")
    yield pytest.param((np.zeros(many, np.int64), np.arange(1, many + 1)), id="they grow")
    yield pytest.param((np.arange(many), np.full(many, many)), id="they shrink")
    yield pytest.param(tuple(side[::-1] for side in run_of(0, 5, 1, many)), id="backwards")
    yield pytest.param((np.full(many, 3), np.full(many, 9)), id="one span, again and again")
    yield pytest.param(joined(*[run_of(0, 5, 1, RUN_MIN // 2)] * 9), id="short runs")


@pytest.mark.parametrize("spans", list(refused()))
def test_what_does_not_slide_is_left_as_it_is(spans: Spans) -> None:
    assert runs_of(*spans) is None


@pytest.mark.usefixtures("more")
@pytest.mark.parametrize("width", [1, 3, 200])
def test_rows_of_values_slide_like_values(width: int) -> None:
    """As the groups of a grid do: each column for itself, whatever is sliced."""
    values = np.random.default_rng(width).integers(-(10**9), 10**9, (900, width))
    spans = joined(run_of(0, 700, 1, 200), run_of(3, 130, 1, 700), run_of(0, 12, 3, 290), run_of(1, 64, 2, 400))
    for way, ufunc in (WAYS["prefix sums"], WAYS["doubled max"]):
        found = way(values, *spans)
        assert found.shape == (len(spans[0]), width)
        for column in range(0, width, 7):
            assert found[:, column].tolist() == way(values[:, column].copy(), *spans).tolist()
            assert found[::97, column].tolist() == expected(ufunc, values[:, column], *(side[::97] for side in spans))


def test_just_enough_spans_are_a_run() -> None:
    assert runs_of(*run_of(2, 5, 3, RUN_MIN)) == [Run(0, RUN_MIN, 2, 5, 3)]
    last = joined(run_of(0, 5, 1, 3 * RUN_MIN), (np.array([0]), np.array([1])))
    assert runs_of(*last) == [Run(0, 3 * RUN_MIN, 0, 5, 1), Run(3 * RUN_MIN, 1, 0, 1, 1)]
