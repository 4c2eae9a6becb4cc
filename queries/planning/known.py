"""The facts that costs of standing queries are computed from: how many records come, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.cost_model import ModelMaker, PanesModel
from tidewheel.queries.planning.measured_model import Constants, measured_model
from tidewheel.queries.planning.omega_model import omega_model
from tidewheel.queries.planning.omegas import OMEGAS, Form
from tidewheel.queries.planning.population import Estimate

MODELS = ("measured", "published", "exact")
PANES = "Panes"


@dataclass(frozen=True)
class Known:
    """`rate` is records per microsecond."""

    rate: Fraction
    estimate: Estimate
    interval_us: int
    constants: Constants | None = None  # of this machine; else typical ones

    def model(self, name: str, technique: str = PANES) -> ModelMaker:
        """Seconds of work here, or the operations of a technique: as the literature has them, or exactly."""
        known = technique_of(technique)
        if name != "measured":
            return PanesModel if (name, known) == ("published", PANES) else omega_model(known, Form(name))
        if known != PANES:
            raise InvalidInput(
                f"the measured cost is in seconds, not in operations of {known}",
                "add --model published or --model exact",
            )
        return measured_model(self.estimate, self.constants or Constants(refresh=self.interval_us))


def technique_of(name: str) -> str:
    """Return the name of a technique whose operations are known.

    >>> technique_of("flatfit")
    'FlatFIT'
    """
    found = next((one for one in OMEGAS if one.lower() == name.lower()), None)
    if found is None:
        raise InvalidInput(f"no operations of technique {name!r} are known", f"there are those of {', '.join(OMEGAS)}")
    return found
