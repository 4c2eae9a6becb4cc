"""Advice: the strategy and the number of classes for a workload.

`advise` costs every candidate of a grid by closed form. Then it simulates as many as it can in about a second, the
cheapest first, and ranks those by the simulation. If the span is so long that these would be too few to choose from,
the closed forms decide. A candidate that misses a constraint stays in the list with what it misses, behind all that
meet them: so a constraint that nothing meets shows by how much it is missed.

`thesis_advice` is the rule of thumb of the thesis (Golab, Sliding Window Query Processing over Data Streams, Waterloo
2006, chapter 4), for comparison: it knows two sizes of window, two amounts of queries, two strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.cost.estimates import estimate
from tidewheel.indexing.cost.model import MEASURED_MEDIUM, MEGABYTE, MediumCosts, Prediction, Times, predict
from tidewheel.indexing.cost.workloads import Workload

CLASSES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)
SUBINDICES_MAX = 64
FINALISTS = 12
SIMULATED_STEPS_MAX = 1_000_000
RUNS_MAX = 16
DEAD_SHARE_MAX = 0.5


class WindowSize(StrEnum):
    SMALL = "small"
    LARGE = "large"


class QueryLoad(StrEnum):
    FEW = "few"
    MANY = "many"


@dataclass(frozen=True)
class Choice:
    """A strategy with its classes."""

    strategy: Strategy
    insertion_classes: int
    expiration_classes: int


@dataclass(frozen=True)
class ThesisAdvice:
    """The thesis's choice, and what it prefers where probes must be as fast as possible (often the same)."""

    choice: Choice
    fastest_probes: tuple[Choice, ...]


_REBUILD_2 = Choice(Strategy.REBUILD, 2, 2)
_REBUILD_3 = Choice(Strategy.REBUILD, 3, 3)
_NO_REBUILD_2 = Choice(Strategy.NO_REBUILD, 2, 2)
_NO_REBUILD_3 = Choice(Strategy.NO_REBUILD, 3, 3)
_NO_REBUILD_4 = Choice(Strategy.NO_REBUILD, 4, 4)

_THESIS = {
    (WindowSize.SMALL, QueryLoad.FEW): ThesisAdvice(_NO_REBUILD_4, (_NO_REBUILD_4,)),
    (WindowSize.SMALL, QueryLoad.MANY): ThesisAdvice(_REBUILD_2, (_REBUILD_2,)),
    (WindowSize.LARGE, QueryLoad.FEW): ThesisAdvice(_NO_REBUILD_3, (_NO_REBUILD_3,)),
    (WindowSize.LARGE, QueryLoad.MANY): ThesisAdvice(_NO_REBUILD_2, (_REBUILD_2, _REBUILD_3)),
}


def thesis_advice(size: WindowSize, queries: QueryLoad) -> ThesisAdvice:
    """Return the thesis's advice; its small window was 500 MB and its large one 5 GB, on a disk of 2006.

    >>> thesis_advice(WindowSize.SMALL, QueryLoad.FEW).choice.strategy.value
    'no_rebuild'
    """
    return _THESIS[size, queries]


