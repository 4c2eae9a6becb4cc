"""Workloads: lifetimes are distributions, and what is live follows from them."""

from __future__ import annotations

import pytest

from tidewheel.indexing.cost.workloads import Lifetimes, Workload, bimodal, constant, heavy_tailed, uniform
from tidewheel.indexing.errors import InvalidInput

SHAPES = {
    "uniform": uniform(12),
    "constant": constant(7),
    "bimodal": bimodal(2, 12, 0.3),
    "heavy": heavy_tailed(12),
    "short-lived too": (0.25, 0.5, 0.25),
}


@pytest.mark.parametrize("lifetimes", SHAPES.values(), ids=SHAPES)
def test_live_bytes_are_what_batches_of_the_last_span_still_hold(lifetimes: Lifetimes) -> None:
    workload = Workload(1, 1000, lifetimes)
    alive = sum(
        size
        for slot in range(-workload.span, 1)
        for expiration_slot, size in workload.batch(slot).items()
        if expiration_slot > 0
    )
    assert workload.live_bytes == pytest.approx(alive)
    assert workload.stored_bytes == pytest.approx(sum(workload.batch(5).values()))


@pytest.mark.parametrize("lifetimes", SHAPES.values(), ids=SHAPES)
def test_shares_sum_to_one(lifetimes: Lifetimes) -> None:
    assert sum(lifetimes) == pytest.approx(1)
    assert Workload(1, 1, lifetimes).span == len(lifetimes) - 1


def test_a_heavier_exponent_has_a_shorter_life() -> None:
    assert Workload(1, 1, heavy_tailed(50, 3)).live_bytes < Workload(1, 1, heavy_tailed(50, 1)).live_bytes


@pytest.mark.parametrize("lifetimes", [(), (1.0,), (0.0, 0.5), (-0.5, 1.5), (0.0, 0.7, 0.7)], ids=str)
def test_what_is_no_distribution_is_refused(lifetimes: Lifetimes) -> None:
    with pytest.raises(InvalidInput):
        Workload(1, 1, lifetimes)


@pytest.mark.parametrize("numbers", [(0, 1, 0, 0), (1, 0, 0, 0), (1, 1, -1, 0), (1, 1, 0, -1)], ids=str)
def test_impossible_numbers_are_refused(numbers: tuple[float, float, float, float]) -> None:
    rows, size, probes, scans = numbers
    with pytest.raises(InvalidInput, match="not a workload"):
        Workload(rows, size, uniform(3), probes, scans)


def test_a_probe_answers_some_records_of_those_alive() -> None:
    assert Workload(100, 1e5, uniform(4), probe_rows=25).keys == 10
    assert Workload(100, 1e5, uniform(4), probe_rows=1e6).keys == 1
    with pytest.raises(InvalidInput, match="answers 0 records"):
        Workload(100, 1e5, uniform(4), probe_rows=0)


def test_impossible_shapes_are_refused() -> None:
    for shape in (uniform, constant, heavy_tailed):
        with pytest.raises(InvalidInput, match="0 slots"):
            shape(0)
    with pytest.raises(InvalidInput, match="0 slots"):
        bimodal(0, 3, 0.5)
    with pytest.raises(InvalidInput, match="two classes"):
        bimodal(3, 3, 0.5)
    with pytest.raises(InvalidInput, match="exponent"):
        heavy_tailed(3, 0)
