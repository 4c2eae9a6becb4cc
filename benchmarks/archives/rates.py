"""How many records arrive from slot to slot: constant, fluctuating, or alternating against the layout."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

RATIO = 4  # between the busiest and the quietest slot


@dataclass(frozen=True)
class Rate:
    """constant; fluctuating: at random by up to 4×; alternating: each `period`-th slot has 4× what the others have.

    The total over many slots is the same for all three.
    """

    kind: str = "constant"
    period: int = 0

    def factor(self, slot: int, seed: int) -> float:
        """What the slot gets, as a multiple of the mean.

        >>> round(sum(Rate("alternating", 4).factor(slot, seed=1) for slot in range(4)), 9)
        4.0
        """
        if self.kind == "constant":
            return 1.0
        if self.kind == "fluctuating":
            draw = np.random.default_rng([seed, slot, 7]).random()
            mean = (RATIO**0.5 - RATIO**-0.5) / log(RATIO)
            return float(RATIO ** (draw - 0.5) / mean)
        if self.kind == "alternating":
            unit = self.period / (self.period + RATIO - 1)
            return unit * (RATIO if slot % self.period == 0 else 1)
        raise ValueError(f"a rate of kind {self.kind!r} is not known, known are constant, fluctuating, alternating")


CONSTANT = Rate()