@dataclass(frozen=True)
class Constraints:
    """Bounds that a candidate must keep; None means no bound."""

    probe_seconds_max: float | None = None
    stored_files_max: float | None = None
    dead_share_max: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A generation with the model's figures; `misses` names the constraints that it does not meet."""

    prediction: Prediction
    times: Times
    misses: tuple[str, ...]
    reason: str

    @property
    def generation(self) -> Generation:
        return self.prediction.generation

    @property
    def rank_key(self) -> tuple[Any, ...]:
        """Return the rank: constraints first, then cost; among equals the fewest sub-indices, to fix the order."""
        layout = self.generation.layout
        subindices = layout.insertion_classes * layout.expiration_classes
        equals = (subindices, layout.insertion_classes, self.generation.strategy.value)
        return (len(self.misses), self.times.workload_seconds, *equals, self.generation.runs_max)

    def to_json(self) -> dict[str, Any]:
        return {
            "generation": self.generation.to_json(),
            "method": self.prediction.method.value,
            "prediction": {
                **self.prediction.figures(),
                "write_amplification": self.prediction.write_amplification,
                "dead_share": self.prediction.dead_share,
                "probe_files": self.prediction.probe_files,
            },
            "times": asdict(self.times),
            "misses": list(self.misses),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Advice:
    """The finalists, cheapest first, of so many considered."""

    candidates: tuple[Candidate, ...]
    considered: int

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    def to_json(self) -> dict[str, Any]:
        return {"considered": self.considered, "candidates": [one.to_json() for one in self.candidates]}


def advise(
    workload: Workload, constraints: Constraints = Constraints(), medium: MediumCosts = MEASURED_MEDIUM
) -> Advice:
    """Return the cheapest round-robin layouts for a workload. Cost: some 200 closed forms, a second of simulations.

    >>> from tidewheel.indexing.cost.workloads import uniform
    >>> advice = advise(Workload(14_000, 14e6, uniform(36)), Constraints(dead_share_max=0.0))
    >>> advice.best.prediction.dead_bytes
    0.0
    """
    generations = list(candidate_generations(workload.span, constraints))
    judge = _Judge(workload, constraints, medium)
    ranked = judge.ranked(estimate(workload, one) for one in generations)
    simulable = _simulable(ranked, workload)
    if len(simulable) >= min(FINALISTS, len(ranked)):
        ranked = judge.ranked(predict(workload, one.generation) for one in simulable)
    return Advice(tuple(ranked[:FINALISTS]), considered=len(generations))


def candidate_generations(span: int, constraints: Constraints = Constraints()) -> Iterator[Generation]:
    """Return the grid: small G×E under every strategy, and one column per slot, where expiry only drops files.

    With one column per slot appending never mixes expirations, so `no_rebuild` does the same as `expire_rebuild` and is
    left out. The bound on runs is tried there at its default, at half of it and out of the way: joining costs a rewrite
    and saves probes files to open.
    """
    dead_share_max = DEAD_SHARE_MAX if constraints.dead_share_max is None else constraints.dead_share_max

    def generation(rows: int, columns: int, strategy: Strategy, runs_max: int = RUNS_MAX) -> Generation:
        layout = Layout(LayoutKind.ROUND_ROBIN, rows, columns, span)
        return Generation(1, layout, strategy, min(dead_share_max, DEAD_SHARE_MAX), runs_max)

    for rows in CLASSES:
        for columns in CLASSES:
            if rows <= span and columns < span and rows * columns <= SUBINDICES_MAX:
                yield from (generation(rows, columns, strategy) for strategy in Strategy)
    for rows in (1, 2):
        yield generation(rows, span, Strategy.REBUILD)
        for runs_max in sorted({RUNS_MAX // 2, RUNS_MAX, max(RUNS_MAX, span + 1)}):
            yield generation(rows, span, Strategy.EXPIRE_REBUILD, runs_max)


def _simulable(ranked: list[Candidate], workload: Workload) -> list[Candidate]:
    """Return the first candidates that can be simulated within the allowance.

    A simulation visits, at every update, about the batch's cells and at worst every run.
    """
    cells = len(workload.lifetimes)
    steps = accumulate(4 * workload.span * (cells + one.prediction.stored_runs) for one in ranked)
    return [one for one, needed in zip(ranked, steps, strict=True) if needed <= SIMULATED_STEPS_MAX]


@dataclass(frozen=True)
class _Judge:
    workload: Workload
    constraints: Constraints
    medium: MediumCosts

    def ranked(self, predictions: Iterable[Prediction]) -> list[Candidate]:
        return sorted(map(self._candidate, predictions), key=lambda candidate: candidate.rank_key)

    def _candidate(self, prediction: Prediction) -> Candidate:
        times = self.medium.times(prediction, self.workload)
        misses = tuple(_misses(prediction, times, self.constraints))
        return Candidate(prediction, times, misses, _reason(prediction, times, misses))


def _misses(prediction: Prediction, times: Times, constraints: Constraints) -> Iterator[str]:
    probe_max, files_max, dead_max = (
        constraints.probe_seconds_max,
        constraints.stored_files_max,
        constraints.dead_share_max,
    )
    if probe_max is not None and times.probe_seconds > probe_max:
        yield f"a probe takes {times.probe_seconds * 1e3:.1f} ms, above {probe_max * 1e3:g} ms"
    if files_max is not None and prediction.stored_files > files_max:
        yield f"{prediction.stored_files:.0f} files, above {files_max:g}"
    if dead_max is not None and prediction.dead_share > dead_max:
        yield f"{prediction.dead_share:.1%} of the stored bytes are dead, above {dead_max:.1%}"


def _reason(prediction: Prediction, times: Times, misses: tuple[str, ...]) -> str:
    layout = prediction.generation.layout
    name = f"{prediction.generation.strategy.value} {layout.insertion_classes}×{layout.expiration_classes}"
    rewritten = "rewrites nothing, expired files are dropped unread"
    if prediction.rewritten_bytes >= 0.5:
        rewritten = f"rewrites {prediction.rewritten_bytes / MEGABYTE:.3g} MB an update"
    dead = f"{prediction.dead_share:.0%} of the stored bytes are dead" if prediction.dead_bytes >= 0.5 else ""
    facts = [
        f"{rewritten} (write amplification {prediction.write_amplification:.2f})",
        f"{prediction.probe_files:.0f} files that may answer a probe",
        dead or "no dead bytes stay after an update",
        f"about {times.update_seconds:.2f} s an update and {times.probe_seconds * 1e3:.1f} ms a probe",
    ]
    missed = f"; but {' and '.join(misses)}" if misses else ""
    return f"{name} {'; '.join(facts)}{missed}."
