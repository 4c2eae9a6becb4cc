"""The wall clock, in one place; everything else takes the moment as an argument."""

import time


def now_us() -> int:
    """Return now, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000
