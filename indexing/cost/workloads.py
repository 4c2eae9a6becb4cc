"""A workload in steady state: the records per interval, their lifetimes, and how often they are read.

Lifetimes are a discrete distribution over slots lived: a record of insertion slot i with lifetime d expires
at slot i + d. Lifetime 0 is dead before its own update and never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from tidewheel.indexing.errors import InvalidInput

Lifetimes = tuple[float, ...]  # the share of records that live d slots, at position d


@dataclass(frozen=True)
class Workload:
    """Rows and bytes per interval with their lifetimes, reads per update, and how many records a probe answers.

    >>> Workload(arriving_rows=100, arriving_bytes=1e5, lifetimes=uniform(4)).live_bytes
    250000.0
    """

    arriving_rows: float
    arriving_bytes: float
    lifetimes: Lifetimes
    probes: float = 0.0
    scans: float = 0.0
    probe_rows: float = 1.0

    def __post_init__(self) -> None:
        if min(self.lifetimes, default=-1) < 0 or not isclose(sum(self.lifetimes), 1, rel_tol=1e-6):
            raise InvalidInput(
                f"shares that sum to {sum(self.lifetimes):g} are not a distribution of lifetimes",
                "give shares from 0 to 1 that sum to 1, one for each number of slots lived from 0",
            )
        if not any(self.lifetimes[1:]):
            raise InvalidInput("no record lives to its own update", "choose a shorter interval")
        if self.arriving_rows <= 0 or self.arriving_bytes <= 0 or self.probes < 0 or self.scans < 0:
            raise InvalidInput(
                f"{self.arriving_rows:g} rows and {self.arriving_bytes:g} bytes per interval, "
                f"{self.probes:g} probes and {self.scans:g} scans per update are not a workload",
                "give rows and bytes above zero, and reads of zero or more",
            )
        if self.probe_rows <= 0:
            raise InvalidInput(
                f"a probe that answers {self.probe_rows:g} records is not possible", "give a mean above zero"
            )

    @property
    def span(self) -> int:
        """Return the longest lifetime that occurs, in slots."""
        return max(lifetime for lifetime, share in enumerate(self.lifetimes) if share)

    @property
    def row_bytes(self) -> float:
        return self.arriving_bytes / self.arriving_rows

    @property
    def stored_bytes(self) -> float:
        """Return the bytes that one batch brings to store: all but the short-lived."""
        return self.arriving_bytes * sum(self.lifetimes[1:])

    @property
    def live_bytes(self) -> float:
        """Return the live bytes after an update: batch k−j still holds the records that live longer than j slots."""
        return self.arriving_bytes * sum(d * share for d, share in enumerate(self.lifetimes))

    @property
    def keys(self) -> float:
        """Return the distinct keys among the live records, if all have equally many."""
        return max(1.0, self.live_bytes / self.row_bytes / self.probe_rows)

    def batch(self, slot: int) -> dict[int, float]:
        """Return the bytes of a slot's batch by expiration slot."""
        return {slot + d: share * self.arriving_bytes for d, share in enumerate(self.lifetimes) if d > 0 and share > 0}


def uniform(span: int) -> Lifetimes:
    """Return a workload with every number of slots from 1 to the span equally often.

    >>> uniform(2)
    (0.0, 0.5, 0.5)
    """
    _check_slots(span)
    return (0.0, *[1 / span] * span)


def constant(slots: int) -> Lifetimes:
    """Return a workload whose records all live equally long.

    >>> constant(2)
    (0.0, 0.0, 1.0)
    """
    _check_slots(slots)
    return (*[0.0] * slots, 1.0)


def bimodal(short: int, long: int, long_share: float) -> Lifetimes:
    """Return a workload of two retention classes.

    >>> bimodal(1, 3, 0.25)
    (0.0, 0.75, 0.0, 0.25)
    """
    _check_slots(short)
    if not (short < long and 0 < long_share < 1):
        raise InvalidInput(
            f"{long_share:g} living {long} slots and the rest {short} are not two classes",
            "give a long lifetime above the short one, and a share between 0 and 1",
        )
    lifetimes = [0.0] * (long + 1)
    lifetimes[short], lifetimes[long] = 1 - long_share, long_share
    return tuple(lifetimes)


def heavy_tailed(span: int, exponent: float = 2.0) -> Lifetimes:
    """Return shares that fall as a power of the lifetime: most records go soon, a few stay for the whole span.

    >>> [round(share, 3) for share in heavy_tailed(3)]
    [0.0, 0.735, 0.184, 0.082]
    """
    _check_slots(span)
    if exponent <= 0:
        raise InvalidInput(f"an exponent of {exponent:g} has no falling tail", "give an exponent above zero")
    weights = [lifetime**-exponent for lifetime in range(1, span + 1)]
    total = sum(weights)
    return (0.0, *(weight / total for weight in weights))


def _check_slots(slots: int) -> None:
    if slots < 1:
        raise InvalidInput(f"a lifetime of {slots} slots is not possible", "give 1 slot or more")
