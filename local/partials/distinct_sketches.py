"""HyperLogLog sketches of Apache DataSketches, in the format that its other languages and engines read too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from tidewheel.local.partials.quantile_sketches import KllSketches
from tidewheel.queries.operations.approximate import DistinctSketches, Plain

REGISTERS_LOG2 = 14
STANDARD_DEVIATIONS = 2  # 95 times of 100


@dataclass(frozen=True)
class HllSketches:
    """See `DistinctSketches`. A few values are kept as they are; the largest sketch has 8 kB."""

    def sketch(self, values: Sequence[Plain], sketches: Sequence[bytes]) -> bytes:
        from datasketches import HLL_4, hll_sketch, hll_union

        fresh = hll_sketch(REGISTERS_LOG2, HLL_4)
        for value in values:
            fresh.update(value)
        union = hll_union(REGISTERS_LOG2)
        for one in (fresh, *map(hll_sketch.deserialize, sketches)):
            union.update(one)
        return bytes(union.get_result(HLL_4).serialize_compact())

    def estimate(self, sketch: bytes) -> float:
        from datasketches import hll_sketch

        return float(hll_sketch.deserialize(sketch).get_estimate())

    @property
    def error(self) -> float:
        from datasketches import hll_sketch

        return abs(float(hll_sketch.get_rel_err(False, True, REGISTERS_LOG2, STANDARD_DEVIATIONS)))

    @property
    def quantiles(self) -> KllSketches:
        return KllSketches()


@cache
def installed() -> DistinctSketches | None:
    """The library's sketches, if it is installed."""
    return HllSketches() if find_spec("datasketches") else None
