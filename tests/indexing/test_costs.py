"""The cost model: simulation, closed forms and rules of thumb."""

from __future__ import annotations

import pytest

from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.cost.estimates import estimate, expire_rebuild_amplification, rebuild_amplification
from tidewheel.indexing.cost.model import (
    MEASURED_MEDIUM,
    MediumCosts,
    Method,
    measured_updates,
    predict,
)
from tidewheel.indexing.cost.workloads import Lifetimes, Workload, bimodal, constant, heavy_tailed, uniform
from tidewheel.indexing.errors import InvalidInput

ROWS, BYTES = 14_000, 14e6
NO_BOUND = {"dead_share_max": 1.0, "runs_max": 10_000}
SHAPES = [(1, 1), (1, 4), (4, 1), (2, 2), (4, 4), (2, 8), (8, 2), (3, 5)]


def workload(lifetimes: Lifetimes, probes: float = 0, scans: float = 0, probe_rows: float = 1) -> Workload:
    return Workload(ROWS, BYTES, lifetimes, probes, scans, probe_rows)


def round_robin(rows: int, columns: int, span: int, strategy: Strategy, **bounds: float) -> Generation:
    layout = Layout(LayoutKind.ROUND_ROBIN, rows, columns, span)
    return Generation(1, layout, strategy, **bounds)  # type: ignore[arg-type]


@pytest.mark.parametrize("lifetimes", [uniform(36), uniform(24), heavy_tailed(30)], ids=["u36", "u24", "heavy"])
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("strategy", Strategy)
def test_without_bounds_the_closed_forms_are_exact(
    strategy: Strategy, rows: int, columns: int, lifetimes: Lifetimes
) -> None:
    load = workload(lifetimes)
    generation = round_robin(rows, columns, load.span, strategy, **NO_BOUND)
    simulated, closed = predict(load, generation), estimate(load, generation)
    assert (simulated.method, closed.method) == (Method.SIMULATED, Method.CLOSED_FORM)
    names = [
        "touched_subindices",
        "appended_bytes",
        "rewritten_bytes",
        "stored_runs",
        "live_bytes",
        "dead_bytes",
    ]
    for name in names:
        assert getattr(closed, name) == pytest.approx(getattr(simulated, name), abs=1e-3), name


@pytest.mark.parametrize("lifetimes", [uniform(36), uniform(60), heavy_tailed(48)], ids=["u36", "u60", "heavy"])
@pytest.mark.parametrize(("rows", "columns"), [*SHAPES, (1, 18)])
@pytest.mark.parametrize("strategy", Strategy)
def test_with_bounds_the_closed_forms_are_good_enough_to_screen(
    strategy: Strategy, rows: int, columns: int, lifetimes: Lifetimes
) -> None:
    load = workload(lifetimes)
    generation = round_robin(rows, columns, load.span, strategy)
    simulated, closed = predict(load, generation), estimate(load, generation)
    seconds = MEASURED_MEDIUM.times(simulated, load).update_seconds
    assert MEASURED_MEDIUM.times(closed, load).update_seconds == pytest.approx(seconds, rel=0.35)


@pytest.mark.parametrize("lifetimes", [bimodal(3, 35, 0.2), constant(20)], ids=["bimodal", "constant"])
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("strategy", [Strategy.REBUILD, Strategy.EXPIRE_REBUILD])
def test_with_few_lifetimes_the_closed_forms_are_upper_bounds(
    strategy: Strategy, rows: int, columns: int, lifetimes: Lifetimes
) -> None:
    load = workload(lifetimes)
    generation = round_robin(rows, columns, load.span, strategy, **NO_BOUND)
    assert predict(load, generation).rewritten_bytes <= estimate(load, generation).rewritten_bytes + 1e-3


@pytest.mark.parametrize(("rows", "columns"), [(1, 4), (2, 2), (4, 4), (3, 6), (6, 3)])
@pytest.mark.parametrize("span", [36, 72])
def test_the_rules_of_thumb_are_near(rows: int, columns: int, span: int) -> None:
    load = workload(uniform(span))
    rebuild = predict(load, round_robin(rows, columns, span, Strategy.REBUILD, **NO_BOUND))
    assert rebuild.write_amplification <= rebuild_amplification(rows, columns, span)
    assert rebuild.write_amplification == pytest.approx(rebuild_amplification(rows, columns, span), rel=0.12)
    turned = predict(load, round_robin(rows, columns, span, Strategy.EXPIRE_REBUILD, **NO_BOUND))
    assert turned.write_amplification == pytest.approx(expire_rebuild_amplification(columns, span) - 0.5)
    appended = predict(load, round_robin(rows, columns, span, Strategy.NO_REBUILD, **NO_BOUND))
    assert appended.write_amplification == 1


@pytest.mark.parametrize(("rows", "columns"), [(1, 36), (1, 40), (2, 37), (3, 36)])
def test_with_a_column_per_slot_expiry_only_drops(rows: int, columns: int) -> None:
    load = workload(uniform(36))
    for strategy in (Strategy.NO_REBUILD, Strategy.EXPIRE_REBUILD):
        figures = predict(load, round_robin(rows, columns, 36, strategy, runs_max=37))
        assert (figures.rewritten_bytes, figures.read_bytes, figures.dead_bytes) == (0, 0, 0)
        assert figures.written_files == 36


