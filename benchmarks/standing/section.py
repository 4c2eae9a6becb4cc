"""The page's part about standing queries, from the results alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.results import Results
from benchmarks.standing.race import OURS, typical

EXPERIMENT = "standing_queries"
HEADER = "| contender | a slot | all due | late record | 24 h at once |\n|---|---|---|---|---|"


def section(results: Results) -> str:
    """The largest race that was run."""
    found = results.experiment(EXPERIMENT)
    if not found:
        return ""
    size, groups = found["size"], found["many_groups"]
    parts = [
        "## Standing queries",
        f"`python -m benchmarks queries {size['name']}`: {size['queries']} queries (7 slides from 5 minutes to 6 "
        "hours, windows to 24 hours, grouped by nothing, 20 regions, 200 keys or 160 pairs, a third with a predicate) "
        f"over {found['live']:,} live records in slots of 5 minutes, corrected for {size['revise_minutes']} minutes. "
        "*A slot*: median time from a slot's records to durable answers of all queries that are due; *all due*: where "
        "every query reports. Ours has two commits in it. Every answer was compared with all others'.",
        "\n".join([HEADER, *(_row(name, one) for name, one in found["contenders"].items())]),
        "\n".join(f"- {name}: {one['setting']}" for name, one in found["contenders"].items() if "setting" in one),
        _ours(found),
        f"One query of {groups['groups']:,} groups: a refresh in {_seconds(_best(groups['refresh']))}, "
        f"{_peak(groups['refresh']):.0f} MB of memory.",
    ]
    return "\n\n".join(parts)


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    for name, one in found["contenders"].items():
        day = _seconds(one["day"]["seconds"]) if "day" in one else "-"
        yield (
            f"{name:52} slot {_seconds(typical(one['refresh']))}  all due {_seconds(one['refresh'][-1]['seconds'])}  "
            f"late {_seconds(one['late']['seconds'])}  day {day}"
        )
    yield _ours(found)
    groups = found["many_groups"]
    yield f"{groups['groups']:,} groups: {_seconds(_best(groups['refresh']))}, {_peak(groups['refresh']):.0f} MB"


def _row(name: str, one: Mapping[str, Any]) -> str:
    label = f"**{name}**" if name == OURS else name
    day = _seconds(one["day"]["seconds"]) if "day" in one else "-"
    cells = [_seconds(typical(one["refresh"])), _seconds(one["refresh"][-1]["seconds"])]
    return f"| {label} | {' | '.join(cells)} | {_seconds(one['late']['seconds'])} | {day} |"


def _ours(found: Mapping[str, Any]) -> str:
    ours, stored = found["contenders"][OURS], found["bytes"]
    share = stored["partials_mb"] / stored["archive_mb"]
    laps = {name: [one["laps_ms"].get(name, 0) for one in ours["refresh"]] for name in ours["refresh"][0]["laps_ms"]}
    parts = ", ".join(f"{name} {sorted(times)[len(times) // 2]:.0f} ms" for name, times in laps.items())
    return (
        f"Ours: archive {stored['archive_mb']:.0f} MB, partials {stored['partials_mb']:.1f} MB ({share:.1%}), "
        f"answers {stored['answers_mb']:.1f} MB; {_peak(ours['refresh']):.0f} MB of memory for a refresh. "
        f"Where its time goes: {parts}."
    )


def _peak(samples: Sequence[Mapping[str, Any]]) -> float:
    return max(float(one["peak_mb"]) for one in samples)


def _best(samples: Sequence[Mapping[str, Any]]) -> float:
    """The last: warm."""
    return float(samples[-1]["seconds"])


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"
