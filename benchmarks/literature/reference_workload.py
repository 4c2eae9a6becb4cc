"""The pinned random workload of windows on templates from a second to four hours, larger slides the more likely."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tidewheel.queries.planning.workload import Workload, workload_of
from tidewheel.queries.windows import Window

TEMPLATES = (14400, 7200, 3600, 1800, 600, 300, 60, 30, 10, 5, 1)


def reference_windows(size: int, seed: int, overlap_max: float = 50, skew: float = 0.6) -> list[Window]:
    chance = np.random.default_rng(seed)
    weights = np.arange(1, len(TEMPLATES) + 1, dtype=float) ** -skew
    slides = chance.choice(np.array(TEMPLATES), size, p=weights / weights.sum())
    ranges = np.rint(chance.uniform(1, overlap_max, size) * slides)
    return [Window(int(length), int(slide)) for length, slide in zip(ranges, slides, strict=True)]


def reference(size: int, rate: int, seed: int = 1, **options: float) -> Workload:
    return workload_of(reference_windows(size, seed, **options), Fraction(rate))
