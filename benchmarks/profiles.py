"""What each profile runs: races over streams, and experiments beside them.

quick      one race at 14,000 records of 1 kB per slot, 36 slots, 100 keys: what can be told in five minutes
standard   the same with everyone, sweeps over n, other streams, and a race with 1 GB live and 100,000 keys
full       every layout × strategy × n at the sizes of the thesis, 500 MB and 5 GB written per span
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.contenders.catalogue import SQUARES
from benchmarks.lifetimes import Lifetime
from benchmarks.race import Race
from benchmarks.rates import Rate
from benchmarks.stream import Stream

SMALL = Stream(rows=14_000)
# 36 slots of uniform lives: 1.3 GB live as they arrive, 1.1 GB as they are stored.
LARGE = Stream(rows=72_000, keys=100_000)
FEW_ROWS = Stream(rows=10)

_RIVALS = (
    "delta_delete",
    "delta_delete_optimize_12",
    "delta_zorder_12",
    "delta_by_expiry",
    "delta_by_expiry_optimize_12",
    "delta_by_expiry_tuned",
    "delta_vectors_purge_12",
    "delta_rs_by_expiry",
    "duckdb_file",
    "clickhouse_ttl_12",
)
_YARDSTICKS = ("delta_append", "sorted_copy", "unsorted_copy")
_BEST_OF_OURS = (
    "rr_expire_rebuild_1x4",
    "rr_expire_rebuild_1x6",
    "rr_expire_rebuild_1x12",
    "rr_expire_rebuild_1x36",
    "rr_expire_rebuild_1x36_runs_4",
    "rr_expire_rebuild_1x36_runs_8",
    "rr_expire_rebuild_1x36_unbounded",
    "rr_no_rebuild_1x4",
    "rr_no_rebuild_4x4",
    "rr_no_rebuild_4x4_unbounded",
    "rr_rebuild_4x4",
)


@dataclass(frozen=True)
class Profile:
    """Races in order, whether the command line is timed cold, and the updates of the long run."""

    name: str
    races: tuple[Race, ...]
    cold_commands: int = 3

    def contenders(self) -> int:
        return sum(len(race.contenders) for race in self.races)


def _quick() -> Profile:
    contenders = (
        "delta_append",
        "rr_expire_rebuild_1x4",
        "rr_rebuild_4x4",
        "rr_no_rebuild_4x4",
        "delta_delete",
        "delta_by_expiry",
        "sorted_copy",
    )
    return Profile(
        "quick",
        (
            Race("small", SMALL, contenders, updates=6, reads_every=2),
            Race("few_rows", FEW_ROWS, ("rr_expire_rebuild_1x4", "delta_append"), updates=12),
            Race("long", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=48, reads_every=12),
        ),
        cold_commands=1,
    )


def _standard() -> Profile:
    return Profile(
        "standard",
        (
            Race("small", SMALL, _once(*_YARDSTICKS, *_BEST_OF_OURS, *_sweep(), *_RIVALS)),
            Race("balance", SMALL, tuple(_balance()), updates=36, probes=2, scans=2),
            Race("large", LARGE, (*_YARDSTICKS, *_BEST_OF_OURS, "R_ins_16", *_RIVALS), updates=6),
            *_few_rows(updates=2_000),
            *_growth(),
            *_streams(SMALL),
        ),
    )


def _full() -> Profile:
    every = _once(*_YARDSTICKS, *_BEST_OF_OURS, *_all_layouts(), *_RIVALS)
    thesis = [
        Race(name, Stream(rows=rows, seed=2), every, updates=36, probes=1)
        for name, rows in (("thesis_500_mb", 500_000 // 36), ("thesis_5_gb", 5_000_000 // 36))
    ]
    return Profile("full", (*thesis, *_standard().races))


def _once(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _sweep() -> Iterable[str]:
    """Figures 4.4 to 4.11: updates, probes and scans by n, for the thesis's systems and for ours."""
    for side in SQUARES[1:]:
        yield f"rr_rebuild_{side}x{side}"
        yield f"rr_no_rebuild_{side}x{side}_unbounded" if side == 4 else f"rr_no_rebuild_{side}x{side}"
    for n in (4, 9, 16):
        yield from (f"R_ins_{n}", f"R_exp_{n}")
    yield from ("D_ins_16", "D_exp_16", "rnd_rebuild_4x4")
    yield from ("rr_rebuild_1x1", "rr_rebuild_2x8", "rr_rebuild_8x2", "rr_expire_rebuild_4x4")


def _balance() -> Iterable[str]:
    """Round-robin against chronological: the latter's cost moves through a whole span, so all of one is measured."""
    for side in (2, 3, 4):
        yield from (f"rr_rebuild_{side}x{side}", f"chr_rebuild_{side}x{side}")
    yield from ("R_ins_16", "R_exp_16")


def _all_layouts() -> Iterable[str]:
    for side in SQUARES:
        for strategy in ("rebuild", "no_rebuild", "expire_rebuild"):
            yield from (f"{kind}_{strategy}_{side}x{side}" for kind in ("rr", "chr", "rnd"))
        yield from (f"{letter}_{by}_{side * side}" for letter in "RD" for by in ("ins", "exp"))
    yield from (f"rr_{strategy}_{shape}" for strategy in ("rebuild", "no_rebuild") for shape in ("2x8", "8x2"))


def _few_rows(updates: int) -> Iterable[Race]:
    """The fixed part of an update, and an archive that lives long."""
    yield Race("few_rows", FEW_ROWS, ("rr_expire_rebuild_1x4", "rr_no_rebuild_4x4", "delta_append"), updates=30)
    yield Race("long", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=updates, reads_every=20)


def _growth() -> Iterable[Race]:
    """Eight times the live data, at the same measured batch."""
    for factor in (1, 2, 4, 8):
        stream = Stream(rows=3_500, keys=10_000, head_factor=factor)
        yield Race(f"growth_{factor}", stream, ("rr_expire_rebuild_1x36_unbounded",), updates=12)


def _streams(base: Stream) -> Iterable[Race]:
    """Other lifetimes, rates and record sizes; the last two tell bytes from rows in the cost model."""
    few = ("rr_expire_rebuild_1x4", "rr_expire_rebuild_1x12", "rr_no_rebuild_4x4", "rr_rebuild_4x4")
    rates = ("rr_rebuild_4x4", "chr_rebuild_4x4", "R_ins_16")
    for kind in ("constant", "bimodal", "heavy_tailed"):
        yield Race(kind, Stream(base.rows, lifetime=Lifetime(kind)), few, updates=8)
    yield Race("fluctuating", Stream(base.rows, rate=Rate("fluctuating")), rates, updates=12)
    alternating = ("rr_rebuild_4x4", "rnd_rebuild_4x4", "chr_rebuild_4x4")
    yield Race("alternating", Stream(base.rows, rate=Rate("alternating", 4)), alternating, updates=12)
    yield Race("skewed_keys", Stream(base.rows, keys=100_000, key_skew=1.1), few[:2], updates=8)
    yield Race("short_records", Stream(base.rows * 4, record_bytes=100, keys=10_000), few, updates=8)


def profiles() -> dict[str, Profile]:
    return {one.name: one for one in (_quick(), _standard(), _full())}
