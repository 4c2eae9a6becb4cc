"""The goals as ratios within one run: {name, value, goal, ok, how}. What was not measured has no value and is not ok.

Each goal is a function of the results; where several races could answer, the one with the most live data does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.results import Results
from benchmarks.harness.summary import Summary

DEFAULT = "rr_expire_rebuild_1x4"
CLEVER_RIVAL = "delta_by_expiry"
EDGE = 100  # updates at each end of the long run


@dataclass(frozen=True)
class Ratio:
    """A goal and what was found; `ok` is None where nothing was measured."""

    name: str
    value: float | None
    goal: str
    ok: bool | None
    how: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "goal": self.goal, "ok": self.ok, "how": self.how}


def at_least(name: str, value: float | None, bound: float, how: str) -> Ratio:
    return Ratio(name, value, f">= {bound:g}", None if value is None else value >= bound, how)


def at_most(name: str, value: float | None, bound: float, how: str) -> Ratio:
    return Ratio(name, value, f"<= {bound:g}", None if value is None else value <= bound, how)


def ratios(results: Results) -> list[Ratio]:
    """Every goal, in the order in which people ask."""
    goals: Sequence[Callable[[Results], Iterator[Ratio]]] = (
        _against_rivals,
        _one_configuration,
        _against_plain_append,
        _layouts,
        _reads,
        _dominance,
        _fixed_part,
        _long_run,
        _growth,
        _regret,
        _bytes_written,
        _own_python,
        _standing_queries,
    )
    return [ratio for goal in goals for ratio in goal(results)]


def _against_rivals(results: Results) -> Iterator[Ratio]:
    race, found = results.largest()
    for rival, bound in (("delta_delete", 5), ("R_ins_16", 5)):
        yield _faster(f"update: best of ours vs {rival}", found, rival, bound, race)
    found = results.race("large")
    yield _faster(f"update: best of ours vs {CLEVER_RIVAL}, 1 GB live or more", found, CLEVER_RIVAL, 2, "large")


def _faster(name: str, found: dict[str, Summary], rival: str, bound: float, race: str) -> Ratio:
    best = min((one for one in found.values() if one.is_ours), key=lambda one: one.update_seconds, default=None)
    if best is None or rival not in found:
        return at_least(name, None, bound, "not measured")
    theirs = found[rival].update_seconds
    how = f"race {race}: {rival} {theirs:.2f} s / {best.name} {best.update_seconds:.2f} s"
    return at_least(name, theirs / best.update_seconds, bound, how)


def _one_configuration(results: Results) -> Iterator[Ratio]:
    """The configuration of ours that comes nearest to all three at once."""
    race, found = results.largest()
    rival = found.get(CLEVER_RIVAL)
    ours = [one for one in found.values() if one.is_ours]
    title = f"one configuration vs {CLEVER_RIVAL}"
    if rival is None or not ours:
        yield at_least(f"{title}: update", None, 1.5, "not measured")
        yield at_least(f"{title}: probe", None, 3, "not measured")
        yield at_most(f"{title}: stored bytes", None, 1.05, "not measured")
        return

    def parts(one: Summary) -> tuple[float, float, float]:
        return (
            rival.update_seconds / one.update_seconds,
            rival.probe_ms / one.probe_ms,
            one.stored_mb / rival.stored_mb,
        )

    def nearness(one: Summary) -> float:
        update, probe, stored = parts(one)
        return min(update / 1.5, probe / 3, 1.05 / stored)

    best = max(ours, key=nearness)
    update, probe, stored = parts(best)
    how = f"race {race}: {best.name}"
    yield at_least(f"{title}: update", update, 1.5, how)
    yield at_least(f"{title}: probe", probe, 3, how)
    yield at_most(f"{title}: stored bytes", stored, 1.05, how)


def _against_plain_append(results: Results) -> Iterator[Ratio]:
    race, found = results.largest()
    for strategy, bound in (("no_rebuild", 1.3), ("expire_rebuild", 3)):
        name = f"{strategy} update vs appending plainly"
        ours = [one for one in found.values() if one.is_ours and f"_{strategy}_" in one.name]
        if not ours or "delta_append" not in found:
            yield at_most(name, None, bound, "not measured")
            continue
        best = min(ours, key=lambda one: one.update_seconds)
        plain = found["delta_append"].update_seconds
        how = f"race {race}: {best.name} {best.update_seconds:.2f} s / delta_append {plain:.2f} s"
        yield at_most(name, best.update_seconds / plain, bound, how)


def _layouts(results: Results) -> Iterator[Ratio]:
    """Against the wave index at the same n, and against the chronological layout; over one whole period."""
    race, largest = results.largest()
    doubly = largest.get("rr_rebuild_4x4")
    for wave in ("R_ins_16", "R_exp_16"):
        value = largest[wave].update_seconds / doubly.update_seconds if doubly and wave in largest else None
        how = f"race {race}: {wave} / rr_rebuild_4x4, mean update" if value else "not measured"
        yield at_least(f"update: doubly partitioned vs {wave}, both rebuilt", value, 2, how)
    found = results.race("balance")
    shapes = [one for one in ("2x2", "3x3", "4x4") if {f"rr_rebuild_{one}", f"chr_rebuild_{one}"} <= found.keys()]
    pairs = [(found[f"rr_rebuild_{one}"], found[f"chr_rebuild_{one}"]) for one in shapes]
    name = "update: round-robin vs chronological"
    if not pairs:
        yield at_least(f"{name}, saved", None, 0.1, "not measured")
        yield at_most(f"{name}, p99", None, 1, "not measured")
        yield at_most(f"{name}, spread", None, 1, "not measured")
        return
    how = f"rebuild, mean of the ratios at {', '.join(shapes)}"
    yield at_least(f"{name}, saved", _mean(1 - r.update_seconds / c.update_seconds for r, c in pairs), 0.1, how)
    yield at_most(f"{name}, p99", _mean(r.update_p99_seconds / c.update_p99_seconds for r, c in pairs), 1, how)
    spread = _mean(r.update_spread_seconds / c.update_spread_seconds for r, c in pairs)
    yield at_most(f"{name}, spread", spread, 1, f"standard deviation, {how}")


def _reads(results: Results) -> Iterator[Ratio]:
    large = results.race("large")
    value, how = None, "not measured"
    if DEFAULT in large:
        one = large[DEFAULT]
        value, how = one.scan_seconds * 1000 / one.probe_ms, f"race large: {DEFAULT}, scan / median warm probe"
    yield at_least("probe vs full scan, 1 GB live, 100,000 keys", value, 100, how)
    for race in ("small", "large"):
        found = results.race(race)
        probe = scan = None
        how = "not measured"
        if DEFAULT in found and "sorted_copy" in found:
            one, copy = found[DEFAULT], found["sorted_copy"]
            probe, scan = one.probe_ms / copy.probe_ms, one.scan_seconds / copy.scan_seconds
            how = f"race {race}: {DEFAULT} / sorted_copy"
        yield at_most(f"warm probe vs one sorted file with Bloom filter ({race})", probe, 3, how)
        yield at_most(f"scan vs one sorted, compacted copy ({race})", scan, 1.2, how)


def _dominance(results: Results) -> Iterator[Ratio]:
    """A rival that is at least as good as every one of ours in all three, and better in one, must not exist."""
    for race in ("small", "large"):
        found = results.race(race)
        ours = [one for one in found.values() if one.is_ours]
        rivals = [one for one in found.values() if one.is_rival]
        name = f"rivals at least as good in update, probe and dead bytes as all of ours ({race})"
        if not ours or not rivals:
            yield at_most(name, None, 0, "not measured")
            continue
        winners = [rival.name for rival in rivals if all(_dominates(rival, one) for one in ours)]
        yield at_most(name, len(winners), 0, ", ".join(winners) or f"none of {len(rivals)}")


def _dominates(rival: Summary, one: Summary) -> bool:
    theirs = (rival.update_seconds, rival.probe_ms, rival.dead_mb)
    ours = (one.update_seconds, one.probe_ms, one.dead_mb)
    return all(t <= o for t, o in zip(theirs, ours, strict=True)) and theirs != ours


def _fixed_part(results: Results) -> Iterator[Ratio]:
    found = results.race("few_rows")
    value = found[DEFAULT].update_median_seconds if DEFAULT in found else None
    how = f"race few_rows: {DEFAULT}, median of updates of 10 records, seconds" if value else "not measured"
    yield at_most("warm update, fixed part", value, 0.35, how)


def _long_run(results: Results) -> Iterator[Ratio]:
    profile, samples = results.samples("long", DEFAULT)
    names = {
        "seconds": "update time",
        "resident_bytes": "memory of driver and reader",
        "java_heap_bytes": "JVM heap in use",
    }
    for field, name in names.items():
        values = [one[field] for one in samples if field in one]
        edge = max(1, min(EDGE * len(values) // max(1, len(samples)), len(values) // 4))
        value = _mean(values[-edge:]) / _mean(values[:edge]) if len(values) >= 4 else None
        how = f"{profile}: last {edge} of {len(values)} vs first {edge}" if value else "not measured"
        yield at_most(f"long run, {len(samples)} updates: {name}", value, 1.1, how)


def _growth(results: Results) -> Iterator[Ratio]:
    name = "rr_expire_rebuild_1x36_unbounded"
    first, last = results.race("growth_1").get(name), results.race("growth_8").get(name)
    value = last.update_seconds / first.update_seconds if first and last else None
    how = f"{name}, races growth_8 / growth_1" if value else "not measured"
    yield at_most("live data x8 at a fixed batch, E >= p: update time", value, 1.2, how)


def _regret(results: Results) -> Iterator[Ratio]:
    from benchmarks.archives.cost_check import mean_regret

    value, how = mean_regret(results)
    yield at_most("advisor's regret against the measured best, mean", value, 0.1, how)


def _bytes_written(results: Results) -> Iterator[Ratio]:
    found = results.race("small")
    value, how = None, "not measured"
    if DEFAULT in found and "rr_rebuild_4x4" in found:
        value = found[DEFAULT].written_mb / found["rr_rebuild_4x4"].written_mb
        how = f"race small: {DEFAULT} {found[DEFAULT].written_mb:.0f} MB / rr_rebuild_4x4"
    yield at_most("bytes written: expire_rebuild 1x4 vs rebuild 4x4", value, 0.65, how)


def _own_python(results: Results) -> Iterator[Ratio]:
    """Everything that is not a call into the JVM: planning, delta-rs, footers, counting."""
    _, samples = results.samples("small", DEFAULT)
    shares = [1 - one["java_ms"] / 1000 / one["seconds"] for one in samples]
    how = f"race small: {DEFAULT}, time outside calls into the JVM" if shares else "not measured"
    yield at_most("planning and own Python, share of a warm update", _mean(shares) if shares else None, 0.15, how)


def _standing_queries(results: Results) -> Iterator[Ratio]:
    from benchmarks.standing.goals import standing_goals

    yield from standing_goals(results)


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))
