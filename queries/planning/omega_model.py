"""The literature's cost with final operations of any technique: not additive, so each tree is asked anew."""

from __future__ import annotations

from fractions import Fraction

from tidewheel.queries.planning.cost_model import FLOAT_GAIN_MIN, Cost, Levels, ModelMaker, composite_count
from tidewheel.queries.planning.omegas import OMEGAS, Form, Omega
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.windows import Window


class OmegaModel:
    alike_always_share = False

    def __init__(self, workload: Workload, name: str, omega: Omega, levels: Levels) -> None:
        self.name = name
        self._length = workload.space.length
        self._windows = [frozenset({one.window}) for one in workload.requests]
        self._omega = omega
        exact = all(isinstance(omega(Fraction(1), windows), Fraction) for windows in self._windows[:1])
        self.least_gain: Cost = 0 if exact else FLOAT_GAIN_MIN
        self.once: Cost = Fraction(0)
        self._per_tree = workload.rate
        if levels is Levels.THREE:
            self.once, self._per_tree = workload.rate, Fraction(composite_count(workload), self._length)

    def start(self, position: int) -> frozenset[Window]:
        return self._windows[position]

    def join(self, one: frozenset[Window], other: frozenset[Window]) -> frozenset[Window]:
        return one | other

    def refuses(self, _: frozenset[Window]) -> bool:
        return False

    def cost(self, count: int, state: frozenset[Window]) -> Cost:
        rate = Fraction(count, self._length)
        return self._per_tree + rate * self._omega(rate, state)

    def shown(self, cost: Cost) -> Cost:
        return cost


def omega_model(technique: str, form: Form, levels: Levels = Levels.TWO) -> ModelMaker:
    """The model of a technique, to make a loom with."""
    return lambda workload: OmegaModel(workload, f"{form.value}, {technique}", OMEGAS[technique][form], levels)
