"""What each profile runs: races over streams, and experiments beside them.

quick      one race at 14,000 records of 1 kB per slot, 36 slots, 100 keys: what can be told in five minutes
standard   the same with every rival, sweeps over n, other streams, and a race with 1 GB live and 100,000 keys
full       beside these the sizes of the thesis, 500 MB written per span with every layout × strategy × n, 5 GB by n,
           and streams of other lifetimes, rates and keys; rivals at 500 MB are in the standard profile's race `small`
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.archives.lifetimes import Lifetime
from benchmarks.archives.rates import Rate
from benchmarks.archives.stream import Stream
from benchmarks.contenders.catalogue import SQUARES
from benchmarks.harness.race import Race

SMALL = Stream(rows=14_000)
# 36 slots of uniform lives: 1.3 GB live as they arrive, 1.1 GB as they are stored.
LARGE = Stream(rows=72_000, keys=100_000)
FEW_ROWS = Stream(rows=10)

_RIVALS = (
    "delta_delete",
    "delta_zorder_12",
    "delta_by_expiry",
    "delta_by_expiry_optimize_12",
    "delta_vectors_purge_12",
    "delta_rs_by_expiry",
    "duckdb_file",
    "clickhouse_ttl_12",
)
_YARDSTICKS = ("delta_append", "sorted_copy")
# What one would really choose from.
_BEST_OF_OURS = (
    "rr_expire_rebuild_1x4",
    "rr_expire_rebuild_1x12",
    "rr_expire_rebuild_1x36_runs_7",
    "rr_no_rebuild_4x4",
    "rr_rebuild_4x4",
)
# Of those that append, each with joins and without.
_LARGE_OURS = (
    "rr_expire_rebuild_1x4",
    "rr_expire_rebuild_1x36_runs_7",
    "rr_expire_rebuild_1x36_unbounded",
    "rr_no_rebuild_4x4",
    "rr_no_rebuild_4x4_unbounded",
    "rr_rebuild_4x4",
)
# Those that the goals name; the others would take longer than three quarters of an hour.
_LARGE_RIVALS = ("R_ins_16", "R_exp_16", "delta_delete", "delta_by_expiry")
# At 5 GB: the thesis's systems and ours by n, and who is asked about first.
_AT_5_GB = (
    "delta_append",
    "delta_by_expiry",
    "rr_rebuild_4x4",
    "R_ins_16",
    "R_exp_16",
    "rr_expire_rebuild_1x4",
    "rr_expire_rebuild_1x36_unbounded",
    "chr_rebuild_4x4",
    "rr_rebuild_2x8",
    "rr_rebuild_8x2",
    "unindexed_rr_rebuild_4x4",
    "rr_rebuild_2x2",
    "rr_rebuild_3x3",
    "rr_rebuild_5x5",
    "rr_no_rebuild_3x3_unbounded",
)
_OF_INTEREST_AT_500_MB = (
    *_YARDSTICKS,
    "unsorted_copy",
    "delta_by_expiry",
    "delta_by_expiry_tuned",
    "delta_delete_optimize_12",
    "unindexed_rr_rebuild_4x4",
    *_BEST_OF_OURS,
    "rr_expire_rebuild_1x6",
    "rr_expire_rebuild_1x36_unbounded",
    "rr_expire_rebuild_1x36_runs_4",
    "rr_no_rebuild_1x4",
)
# As the thesis has it: nothing is rewritten for its runs or its dead share.
_THESIS_STRATEGIES = {"rebuild": "", "no_rebuild": "_unbounded", "expire_rebuild": ""}


@dataclass(frozen=True)
class Profile:
    """Races in order, and how often the command line is timed cold."""

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
            Race("small", SMALL, contenders, updates=6, reads_every=3),
            Race("few_rows", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=12, reads_every=4),
            Race("long", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=48, reads_every=12),
        ),
        cold_commands=0,
    )


def _standard() -> Profile:
    return Profile(
        "standard",
        (
            Race("small", SMALL, _once(*_YARDSTICKS, *_BEST_OF_OURS, *_sweep(), *_RIVALS), reads_every=4, scans=2),
            Race("large", LARGE, (*_YARDSTICKS, *_LARGE_OURS, *_LARGE_RIVALS), updates=4, scans=3),
            _balance((4,)),
            *_few_rows(updates=2_000),
            *_growth((1, 8)),
            _short_records(SMALL),
        ),
        cold_commands=1,
    )


def _full() -> Profile:
    sweep = _once(*_OF_INTEREST_AT_500_MB, *_all_layouts())
    thesis = (
        Race("thesis_500_mb", Stream(rows=500_000 // 36, seed=2), sweep, updates=4, reads_every=2, probes=6, scans=2),
        Race(
            "thesis_5_gb", Stream(rows=5_000_000 // 36, seed=2), _AT_5_GB, updates=3, reads_every=3, probes=6, scans=1
        ),
    )
    return Profile("full", (*thesis, _balance((2, 4)), *_growth((2, 4)), *_other_streams(SMALL)), cold_commands=0)


def _once(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _sweep() -> Iterable[str]:
    """Figures 4.4 to 4.11: updates, probes and scans by n, for the thesis's systems and for ours; the ends of each."""
    yield from ("rr_rebuild_1x1", "rr_rebuild_6x6", "rr_no_rebuild_2x2", "rr_expire_rebuild_1x36_unbounded")
    yield from ("R_ins_16", "D_ins_16")


