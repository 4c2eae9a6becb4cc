"""Time-decay models: a value's weight falls with its age (section 2.1.2).

A window is the case of 0 and 1: full weight until T, none after. Exponential decay halves every half-life and can be
kept as one number and its time: total × 2^(-age/half-life). Polynomial decay, (age + 1)^-power, cannot: it reads a
histogram of ages, here one total a tick. Cost of a value O(1); of an answer O(1), O(ticks).

No listing is printed: the survey names both kinds of decay.
"""

from __future__ import annotations

from collections import Counter


class ExponentialDecay:
    """
    >>> total = ExponentialDecay(half_life=10)
    >>> total.add(8, at=0); total.add(1, at=10)
    >>> total.total(10), total.total(20), total.average(20)
    (5.0, 2.5, 3.3333333333333335)
    """

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._sum = self._weights = 0.0
        self._at = 0.0

    def _factor(self, now: float) -> float:
        return float(2 ** ((self._at - now) / self._half_life))

    def add(self, value: float, at: float) -> None:
        """Take a value in; times may come in any order."""
        if at > self._at:
            factor = self._factor(at)
            self._sum, self._weights, self._at = self._sum * factor, self._weights * factor, at
        weight = 2 ** ((at - self._at) / self._half_life)
        self._sum += value * weight
        self._weights += weight

    def total(self, now: float) -> float:
        return self._sum * self._factor(now)

    def average(self, now: float) -> float | None:
        """Return the mean by weight; it does not change while nothing comes."""
        return self._sum / self._weights if self._weights else None


class PolynomialDecay:
    """
    >>> total = PolynomialDecay(power=1)
    >>> total.add(8, at=0); total.add(1, at=3)
    >>> total.total(3)
    3.0
    """

    def __init__(self, power: float) -> None:
        self._power = power
        self._by_tick: Counter[int] = Counter()

    def add(self, value: int, at: int) -> None:
        self._by_tick[at] += value

    def total(self, now: int) -> float:
        weighed = (value * (now - at + 1) ** -self._power for at, value in self._by_tick.items() if at <= now)
        return float(sum(weighed))
