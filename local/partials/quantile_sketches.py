"""KLL sketches of Apache DataSketches, in the format that its other languages and engines read too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.queries.operations.approximate import Entry

K = 200  # at most 5 kB


@dataclass(frozen=True)
class KllSketches:
    """See `QuantileSketches`."""

    def sketch(self, values: Sequence[float], sketches: Sequence[bytes]) -> bytes:
        from datasketches import kll_doubles_sketch

        made = kll_doubles_sketch(K)
        for value in values:
            made.update(value)
        for one in map(kll_doubles_sketch.deserialize, sketches):
            made.merge(one)
        return bytes(made.serialize())

    def entries(self, sketch: bytes) -> Sequence[Entry]:
        from datasketches import kll_doubles_sketch

        return [(value, int(weight)) for value, weight in kll_doubles_sketch.deserialize(sketch)]

    def ends(self, sketch: bytes) -> tuple[float, float]:
        from datasketches import kll_doubles_sketch

        read = kll_doubles_sketch.deserialize(sketch)
        return read.get_min_value(), read.get_max_value()

    @property
    def error(self) -> float:
        from datasketches import kll_doubles_sketch

        return float(kll_doubles_sketch.get_normalized_rank_error(K, False))
