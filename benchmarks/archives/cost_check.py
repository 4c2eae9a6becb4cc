"""The cost model held against the measurements: bytes, files and time of every contender of ours, and its choices.

1. Each race's stream is turned into the workload it really was: lifetimes, rows and bytes per interval, counted.
2. `predict` simulates every contender of ours under it; its bytes and files stand beside those measured.
3. The medium's constants are fitted to the measured times, and written to results/medium.json.
4. Regret: for mixes of updates, probes and scans, what the model's pick costs above the measured best. Constants
   for a race are fitted on the other races, so that no race judges constants it made itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders.catalogue import catalogue
from benchmarks.contenders.ours import Ours
from benchmarks.harness.contender import Family
from benchmarks.harness.measures import MEGABYTE
from benchmarks.harness.results import Results
from benchmarks.harness.store import write_json
from benchmarks.harness.summary import Summary
from tidewheel.indexing.cost.model import MEASURED_MEDIUM, MediumCosts, Prediction, ProbeWork, predict
from tidewheel.indexing.cost.workloads import Workload

# Probes and scans for each update.
MIXES = ((0, 0), (10, 0), (100, 0), (1000, 0), (10, 1))
CONTENDERS_MIN = 4


@dataclass(frozen=True)
class Check:
    """One contender of ours in one race: what the model says, what was measured."""

    race: str
    contender: str
    workload: Workload
    predicted: Prediction
    measured: Summary
    update_features: tuple[float, ...]  # as `MediumCosts` weighs them, from what was measured
    written_data_bytes: float
    written_files: float

    @property
    def probe_features(self) -> tuple[float, ...]:
        return (1.0, *astuple(ProbeWork.of(self.predicted, self.workload)))

    @property
    def scan_features(self) -> tuple[float, ...]:
        return (self.measured.stored_mb, self.measured.files)

    def cost(self, probes: float, scans: float) -> float:
        """Measured seconds of an update with its reads."""
        one = self.measured
        return one.update_seconds + probes * one.probe_ms / 1000 + scans * one.scan_seconds


def checks(results: Results) -> list[Check]:
    """Every measured contender of ours whose race kept its workload."""
    known = catalogue()
    found = []
    for race in results.races():
        workload = workload_of(results, race)
        if workload is None:
            continue
        for name, measured in results.race(race).items():
            contender = known.get(name)
            if isinstance(contender, Ours) and contender.family is Family.OURS:
                found.append(_check(results, race, contender, workload, measured))
    return found


def workload_of(results: Results, race: str) -> Workload | None:
    """The stream as the cost model describes workloads, in the bytes that our files take for a row."""
    raw = results.raw(race)
    lives = next((one["lifetimes"] for one in raw.values() if "lifetimes" in one), None)
    sizes = [
        sample["data_bytes"] / max(1, sample["rows_stored"] + sample["rows_rewritten"])
        for one in raw.values()
        for sample in one.get("updates", [])
        if "data_bytes" in sample
    ]
    stream = results.stream(race)
    if lives is None or not sizes or stream["head_factor"] != 1 or stream["rows"] < 1000:
        return None
    rows = lives["rows_per_slot"]
    whole = sum(lives["shares"])  # not quite 1: results are kept to six digits
    load = Workload(rows, rows * float(np.median(sizes)), tuple(share / whole for share in lives["shares"]))
    return replace(load, probe_rows=load.keys / stream["keys"])


def _check(results: Results, race: str, contender: Ours, workload: Workload, measured: Summary) -> Check:
    _, samples = results.samples(race, contender.name)
    rows = _mean(one["rows_stored"] + one["rows_rewritten"] for one in samples)
    read = _mean(one["read_bytes"] for one in samples)
    data_bytes, files = _mean(one["data_bytes"] for one in samples), _mean(one["written_files"] for one in samples)
    span = results.stream(race)["span"]
    return Check(
        race,
        contender.name,
        workload,
        predict(workload, contender.generation(span)),
        measured,
        (1.0, files, data_bytes / MEGABYTE, rows, read / MEGABYTE),
        data_bytes,
        files,
    )


def fitted(found: Sequence[Check], base: MediumCosts = MEASURED_MEDIUM) -> MediumCosts:
    """The medium's constants for these measurements: least squares of relative errors, none below zero."""
    if len(found) < CONTENDERS_MIN:
        return base
    update = _fit(found, lambda one: one.update_features, lambda one: one.measured.update_seconds)
    probe = _fit(found, lambda one: one.probe_features, lambda one: one.measured.probe_ms / 1000)
    scan = _fit(found, lambda one: one.scan_features, lambda one: one.measured.scan_seconds)
    return replace(
        base,
        update_seconds=update[0],
        written_file_seconds=update[1],
        written_megabyte_seconds=update[2],
        sorted_row_seconds=update[3],
        read_megabyte_seconds=update[4],
        probe_seconds=probe[0],
        checked_file_seconds=probe[1],
        opened_file_seconds=probe[2],
        searched_group_seconds=probe[3],
        decoded_megabyte_seconds=probe[4],
        scanned_megabyte_seconds=scan[0],
        scanned_file_seconds=scan[1],
    )


