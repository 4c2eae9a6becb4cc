"""Every contender beside ours, in the order in which they are raced."""

from __future__ import annotations

from benchmarks.standing.clickhouse_views import ClickHouseViews
from benchmarks.standing.delta_merge import DeltaMerge
from benchmarks.standing.polars_rolling import PolarsRolling
from benchmarks.standing.recomputed import Recomputed
from benchmarks.standing.rival import Rival
from benchmarks.standing.rolled_up import Prefixes, RolledUp, RolledUpTogether
from benchmarks.standing.spark_windows import SparkWindows

RIVALS: tuple[type[Rival], ...] = (
    Recomputed, RolledUp, RolledUpTogether, Prefixes, PolarsRolling, ClickHouseViews, DeltaMerge, SparkWindows,
)  # fmt: skip
