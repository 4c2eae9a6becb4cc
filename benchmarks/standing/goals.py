"""The goals of standing queries, as ratios within one run of their race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.harness.goals import Ratio, at_least, at_most
from benchmarks.harness.results import Results

EXPERIMENT = "standing_queries"
CORRECTIONS = {"late": "one late record", "replay": "one slot replayed", "forget": "one key forgotten"}
UNFINISHED = "standing_queries_unfinished"
OURS = "ours"
RECOMPUTED = "DuckDB, recomputed each from Parquet"
EACH = "DuckDB, roll-up table and one query each"
TOGETHER = "DuckDB, roll-up table and one SELECT per group-by"
PREFIXES = "DuckDB, roll-up table and SQL prefix sums (count, sum and avg only)"


def standing_goals(results: Results) -> Iterator[Ratio]:
    """Every goal; what was not measured has no value."""
    found = results.experiment(EXPERIMENT)
    if found:
        yield from _against_rivals(found)
        yield from _seconds(found)
        yield from _sizes(found)
        yield from _kernels(found["kernels"])
        yield from _history(found)


def typical(samples: list[dict[str, Any]]) -> float:
    """The median of the slots but the last, at whose end all queries are due."""
    return median(float(one["seconds"]) for one in samples[:-1] or samples)


def all_due(one: Mapping[str, Any]) -> float:
    """Where every query reports."""
    return float(one["refresh"][-1]["seconds"])


def raced(found: Mapping[str, Any], which: str = "contenders") -> dict[str, Mapping[str, Any]]:
    """Those that were measured, ours among them."""
    return {name: one for name, one in found.get(which, {}).items() if one.get("refresh")}


def _against_rivals(found: Mapping[str, Any]) -> Iterator[Ratio]:
    contenders, count = raced(found), found["size"]["queries"]
    ours = contenders[OURS]
    yield from _refreshes(contenders, count, ((RECOMPUTED, 6), (EACH, 1.2)))
    if found["many"]:
        bounds = ((RECOMPUTED, 15), (EACH, 3), (TOGETHER, 1.5))
        yield from _refreshes(raced(found, "many"), found["size"]["many_queries"], bounds)
    for rival, mine, bound in ((TOGETHER, "day", 10), (PREFIXES, "day_sums", 4)):
        theirs = contenders.get(rival, {}).get("day")
        yield _faster(f"24 h at once vs {rival}", theirs, ours[mine], bound)
    for stage in ("late", "replay", "forget"):
        rivals = [one for name, one in contenders.items() if name != OURS and one["queries"] == count]
        best = min((one[stage] for one in rivals if stage in one), key=lambda one: one["seconds"], default=None)
        yield _faster(f"{CORRECTIONS[stage]}: answers right again, vs the best rival", best, ours[stage], 5)
    better = [name for name, one in contenders.items() if name != OURS and _is_everywhere_as_fast(one, ours)]
    how = ", ".join(better) or f"none of {len(contenders) - 1}"
    yield at_most("rivals at least as fast in refresh, catch-up and correction", len(better), 0, how)


def _refreshes(
    contenders: Mapping[str, Mapping[str, Any]], count: int, bounds: Sequence[tuple[str, float]]
) -> Iterator[Ratio]:
    mine = all_due(contenders[OURS])
    for rival, bound in bounds:
        theirs = all_due(contenders[rival]) if rival in contenders else None
        value = None if theirs is None else theirs / mine
        how = "not measured" if theirs is None else f"all due: {theirs:.3f} s / {mine:.3f} s"
        yield at_least(f"refresh of {count} standing queries vs {rival}", value, bound, how)


def _faster(name: str, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any], bound: float) -> Ratio:
    if theirs is None:
        return at_least(name, None, bound, "not measured")
    value = theirs["seconds"] / ours["seconds"]
    return at_least(name, value, bound, f"{theirs['seconds']:.3f} s / {ours['seconds']:.3f} s")


def _is_everywhere_as_fast(one: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """One that answers no days, or not all queries, is not."""
    if "day" not in one or "forget" not in one or one["queries"] < ours["queries"]:
        return False
    stages = all(one[stage]["seconds"] <= ours[stage]["seconds"] for stage in ("late", "replay", "forget", "day"))
    return stages and all_due(one) <= all_due(ours)


def _seconds(found: Mapping[str, Any]) -> Iterator[Ratio]:
    ours, live = found["contenders"][OURS], f"{found['live']:,} live records, seconds, both commits in it"
    count = found["size"]["queries"]
    yield at_most(f"warm refresh of {count} standing queries, a slot", typical(ours["refresh"]), 0.25, live)
    yield at_most(f"warm refresh of {count} standing queries, all due", all_due(ours), 0.25, live)
    fixed = median(one["seconds"] for one in found["one_query"])
    yield at_most("warm refresh, fixed part: one query due", fixed, 0.06, live)
    times = {one["queries"]: typical(one["refresh"]) for one in found["growth"]}
    fewest, most = min(times), max(times)
    for many in (count for count in times if count in (1000, most) and count > fewest):
        how = f"{times[many]:.3f} s / {times[fewest]:.3f} s"
        yield at_most(f"time per refresh, {fewest:,} to {many:,} queries", times[many] / times[fewest], 3, how)
    if found["sharing"]:
        planned, apart = (typical(found["sharing"][one]["refresh"]) for one in ("planned", "No Share"))
        name = f"sharing: planned against No Share, {found['sharing']['queries']} queries"
        yield at_least(name, apart / planned, 5, f"{apart:.3f} s / {planned:.3f} s a refresh")


def _sizes(found: Mapping[str, Any]) -> Iterator[Ratio]:
    stored, many = found["bytes"], found["many_groups"]
    share = stored["partials_mb"] / stored["archive_mb"]
    how = f"{stored['partials_mb']:.1f} MB / {stored['archive_mb']:.0f} MB"
    yield at_most("partials, share of the archive's bytes", share, 0.05, how)
    groups = f"one query of {many['groups']:,} groups"
    last = many["refresh"][-1]
    yield at_most(f"{groups}: refresh", last["seconds"], 2, "seconds, the fourth slot")
    yield at_most(f"{groups}: memory", max(one["peak_mb"] for one in many["refresh"]), 1000, "MB above what there was")


def _kernels(found: Mapping[str, Any]) -> Iterator[Ratio]:
    """At the length for which there are bounds, else the longest: of everyone the best time."""
    size = 1 << 16 if 1 << 16 in found["sizes"] else found["sizes"][-1]
    place = found["sizes"].index(size)

    def best(what: str, who: str) -> float | None:
        times = [one["ns"][place] for one in found["slides"] if one["what"] == what and one["who"].startswith(who)]
        return min((time for time in times if time is not None), default=None)

    for what, who, bound in (
        ("max", "Polars", 2), ("max", "DuckDB window", 100), ("max", "bottleneck", 1), ("sum", "Polars", 1.3),
    ):  # fmt: skip
        ours, theirs = best(what, OURS), best(what, who)
        value = theirs / ours if ours and theirs else None
        how = "not measured" if value is None else f"{theirs:.1f} ns / {ours:.1f} ns an answer"
        yield at_least(f"kernels: {what} over windows of {size:,} vs {who}", value, bound, how)
    for what in ("sum", "max"):
        times = [(one["who"], one["ns"]) for one in found["many_ranges"] if one["what"] == what]
        mine, theirs = (min((ns for one, ns in times if one.startswith(who)), default=None) for who in (OURS, "Polars"))
        value = theirs / mine if mine and theirs else None
        how = "not measured" if value is None else f"{theirs:.1f} ns / {mine:.1f} ns an answer"
        yield at_least(f"kernels: {what} over windows of 64 lengths at every slide vs Polars", value, 10, how)


def _history(found: Mapping[str, Any]) -> Iterator[Ratio]:
    """Of very many refreshes the last hundred by the first, once records, partials and answers expire."""
    hundreds = found.get("history", {}).get("hundreds")
    for name, what in (("seconds", "time"), ("resident_mb", "memory"), ("live_files", "current files")):
        title = f"very many refreshes of one archive, the last hundred by the first: {what}"
        if not hundreds:
            yield at_most(title, None, 1.1, "not measured")
            continue
        first, last = ends_of(hundreds)
        how = f"{found['history']['refreshes']:,} refreshes: {last[name]:.4g} / {first[name]:.4g}"
        yield at_most(title, last[name] / first[name], 1.1, how)


def ends_of(hundreds: Sequence[Mapping[str, float]]) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """The first hundred in which there is something of every age, and the last."""
    return hundreds[min(1, len(hundreds) - 1)], hundreds[-1]