def _fit(
    found: Sequence[Check], features: Callable[[Check], tuple[float, ...]], seconds: Callable[[Check], float]
) -> list[float]:
    targets = np.array([seconds(one) for one in found])
    rows = np.array([features(one) for one in found]) / targets[:, None]
    return [float(one) for one in non_negative(rows, np.ones(len(found)))]


def non_negative(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Least squares with no coefficient below zero: the most negative one is left out until none is."""
    active = list(range(rows.shape[1]))
    while active:
        solved = np.linalg.lstsq(rows[:, active], targets, rcond=None)[0]
        if (solved >= 0).all():
            break
        del active[int(np.argmin(solved))]
    coefficients = np.zeros(rows.shape[1])
    if active:
        coefficients[active] = solved
    return coefficients


@dataclass(frozen=True)
class Regret:
    """What the model's pick costs above the measured best, in one race under one mix."""

    race: str
    probes: float
    scans: float
    pick: str
    best: str
    regret: float


def regrets(found: Sequence[Check]) -> list[Regret]:
    """By race and mix. The pick is made among the configurations that were measured."""
    answers = []
    for race in dict.fromkeys(one.race for one in found):
        here = [one for one in found if one.race == race]
        elsewhere = [one for one in found if one.race != race]
        if len(here) < CONTENDERS_MIN:
            continue
        medium = fitted(elsewhere if len(elsewhere) >= 2 * CONTENDERS_MIN else here)
        answers += [_regret(here, medium, *mix) for mix in MIXES]
    return answers


def _regret(here: Sequence[Check], medium: MediumCosts, probes: float, scans: float) -> Regret:
    def modelled(one: Check) -> float:
        return medium.times(one.predicted, replace(one.workload, probes=probes, scans=scans)).workload_seconds

    pick = min(here, key=modelled)
    best = min(here, key=lambda one: one.cost(probes, scans))
    above = pick.cost(probes, scans) / best.cost(probes, scans) - 1
    return Regret(pick.race, probes, scans, pick.contender, best.contender, above)


def mean_regret(results: Results) -> tuple[float | None, str]:
    found = regrets(checks(results))
    if not found:
        return None, "not measured"
    worst = max(found, key=lambda one: one.regret)
    races = len({one.race for one in found})
    how = f"{races} races x {len(MIXES)} mixes; worst {worst.regret:.0%} at {worst.race}, {worst.probes:g} probes"
    return _mean(one.regret for one in found), how


def write_constants(results: Results, path: Path) -> dict[str, Any]:
    """The regenerated table of constants, with how well they meet what they were fitted to."""
    found = checks(results)
    medium = fitted(found)
    values = {
        "fitted_to": f"{len(found)} contenders in {len({one.race for one in found})} races",
        "constants": asdict(medium),
        "before": asdict(MEASURED_MEDIUM),
        "mean_error": {"fitted": errors(found, medium), "before": errors(found, MEASURED_MEDIUM)},
    }
    if found:
        write_json(path, values)
    return values


def medium_text(values: Mapping[str, Any], refresh_ns: Mapping[str, float], machine: Mapping[str, Any]) -> str:
    """indexing/cost/medium.py with the fitted constants, those of refreshes of standing queries among them."""
    seconds = [f"{name.upper()} = {float(f'{value:.3g}')!r}" for name, value in values["constants"].items()]
    nanoseconds = [f"{name.upper()} = {float(f'{value:.4g}')!r}" for name, value in refresh_ns.items()]
    lines = "\n".join([*seconds, *nanoseconds])
    return f'''"""The seconds of one medium for each thing done. Written by `python -m benchmarks adopt`; do not edit.

Fitted to {values["fitted_to"]}, on {machine["cores"]} cores of {machine["processor"]}, local disk; nanoseconds are of
refreshes of standing queries.
"""

CORES = {machine["cores"]}
{lines}
'''


def errors(found: Sequence[Check], medium: MediumCosts) -> dict[str, float]:
    """Mean relative errors of the modelled figures and times."""
    if not found:
        return {}
    times = [medium.times(one.predicted, one.workload) for one in found]
    pairs = {
        "written_bytes": [(_written(one.predicted), one.written_data_bytes) for one in found],
        "written_files": [(one.predicted.written_files, one.written_files) for one in found],
        "stored_files": [(one.predicted.stored_files, one.measured.files) for one in found],
        "update_seconds": [(t.update_seconds, c.measured.update_seconds) for t, c in zip(times, found, strict=True)],
        "probe_seconds": [(t.probe_seconds, c.measured.probe_ms / 1000) for t, c in zip(times, found, strict=True)],
        "scan_seconds": [(t.scan_seconds, c.measured.scan_seconds) for t, c in zip(times, found, strict=True)],
    }
    return {name: _mean(abs(p / m - 1) for p, m in values if m) for name, values in pairs.items()}


def _written(prediction: Prediction) -> float:
    return prediction.appended_bytes + prediction.rewritten_bytes


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")
