"""The cost model: figures per update of a layout and a strategy in steady state, and a time.

`predict` simulates updates until the archive is steady and averages over whole periods of the layout; it
knows every layout, strategy and bound. `estimates.estimate` gives the same figures by closed form, roughly,
at once.

The time is a sum of figures × constants, which `medium` holds as the benchmarks measured them, on a machine with two
cores and a local disk. Another machine needs its own table; ranks are steadier than seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from math import ceil, exp

from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS, Generation, Layout, LayoutKind
from tidewheel.indexing.cost import medium
from tidewheel.indexing.cost.balance import period_slots
from tidewheel.indexing.cost.simulation import Simulation
from tidewheel.indexing.cost.workloads import Workload
from tidewheel.indexing.errors import InvalidInput

MEGABYTE = 1_000_000


class Method(StrEnum):
    SIMULATED = "simulated"
    CLOSED_FORM = "closed_form"


@dataclass(frozen=True)
class Prediction:
    """Steady-state means per update (touched to written files) and after an update (the stored ones)."""

    generation: Generation
    method: Method
    touched_subindices: float
    appended_bytes: float
    rewritten_bytes: float
    read_bytes: float
    written_files: float
    stored_files: float
    stored_runs: float
    live_bytes: float
    dead_bytes: float

    def figures(self) -> dict[str, float]:
        """Return the predicted numbers by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("generation", "method")}

    @property
    def write_amplification(self) -> float:
        """Return the bytes written per byte that arrived to stay."""
        return 1 + self.rewritten_bytes / self.appended_bytes

    @property
    def dead_share(self) -> float:
        return self.dead_bytes / (self.live_bytes + self.dead_bytes)

    @property
    def probe_files(self) -> float:
        """Return how many files' filters a probe of one key checks: one of each run, whose files are key ranges."""
        return self.stored_runs


@dataclass(frozen=True)
class Times:
    """Modelled seconds of one update, one probe, one scan, and of an update with all its reads."""

    update_seconds: float
    probe_seconds: float
    scan_seconds: float
    workload_seconds: float


@dataclass(frozen=True)
class MediumCosts:
    """The medium's seconds for each thing done."""

    update_seconds: float = medium.UPDATE_SECONDS
    written_file_seconds: float = medium.WRITTEN_FILE_SECONDS
    written_megabyte_seconds: float = medium.WRITTEN_MEGABYTE_SECONDS
    read_megabyte_seconds: float = medium.READ_MEGABYTE_SECONDS
    sorted_row_seconds: float = medium.SORTED_ROW_SECONDS
    probe_seconds: float = medium.PROBE_SECONDS
    checked_file_seconds: float = medium.CHECKED_FILE_SECONDS
    opened_file_seconds: float = medium.OPENED_FILE_SECONDS
    searched_group_seconds: float = medium.SEARCHED_GROUP_SECONDS
    decoded_megabyte_seconds: float = medium.DECODED_MEGABYTE_SECONDS
    scanned_megabyte_seconds: float = medium.SCANNED_MEGABYTE_SECONDS
    scanned_file_seconds: float = medium.SCANNED_FILE_SECONDS

    def times(self, prediction: Prediction, workload: Workload) -> Times:
        """Return the modelled times of predicted figures. Cost: constant."""
        update = self._update_seconds(prediction, workload.row_bytes)
        probe = self._probe_seconds(ProbeWork.of(prediction, workload))
        stored_megabytes = (prediction.live_bytes + prediction.dead_bytes) / MEGABYTE
        scan = stored_megabytes * self.scanned_megabyte_seconds + prediction.stored_files * self.scanned_file_seconds
        total = update + workload.probes * probe + workload.scans * scan
        return Times(update, probe, scan, total)

    def _update_seconds(self, prediction: Prediction, row_bytes: float) -> float:
        written_bytes = prediction.appended_bytes + prediction.rewritten_bytes
        return (
            self.update_seconds
            + prediction.written_files * self.written_file_seconds
            + written_bytes / MEGABYTE * self.written_megabyte_seconds
            + written_bytes / row_bytes * self.sorted_row_seconds
            + prediction.read_bytes / MEGABYTE * self.read_megabyte_seconds
        )

    def _probe_seconds(self, work: ProbeWork) -> float:
        return (
            self.probe_seconds
            + work.checked_files * self.checked_file_seconds
            + work.opened_files * self.opened_file_seconds
            + work.searched_groups * self.searched_group_seconds
            + work.decoded_megabytes * self.decoded_megabyte_seconds
        )


