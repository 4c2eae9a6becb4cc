"""The cost of a refresh in this program: nanoseconds per unit of the windows' time, mostly for partial rows.

Final folds are done for all windows of a tree in one pass over its partials, so ranges and slides of members do not add
up as they do in the literature: a tree costs its records, its partial rows written and read, and its answers. What
splits trees is what makes rows many: group-bys and predicates that have little in common.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from fractions import Fraction
from math import gcd, lcm

from tidewheel.indexing.cost import medium
from tidewheel.queries.planning.cost_model import FLOAT_GAIN_MIN, Cost, ModelMaker
from tidewheel.queries.planning.phases import Phases
from tidewheel.queries.planning.population import Detail, Estimate, Fragments
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.signatures import EVERY_ROW, PREDICATES_MAX


@dataclass(frozen=True)
class Amounts:
    """The work per unit of the windows' time; each field names the constant that prices it."""

    trees: float  # refreshed: reading files' names, statements, committing
    records: float  # folded into partial rows
    predicates: float  # tried on records
    written: float  # partial rows
    read: float  # partial rows of a tree of few in many cells: each refresh goes through all of them
    reports: float
    answers: float  # rows of reports

    def priced(self, constants: Constants) -> float:
        return (
            self.trees * constants.tree_ns
            + self.records * constants.record_ns
            + self.predicates * constants.predicate_ns
            + self.written * constants.written_ns
            + self.read * constants.read_ns
            + self.reports * constants.report_ns
            + self.answers * constants.answer_ns
        )

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Constants:
    """Nanoseconds of one core; `refresh` is how often a refresh is, in units of the windows' time."""

    refresh: int
    refresh_ns: float = medium.REFRESH_NS  # of each refresh, whatever it does
    tree_ns: float = medium.TREE_NS
    record_ns: float = medium.RECORD_NS
    predicate_ns: float = medium.PREDICATE_NS
    written_ns: float = medium.WRITTEN_NS
    read_ns: float = medium.READ_NS
    report_ns: float = medium.REPORT_NS
    answer_ns: float = medium.ANSWER_NS


# Up to so many cells for each partial row, and in a fragment, rows lie in a grid that is kept, and a refresh goes
# through new ones only.
CELLS_PER_ROW_MAX = 4
CELLS_MAX = 10_000
# Of a period, at the most: each refresh would look at all of them.
EDGES_MAX = 1_000_000


@dataclass(frozen=True)
class MeasuredState:
    kept: Detail
    longest: int  # range: what a refresh reads
    reports: int  # per common period
    answers: int  # rows of reports per common period
    period: int  # of all slides
    quantum: int  # what divides them


_NO_PHASES: Phases = frozenset()


class MeasuredModel:
    name = "measured"
    alike_always_share = False
    least_gain: Cost = FLOAT_GAIN_MIN

    def __init__(self, workload: Workload, estimate: Estimate, constants: Constants) -> None:
        self._workload, self._estimate, self._constants = workload, estimate, constants
        self._length, self._rate = workload.space.length, float(workload.rate)
        self._known: dict[tuple[int, Detail], tuple[float, float]] = {}
        self.once: Cost = constants.refresh_ns / constants.refresh

    def start(self, position: int) -> MeasuredState:
        request = self._workload.requests[position]
        kept = Detail(frozenset({request.predicate}), request.groups)
        records = self._workload.rate * request.window.length
        rows = self._estimate.entries(kept, request.predicate, Fragments(_NO_PHASES, records))
        reports = self._length // request.window.slide
        slide = request.window.slide
        return MeasuredState(kept, request.window.length, reports, round(rows) * reports, slide, slide)

    def join(self, one: MeasuredState, other: MeasuredState) -> MeasuredState:
        return MeasuredState(
            one.kept.joined(other.kept),
            max(one.longest, other.longest),
            one.reports + other.reports,
            one.answers + other.answers,
            lcm(one.period, other.period),
            gcd(one.quantum, other.quantum),
        )

    def refuses(self, state: MeasuredState) -> bool:
        """A refresh walks along a period's edges; and too many predicates are too many signatures."""
        predicates = state.kept.predicates
        return state.period > EDGES_MAX * state.quantum or len(predicates) - (EVERY_ROW in predicates) > PREDICATES_MAX

    def cost(self, count: int, state: MeasuredState) -> float:
        known = self._known.get((count, state.kept))
        if known is None:
            self._known[count, state.kept] = known = self._without_reports(count, state.kept)
        fixed, read = known
        constants = self._constants
        given = state.reports * constants.report_ns + state.answers * constants.answer_ns
        return fixed + read * state.longest / constants.refresh * constants.read_ns + given / self._length

    def amounts(self, count: int, state: MeasuredState) -> Amounts:
        """Return the amounts of work of a tree."""
        predicates, rows, read = self._predicates_and_rows(count, state.kept)
        return Amounts(
            trees=1 / self._constants.refresh,
            records=self._rate,
            predicates=self._rate * predicates,
            written=rows,
            read=read * state.longest / self._constants.refresh,
            reports=state.reports / self._length,
            answers=state.answers / self._length,
        )

    def _without_reports(self, count: int, kept: Detail) -> tuple[float, float]:
        """Return the cost that depends on edges and `kept` alone, and the partial rows per unit that are read again."""
        constants = self._constants
        predicates, rows, read = self._predicates_and_rows(count, kept)
        amounts = Amounts(1 / constants.refresh, self._rate, self._rate * predicates, rows, 0.0, 0.0, 0.0)
        return amounts.priced(constants), read

    def _predicates_and_rows(self, count: int, kept: Detail) -> tuple[int, float, float]:
        """How many predicates there are, and per unit the partial rows and those of them that are read again."""
        predicates = len(kept.predicates - {EVERY_ROW})
        if predicates > PREDICATES_MAX:
            return predicates, 0.0, 0.0
        # Batches cut fragments too: a fragment longer than a refresh is stored once for each.
        cuts = max(Fraction(count, self._length), Fraction(1, self._constants.refresh))
        fragments = Fragments(_NO_PHASES, self._workload.rate / cuts)
        entries = self._estimate.entries(kept, None, fragments)
        rows = float(cuts) * entries
        return (
            predicates,
            rows,
            rows if self._estimate.cells(kept) > min(CELLS_MAX, CELLS_PER_ROW_MAX * entries) else 0.0,
        )

    def shown(self, cost: Cost) -> float:
        return float(cost)


def measured_model(estimate: Estimate, constants: Constants) -> ModelMaker:
    return lambda workload: MeasuredModel(workload, estimate, constants)