def _balance(sides: Iterable[int]) -> Race:
    """Round-robin against chronological: the latter's cost moves through a whole span, so all of one is measured."""
    pairs = tuple(f"{kind}_rebuild_{side}x{side}" for side in sides for kind in ("rr", "chr"))
    return Race("balance", SMALL, pairs, updates=36, reads_every=12, probes=2, scans=1, cold_probes=0)


def _all_layouts() -> Iterable[str]:
    """Every layout × strategy × n; with n = 1 all layouts are the same."""
    for strategy, bounds in _THESIS_STRATEGIES.items():
        yield f"rr_{strategy}_1x1{bounds}"
        yield from (f"{kind}_{strategy}_{side}x{side}{bounds}" for side in SQUARES[1:] for kind in ("rr", "chr", "rnd"))
        if strategy != "expire_rebuild":
            yield from (f"rr_{strategy}_{shape}{bounds}" for shape in ("2x8", "8x2"))
    yield from (f"{letter}_{by}_{side * side}" for side in SQUARES[1:] for letter in "RD" for by in ("ins", "exp"))


def _few_rows(updates: int) -> Iterable[Race]:
    """The fixed part of an update, and an archive that lives long."""
    yield Race("few_rows", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=20)
    yield Race("long", FEW_ROWS, ("rr_expire_rebuild_1x4",), updates=updates, reads_every=50)


def _growth(factors: Iterable[int]) -> Iterable[Race]:
    """More and more live data, at the same measured batch."""
    for factor in factors:
        stream = Stream(rows=3_500, keys=10_000, head_factor=factor)
        yield Race(f"growth_{factor}", stream, ("rr_expire_rebuild_1x36_unbounded",), updates=12, reads_every=4)


# What the cost model's choice is judged by: four to choose from.
_CHOICE = ("rr_expire_rebuild_1x4", "rr_expire_rebuild_1x12", "rr_no_rebuild_4x4", "rr_rebuild_4x4")


def _short_records(base: Stream) -> Race:
    """They tell bytes from rows in the cost model."""
    short = Stream(base.rows * 4, record_bytes=100, keys=10_000)
    return Race("short_records", short, _CHOICE, updates=6, reads_every=3, scans=2)


def _other_streams(base: Stream) -> Iterable[Race]:
    """Other lifetimes, rates and keys."""
    for kind in ("constant", "bimodal", "heavy_tailed"):
        yield Race(kind, Stream(base.rows, lifetime=Lifetime(kind)), _CHOICE, updates=6, reads_every=3, scans=2)
    rates = ("rr_rebuild_4x4", "chr_rebuild_4x4", "R_ins_16")
    yield Race("fluctuating", Stream(base.rows, rate=Rate("fluctuating")), rates, updates=12)
    alternating = Stream(base.rows, rate=Rate("alternating", 4))
    yield Race("alternating", alternating, rates[:2], updates=8, reads_every=4, scans=1)
    yield Race("skewed_keys", Stream(base.rows, keys=100_000, key_skew=1.1), _CHOICE[:2], updates=8)


def profiles() -> dict[str, Profile]:
    return {one.name: one for one in (_quick(), _standard(), _full())}
