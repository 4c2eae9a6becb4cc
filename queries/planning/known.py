"""What costs of standing queries are computed from: how many records come, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.planning.cost_model import ModelMaker, PanesModel
from tidewheel.queries.planning.measured_model import Constants, measured_model
from tidewheel.queries.planning.population import Estimate

MODELS = ("measured", "published")


@dataclass(frozen=True)
class Known:
    """`rate` is records per microsecond."""

    rate: Fraction
    estimate: Estimate
    interval_us: int
    constants: Constants | None = None  # of this machine; else typical ones

    def model(self, name: str) -> ModelMaker:
        if name == "published":
            return PanesModel
        return measured_model(self.estimate, self.constants or Constants(refresh=self.interval_us))
