"""The goals of standing queries, as ratios within one run of their race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from benchmarks.goals import Ratio, at_least, at_most
from benchmarks.results import Results

EXPERIMENT = "standing_queries"
OURS = "ours"
RECOMPUTED = "DuckDB, recomputed each from Parquet"
EACH = "DuckDB, roll-up table and one query each"
TOGETHER = "DuckDB, roll-up table and one SELECT per group-by"


def standing_goals(results: Results) -> Iterator[Ratio]:
    """Every goal; what was not measured has no value."""
    found = results.experiment(EXPERIMENT)
    if found:
        yield from _against_rivals(found)
        yield from _seconds(found)
        yield from _sizes(found)


def typical(samples: list[dict[str, Any]]) -> float:
    """The median of the slots but the last, at whose end all queries are due."""
    return median(float(one["seconds"]) for one in samples[:-1] or samples)


def all_due(one: Mapping[str, Any]) -> float:
    """Where every query reports."""
    return float(one["refresh"][-1]["seconds"])


def _against_rivals(found: Mapping[str, Any]) -> Iterator[Ratio]:
    contenders, count = found["contenders"], found["size"]["queries"]
    ours = contenders[OURS]
    mine = all_due(ours)
    for rival, bound in ((RECOMPUTED, 6), (EACH, 1.2)):
        theirs = all_due(contenders[rival]) if rival in contenders else None
        value = None if theirs is None else theirs / mine
        how = "not measured" if theirs is None else f"all due: {theirs:.3f} s / {mine:.3f} s"
        yield at_least(f"refresh of {count} standing queries vs {rival}", value, bound, how)
    days = [one["day"]["seconds"] for name, one in contenders.items() if name == TOGETHER and "day" in one]
    day = ours["day"]["seconds"]
    how = f"{min(days):.3f} s / {day:.3f} s" if days else "not measured"
    yield at_least(f"24 h at once vs {TOGETHER}", min(days) / day if days else None, 10, how)
    late = [one["late"]["seconds"] for name, one in contenders.items() if name != OURS]
    corrected = ours["late"]["seconds"]
    how = f"{min(late):.3f} s / {corrected:.3f} s" if late else "not measured"
    yield at_least("correction of one late record vs the best rival", min(late) / corrected if late else None, 5, how)


def _seconds(found: Mapping[str, Any]) -> Iterator[Ratio]:
    ours, live = found["contenders"][OURS], f"{found['live']:,} live records, seconds, both commits in it"
    count = found["size"]["queries"]
    yield at_most(f"warm refresh of {count} standing queries, a slot", typical(ours["refresh"]), 0.25, live)
    yield at_most(f"warm refresh of {count} standing queries, all due", all_due(ours), 0.25, live)
    fixed = median(one["seconds"] for one in found["one_query"])
    yield at_most("warm refresh, fixed part: one query due", fixed, 0.06, live)
    times = {one["queries"]: typical(one["refresh"]) for one in found["growth"]}
    fewest, most = min(times), max(times)
    how = f"{times[most]:.3f} s / {times[fewest]:.3f} s"
    yield at_most(f"time per refresh, {fewest:,} to {most:,} queries", times[most] / times[fewest], 3, how)


def _sizes(found: Mapping[str, Any]) -> Iterator[Ratio]:
    stored, many = found["bytes"], found["many_groups"]
    share = stored["partials_mb"] / stored["archive_mb"]
    how = f"{stored['partials_mb']:.1f} MB / {stored['archive_mb']:.0f} MB"
    yield at_most("partials, share of the archive's bytes", share, 0.05, how)
    groups = f"one query of {many['groups']:,} groups"
    last = many["refresh"][-1]
    yield at_most(f"{groups}: refresh", last["seconds"], 2, "seconds, the fourth slot")
    yield at_most(f"{groups}: memory", max(one["peak_mb"] for one in many["refresh"]), 1000, "MB above what there was")
