"""Every contender by name; what takes a package that is missing is imported only when it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.contenders.clickhouse import ClickHouse
from benchmarks.contenders.delta_append import DeltaAppend
from benchmarks.contenders.delta_by_expiry import DeltaByExpiry
from benchmarks.contenders.delta_delete import DeltaDelete, DeltaZOrder
from benchmarks.contenders.delta_rs_by_expiry import DeltaRsByExpiry
from benchmarks.contenders.delta_vectors import DeltaVectors
from benchmarks.contenders.duckdb_file import DuckDBFile
from benchmarks.contenders.ours import UNBOUNDED, Ours
from benchmarks.contenders.sorted_copy import SortedCopy
from benchmarks.contenders.unindexed import Unindexed
from benchmarks.harness.contender import Contender, Family
from tidewheel.indexing.core.layouts import LayoutKind, Strategy

SQUARES = (1, 2, 3, 4, 5, 6)
_SHORT = {
    LayoutKind.ROUND_ROBIN: "rr",
    LayoutKind.CHRONOLOGICAL: "chr",
    LayoutKind.RANDOMIZED: "rnd",
    LayoutKind.WAVE_BY_INSERTION: "ins",
    LayoutKind.WAVE_BY_EXPIRATION: "exp",
}
_LETTER = {Strategy.REBUILD: "R", Strategy.NO_REBUILD: "D"}


def ours(
    strategy: Strategy,
    rows: int,
    columns: int,
    kind: LayoutKind = LayoutKind.ROUND_ROBIN,
    *,
    bounded: bool = True,
    runs_max: int = 16,
) -> Ours:
    """An archive of ours; unbounded: nothing is folded for its runs or its dead share, as in the thesis."""
    name = f"{_SHORT[kind]}_{strategy.value}_{rows}x{columns}"
    label = f"{kind.value.replace('_', ' ')} {strategy.value} {rows}×{columns}"
    if kind is LayoutKind.ROUND_ROBIN:
        label = f"{strategy.value} {rows}×{columns}"
    if not bounded:
        return Ours(
            f"{name}_unbounded", f"{label}, no bounds", strategy, rows, columns, kind=kind,
            dead_share_max=1.0, runs_max=UNBOUNDED,
        )  # fmt: skip
    if runs_max != 16:
        name, label = f"{name}_runs_{runs_max}", f"{label}, runs_max {runs_max}"
    return Ours(name, label, strategy, rows, columns, kind=kind, runs_max=runs_max)


def wave(strategy: Strategy, by: str, classes: int) -> Ours:
    """A wave index of the thesis: R-ins, R-exp (re-clustered) or D-ins, D-exp (not)."""
    kind = LayoutKind.WAVE_BY_INSERTION if by == "ins" else LayoutKind.WAVE_BY_EXPIRATION
    shape = (classes, 1) if by == "ins" else (1, classes)
    bounds: dict[str, Any] = {} if strategy is Strategy.REBUILD else {"dead_share_max": 1.0, "runs_max": UNBOUNDED}
    letter = _LETTER[strategy]
    contender = Ours(
        f"{letter}_{by}_{classes}", f"wave index {letter}-{by} {classes}", strategy, *shape, kind=kind, **bounds
    )
    contender.family = Family.RIVAL
    return contender


def _squares() -> Iterable[Contender]:
    """Every layout × strategy × n."""
    for side in SQUARES:
        for strategy in Strategy:
            for kind in (LayoutKind.ROUND_ROBIN, LayoutKind.CHRONOLOGICAL, LayoutKind.RANDOMIZED):
                yield ours(strategy, side, side, kind)
                if strategy is Strategy.NO_REBUILD:
                    yield ours(strategy, side, side, kind, bounded=False)
        for strategy in _LETTER:
            for by in ("ins", "exp"):
                yield wave(strategy, by, side * side)


def _others() -> Iterable[Contender]:
    for rows, columns in ((2, 8), (8, 2)):
        for strategy in Strategy:
            yield ours(strategy, rows, columns)
        yield ours(Strategy.NO_REBUILD, rows, columns, bounded=False)
    for columns in (2, 4, 6, 9, 12, 18):
        yield ours(Strategy.EXPIRE_REBUILD, 1, columns)
    for columns in (36, 72):
        yield ours(Strategy.EXPIRE_REBUILD, 1, columns)
        yield ours(Strategy.EXPIRE_REBUILD, 1, columns, bounded=False)
    for runs_max in (4, 5, 7, 8, 32):
        yield ours(Strategy.EXPIRE_REBUILD, 1, 36, runs_max=runs_max)
    yield ours(Strategy.NO_REBUILD, 1, 4)
    yield ours(Strategy.NO_REBUILD, 1, 36)
    yield Unindexed(4)
    yield DeltaAppend()
    yield SortedCopy()
    yield SortedCopy(indexed=False)
    yield DeltaDelete()
    yield DeltaDelete(12)
    yield DeltaZOrder(12)
    yield DeltaByExpiry()
    yield DeltaByExpiry(12)
    yield DeltaByExpiry(tuned=True)
    yield DeltaVectors(12)
    yield DeltaRsByExpiry()
    yield DuckDBFile()
    yield ClickHouse(12)


def catalogue() -> dict[str, Contender]:
    """Fresh contenders, by name."""
    return {one.name: one for one in (*_squares(), *_others())}