def test_a_bound_on_runs_trades_rewriting_for_faster_probes() -> None:
    load = workload(uniform(36))
    free = predict(load, round_robin(1, 36, 36, Strategy.EXPIRE_REBUILD, runs_max=37))
    bound = predict(load, round_robin(1, 36, 36, Strategy.EXPIRE_REBUILD, runs_max=4))
    assert bound.rewritten_bytes > free.rewritten_bytes
    assert bound.probe_files < free.probe_files
    assert bound.stored_runs <= 36 * 4


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
def test_a_bound_on_dead_bytes_is_kept(share: float) -> None:
    load = workload(uniform(24))
    figures = predict(load, round_robin(2, 2, 24, Strategy.NO_REBUILD, dead_share_max=share))
    assert figures.dead_share <= share


def test_a_column_that_turns_leaves_no_dead_bytes() -> None:
    load = workload(heavy_tailed(24))
    for strategy in (Strategy.REBUILD, Strategy.EXPIRE_REBUILD):
        assert predict(load, round_robin(3, 4, 24, strategy)).dead_bytes == 0


@pytest.mark.parametrize("kind", [LayoutKind.WAVE_BY_INSERTION, LayoutKind.WAVE_BY_EXPIRATION])
def test_cutting_on_both_sides_halves_the_writing_of_a_wave_index(kind: LayoutKind) -> None:
    """The thesis measured updates over twice as fast at n = 16."""
    load = workload(uniform(36))
    rows, columns = (16, 1) if kind is LayoutKind.WAVE_BY_INSERTION else (1, 16)
    wave = predict(load, Generation(1, Layout(kind, rows, columns, 36), Strategy.REBUILD))
    doubly = predict(load, round_robin(4, 4, 36, Strategy.REBUILD))
    assert wave.touched_subindices > 2 * doubly.touched_subindices
    assert wave.write_amplification > 2 * doubly.write_amplification


def test_records_of_one_lifetime_need_no_rewriting_when_appended() -> None:
    figures = predict(workload(constant(20)), round_robin(4, 4, 20, Strategy.NO_REBUILD))
    assert (figures.write_amplification, figures.dead_bytes) == (1, 0)


def test_a_randomized_layout_stores_the_same_and_drops_less() -> None:
    load = workload(uniform(16))
    layout = Layout(LayoutKind.RANDOMIZED, 1, 16, 16, seed=3)
    figures = predict(load, Generation(1, layout, Strategy.EXPIRE_REBUILD))
    assert figures.live_bytes == pytest.approx(load.live_bytes)
    assert figures.rewritten_bytes > 0


def test_the_average_is_over_whole_periods() -> None:
    assert measured_updates(Layout(LayoutKind.ROUND_ROBIN, 4, 6, 36)) == 36
    assert measured_updates(Layout(LayoutKind.ROUND_ROBIN, 5, 7, 36)) == 70
    assert measured_updates(Layout(LayoutKind.ROUND_ROBIN, 16, 15, 36)) == 144
    assert measured_updates(Layout(LayoutKind.CHRONOLOGICAL, 4, 6, 36)) == 36
    assert measured_updates(Layout(LayoutKind.RANDOMIZED, 4, 6, 36)) == 144


def test_reads_are_paid_with_the_update() -> None:
    load = workload(uniform(8), probes=3, scans=2)
    times = MediumCosts(update_seconds=1).times(predict(load, round_robin(2, 2, 8, Strategy.REBUILD)), load)
    reads = 3 * times.probe_seconds + 2 * times.scan_seconds
    assert times.workload_seconds == pytest.approx(times.update_seconds + reads)


def test_larger_answers_cost_more_to_probe_the_more_runs_they_lie_in() -> None:
    few, many = (round_robin(1, columns, 36, Strategy.EXPIRE_REBUILD) for columns in (4, 12))

    def seconds(generation: Generation, rows: float) -> float:
        load = workload(uniform(36), probe_rows=rows)
        medium = MediumCosts(opened_file_seconds=1e-4, decoded_megabyte_seconds=1e-3)
        return medium.times(predict(load, generation), load).probe_seconds

    growth_few = seconds(few, 1000) - seconds(few, 1)
    growth_many = seconds(many, 1000) - seconds(many, 1)
    assert 0 < growth_few < growth_many


def test_lifetimes_beyond_the_span_are_refused() -> None:
    generation = round_robin(2, 2, 8, Strategy.REBUILD)
    for model in (predict, estimate):
        with pytest.raises(InvalidInput, match="span of 8"):
            model(workload(uniform(9)), generation)


def test_only_round_robin_has_closed_forms() -> None:
    layout = Layout(LayoutKind.CHRONOLOGICAL, 2, 2, 8)
    with pytest.raises(InvalidInput, match="no closed form"):
        estimate(workload(uniform(8)), Generation(1, layout, Strategy.REBUILD))
