"""The published cost with predicates and group-bys: final operations times the partial rows a query meets per fragment.

    rate of records that satisfy any member × 1  +  edge rate × sum over members of (range / slide × rows per fragment)

The literature shares across predicates and group-bys without a formula; this one is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.planning.cost_model import FLOAT_GAIN_MIN, Cost, ModelMaker
from tidewheel.queries.planning.phases import Phases
from tidewheel.queries.planning.population import Detail, Fragments, Population
from tidewheel.queries.planning.workload import Workload


@dataclass(frozen=True)
class GroupedState:
    members: tuple[int, ...]
    kept: Detail
    phases: Phases


class GroupedModel:
    name = "published, with predicates and groups"
    alike_always_share = False
    least_gain: Cost = FLOAT_GAIN_MIN
    once: Cost = 0

    def __init__(self, workload: Workload, population: Population) -> None:
        self._workload, self._population = workload, population

    def start(self, position: int) -> GroupedState:
        request = self._workload.requests[position]
        kept = Detail(frozenset({request.predicate}), request.groups)
        return GroupedState((position,), kept, self._workload.phases[position])

    def join(self, one: GroupedState, other: GroupedState) -> GroupedState:
        members = tuple(sorted(one.members + other.members))
        return GroupedState(members, one.kept.joined(other.kept), one.phases | other.phases)

    def refuses(self, _: GroupedState) -> bool:
        return False

    def cost(self, count: int, state: GroupedState) -> Cost:
        rate = Fraction(count, self._workload.space.length)
        fragments = Fragments(state.phases, self._workload.rate / rate)
        read: Cost = 0
        for position in state.members:
            request = self._workload.requests[position]
            overlap = Fraction(request.window.length, request.window.slide)
            read += overlap * self._population.entries(state.kept, request.predicate, fragments)
        return self._workload.rate * self._population.share(state.kept.predicates) + rate * read

    def shown(self, cost: Cost) -> Cost:
        return cost


def grouped_model(population: Population) -> ModelMaker:
    return lambda workload: GroupedModel(workload, population)