@dataclass(frozen=True)
class ProbeWork:
    """The work of one probe.

    It checks the filters of files, opens those that have the key, searches their row groups, and decodes the matches.
    """

    checked_files: float
    opened_files: float
    searched_groups: float
    decoded_megabytes: float

    @staticmethod
    def of(prediction: Prediction, workload: Workload) -> ProbeWork:
        """Return the work: one file of each run. Chance decides whether a run, and then a row group, has the key."""
        runs = prediction.probe_files
        run_bytes = (prediction.live_bytes + prediction.dead_bytes) / runs
        group = group_bytes(workload.row_bytes)
        searched = ceil(min(run_bytes, prediction.generation.target_file_bytes) / group)
        answer_rows = run_bytes / workload.row_bytes / workload.keys
        opened = runs * (1 - exp(-answer_rows))
        decoded = min(runs * run_bytes, opened * group + runs * answer_rows * workload.row_bytes)
        return ProbeWork(runs, opened, opened * searched, decoded / MEGABYTE)


def group_bytes(row_bytes: float) -> float:
    """Return the bytes of a whole row group in a file."""
    return min(GROUP_BYTES, GROUP_ROWS * row_bytes)


MEASURED_MEDIUM = MediumCosts()


def predict(workload: Workload, generation: Generation) -> Prediction:
    """Return the figures by simulation. Cost: 3 to 6 spans of updates, each the batch's cells and the runs it meets.

    >>> from tidewheel.indexing.core.layouts import Strategy
    >>> from tidewheel.indexing.cost.workloads import uniform
    >>> layout = Layout(LayoutKind.ROUND_ROBIN, 4, 4, span=36)
    >>> figures = predict(Workload(14_000, 14e6, uniform(36)), Generation(1, layout, Strategy.REBUILD))
    >>> round(figures.touched_subindices), round(figures.write_amplification, 2), round(figures.probe_files)
    (7, 8.0, 16)
    """
    require_span(workload, generation)
    simulation = Simulation(generation)
    settling = 2 * workload.span
    for slot in range(settling):
        simulation.update(slot, workload.batch(slot))
    sums = _Sums()
    measured = measured_updates(generation.layout)
    for slot in range(settling, settling + measured):
        sums.add(simulation, slot, workload)
    return sums.mean(generation, measured)


def require_span(workload: Workload, generation: Generation) -> None:
    """Refuse a workload whose records outlive the span of the layout."""
    if workload.span > generation.layout.span:
        raise InvalidInput(
            f"lifetimes of up to {workload.span} slots do not fit a span of {generation.layout.span}",
            "give the layout a span of at least the longest lifetime",
        )


def measured_updates(layout: Layout) -> int:
    """Return how many updates to average over: whole periods of the layout, if four spans hold one."""
    longest = 4 * layout.span
    if layout.kind is LayoutKind.RANDOMIZED:
        return longest
    period = period_slots(layout)
    return min(period * ceil(layout.span / period), longest)


class _Sums:
    """The figures of the measured updates, added up."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def add(self, simulation: Simulation, slot: int, workload: Workload) -> None:
        done, stored = simulation.update(slot, workload.batch(slot)), simulation.stored
        figures = {
            "touched_subindices": done.touched_subindices,
            "appended_bytes": done.appended_bytes,
            "rewritten_bytes": done.rewritten_bytes,
            "read_bytes": done.read_bytes,
            "written_files": done.written_files,
            "stored_files": stored.files,
            "stored_runs": stored.runs,
            "live_bytes": stored.live_bytes,
            "dead_bytes": stored.dead_bytes,
        }
        for name, value in figures.items():
            self.values[name] = self.values.get(name, 0.0) + value

    def mean(self, generation: Generation, updates: int) -> Prediction:
        means = {name: value / updates for name, value in self.values.items()}
        return Prediction(generation, Method.SIMULATED, **means)
