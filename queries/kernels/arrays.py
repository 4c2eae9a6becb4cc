"""The kinds of arrays that the kernels pass around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Real = NDArray[np.float64]
Truth = NDArray[np.bool_]
Numbers = NDArray[Any]


def int64s(array: Any) -> Whole:
    """An Arrow array of whole numbers, or of moments, without NULL."""
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)
