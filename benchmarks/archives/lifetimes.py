"""How long records live: four distributions over (0, S]."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

KINDS = ("uniform", "constant", "bimodal", "heavy_tailed")
SHORT_SHARE = 1 / 12  # of S: the life of the short class of `bimodal`
LONG_PLAN_SHARE = 0.25  # of the records: those of its long class
TAIL_START = 0.25  # of a slot: the shortest life of `heavy_tailed`, whose density falls with the square


@dataclass(frozen=True)
class Lifetime:
    """A distribution of lifetimes; `top` is the longest one as a share of the span.

    uniform       every life in (0, top·S] equally likely
    constant      everyone lives top·S
    bimodal       two plans: three quarters live S/12, a quarter lives top·S
    heavy_tailed  most go soon, a few stay for the whole span
    """

    kind: str = "uniform"
    top: float = 1.0

    def draw(self, chance: np.random.Generator, rows: int, span_us: int, interval_us: int) -> np.ndarray:
        """Lives in microseconds, at least one and at most the span."""
        longest = max(1, int(span_us * self.top))
        if self.kind == "uniform":
            return chance.integers(1, longest + 1, rows)
        if self.kind == "constant":
            return np.full(rows, longest)
        if self.kind == "bimodal":
            return np.where(chance.random(rows) < LONG_PLAN_SHARE, longest, max(1, int(span_us * SHORT_SHARE)))
        if self.kind == "heavy_tailed":
            least = TAIL_START * interval_us
            lives = least / (1 - chance.random(rows) * (1 - least / longest))
            return np.clip(lives.astype(np.int64), 1, longest)
        raise ValueError(f"lifetimes of kind {self.kind!r} are not known, known are {', '.join(KINDS)}")

    def mean_share(self) -> float:
        """The mean life as a share of the span; for `heavy_tailed` of a span of 36 slots."""
        if self.kind == "uniform":
            return self.top / 2
        if self.kind == "bimodal":
            return LONG_PLAN_SHARE * self.top + (1 - LONG_PLAN_SHARE) * SHORT_SHARE
        if self.kind == "heavy_tailed":
            least = TAIL_START / 36
            return least * log(self.top / least) / (1 - least / self.top)
        return self.top


UNIFORM = Lifetime()
