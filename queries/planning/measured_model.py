"""What a refresh costs here: nanoseconds per unit of the windows' time, of which partial rows are the most.

Final folds are done for all windows of a tree in one pass over its partials, so ranges and slides of members do not add
up as they do in the literature: a tree costs its records, its partial rows written and read, and its answers. What
splits trees is what makes rows many: group-bys and predicates that have little in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.planning.cost_model import FLOAT_GAIN_MIN, Cost, ModelMaker
from tidewheel.queries.planning.phases import Phases
from tidewheel.queries.planning.population import Estimate, Fragments, Kept
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.signatures import EVERY_ROW, PREDICATES_MAX


@dataclass(frozen=True)
class Constants:
    """Nanoseconds of one core; `refresh` is how often a refresh is, in units of the windows' time."""

    refresh: int
    tree_ns: float = 4e6  # of each tree in each refresh: reading its files' names, committing
    record_ns: float = 40.0  # folding a record into a partial row
    predicate_ns: float = 6.0  # trying a predicate on it
    write_ns: float = 300.0  # a partial row written
    read_ns: float = 45.0  # a partial row read by a refresh, sorted and searched
    answer_ns: float = 120.0  # a row of an answer


@dataclass(frozen=True)
class MeasuredState:
    kept: Kept
    longest: int  # range: what a refresh reads
    answers: int  # rows of answers per common period


_NO_PHASES: Phases = frozenset()


class MeasuredModel:
    name = "measured"
    alike_always_share = False
    least_gain: Cost = FLOAT_GAIN_MIN
    once: Cost = 0.0

    def __init__(self, workload: Workload, estimate: Estimate, constants: Constants) -> None:
        self._workload, self._estimate, self._constants = workload, estimate, constants
        self._length, self._rate = workload.space.length, float(workload.rate)
        self._known: dict[tuple[int, Kept], tuple[float, float]] = {}

    def start(self, position: int) -> MeasuredState:
        request = self._workload.requests[position]
        kept = Kept(frozenset({request.predicate}), request.groups)
        records = self._workload.rate * request.window.length
        rows = self._estimate.entries(kept, request.predicate, Fragments(_NO_PHASES, records))
        return MeasuredState(kept, request.window.length, round(rows) * (self._length // request.window.slide))

    def join(self, one: MeasuredState, other: MeasuredState) -> MeasuredState:
        return MeasuredState(one.kept.joined(other.kept), max(one.longest, other.longest), one.answers + other.answers)

    def cost(self, count: int, state: MeasuredState) -> float:
        fixed, rows = self._rows(count, state.kept)
        constants = self._constants
        read = rows * state.longest / constants.refresh * constants.read_ns
        return fixed + read + state.answers / self._length * constants.answer_ns

    def _rows(self, count: int, kept: Kept) -> tuple[float, float]:
        """What does not depend on ranges, and partial rows per unit."""
        known = self._known.get((count, kept))
        if known is None:
            self._known[count, kept] = known = self._rows_anew(count, kept)
        return known

    def _rows_anew(self, count: int, kept: Kept) -> tuple[float, float]:
        constants = self._constants
        predicates = len(kept.predicates - {EVERY_ROW})
        if predicates > PREDICATES_MAX:
            return float("inf"), 0.0
        # Batches cut fragments too: a fragment longer than a refresh is stored once for each.
        cuts = max(Fraction(count, self._length), Fraction(1, constants.refresh))
        fragments = Fragments(_NO_PHASES, self._workload.rate / cuts)
        rows = float(cuts) * self._estimate.entries(kept, None, fragments)
        records = self._rate * (constants.record_ns + predicates * constants.predicate_ns)
        return constants.tree_ns / constants.refresh + records + rows * constants.write_ns, rows

    def shown(self, cost: Cost) -> float:
        return float(cost)


def measured_model(estimate: Estimate, constants: Constants) -> ModelMaker:
    return lambda workload: MeasuredModel(workload, estimate, constants)
