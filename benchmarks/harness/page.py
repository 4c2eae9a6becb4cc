"""docs/benchmarks.md, from the results alone: what was measured, where a rival wins, when not to use tidewheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.archives.cost_check import checks, regrets
from benchmarks.harness.goals import DEFAULT, Ratio
from benchmarks.harness.results import Results
from benchmarks.harness.summary import Summary
from benchmarks.literature.thesis import SIZES, section
from benchmarks.process.cold_commands import COMMANDS, EXPERIMENT
from benchmarks.standing import refresh_costs
from benchmarks.standing.section import section as standing_queries

TRIED = Path(__file__).parent.parent / "tried.md"
_MARKS = {True: "met", False: "**not met**", None: "not measured"}
# What a reader may care about: the words, the value (less is better), how it is printed.
MEASURES: tuple[tuple[str, Callable[[Summary], float], str], ...] = (
    ("update", lambda one: one.update_seconds, "{:.2f} s"),
    ("update, p99", lambda one: one.update_p99_seconds, "{:.2f} s"),
    ("written an update", lambda one: one.written_mb, "{:.1f} MB"),
    ("warm probe", lambda one: one.probe_ms, "{:.1f} ms"),
    ("warm probe, p99", lambda one: one.probe_p99_ms, "{:.1f} ms"),
    ("probe after a cache drop", lambda one: one.probe_cold_ms, "{:.1f} ms"),
    ("probe of an absent key", lambda one: one.absent_ms, "{:.1f} ms"),
    ("key range", lambda one: one.range_ms, "{:.1f} ms"),
    ("scan", lambda one: one.scan_seconds, "{:.2f} s"),
    ("stored", lambda one: one.stored_mb, "{:.0f} MB"),
    ("dead bytes", lambda one: one.dead_mb, "{:.0f} MB"),
)
_FIGURES = {
    "bench-by-n": "Update, probe and scan by the number of sub-indices (figures 4.4 to 4.11 of the thesis).",
    "bench-pareto-small": "Updates against probes, race `small`. The dotted line is the front.",
    "bench-pareto-large": "Updates against probes, race `large`.",
    "bench-growth": "Left: the same batch into more and more live data. Right: one archive, update after update.",
    "bench-update-time": "Where the time of a warm update goes.",
    "bench-cost-model": "The cost model's bytes against those measured.",
}


def page(results: Results, found: Sequence[Ratio], medium: Mapping[str, Any], images: Sequence[Path]) -> str:
    """The whole page."""
    parts = [
        _head(results),
        _goals(found),
        *(_race(results, name) for name in ("small", "large") if results.race(name)),
        _honest(results),
        section(results),
        standing_queries(results),
        _others(results),
        _cold(results),
        _model(results, medium),
        _figures(images),
        TRIED.read_text().strip() if TRIED.exists() else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Results) -> str:
    machine = results.stores[0].values["machine"]
    versions = ", ".join(f"{name} {value}" for name, value in machine["versions"].items() if value)
    profiles = ", ".join(f"`{store.values['profile']}`" for store in results.stores)
    return f"""# Benchmarks

Written by `python -m benchmarks`; do not edit. Profiles measured: {profiles}, on {machine["cores"]} cores of
{machine["processor"]}, {machine["memory_gb"]:.0f} GB, local disk; {versions}.

All contenders read the same files, run in one Spark session where they need one, and are checked against the same
oracle after every measured update. Each runs whole and alone, after the session was warmed by others, because
interleaving would mix their caches and background work; a pulse of fixed work before and after tells disturbed
runs. All write zstd. Rivals are probed with DuckDB over their file list, footers cached, with the filter on the
expiry, and files left out by the log's key bounds: what our own reader does, but for the Bloom filters that it keeps
in memory, which theirs do not have. Updates are means (their cost differs from slot to slot; of `no_rebuild` over a
whole span, as it joins runs now and then), probes medians. Vacuum is outside the measured time for everyone but the
contender that has it in its name."""


def _goals(found: Sequence[Ratio]) -> str:
    rows = [
        f"| {one.name} | {_number(one.value)} | {one.goal.replace('>=', '≥').replace('<=', '≤')} "
        f"| {_MARKS[one.ok]} | {one.how} |"
        for one in found
    ]
    met = sum(one.ok is True for one in found)
    lines = ["## Goals", f"{met} of {len(found)} met.", "| what | value | goal | | from |\n|---|---|---|---|---|"]
    return "\n\n".join(lines) + "\n" + "\n".join(rows)


def _race(results: Results, name: str) -> str:
    stream = results.stream(name)
    found = results.race(name)
    title = (
        f"## Race `{name}`: {stream['rows']:,} records of {stream['record_bytes']} B a slot, "
        f"{stream['span']} slots, {stream['keys']:,} keys"
    )
    header = "| contender | " + " | ".join(words for words, _, _ in MEASURES) + " | files | expired bytes gone |"
    rows = [_row(one) for one in sorted(found.values(), key=lambda one: (one.family, one.update_seconds))]
    missing = [
        f"`{contender}`: {raw.get('skipped') or raw.get('failed')}"
        for contender, raw in results.raw(name).items()
        if "updates" not in raw
    ]
    notes = ["Not raced: " + "; ".join(missing)] if missing else []
    notes += [
        "*Expired bytes gone*: the most updates that expired bytes stayed in a current file, and then what takes them "
        "off the disk."
    ]
    return "\n\n".join([title, "\n".join([header, "|" + "---|" * (len(MEASURES) + 3), *rows]), *notes])


def _row(one: Summary) -> str:
    cells = [_formatted(form, measure(one)) for _, measure, form in MEASURES]
    label = f"**{one.label}**" if one.is_ours else one.label
    gone = f"{one.overdue_updates} updates, then {one.off_disk}" if one.off_disk != "never" else "never"
    return f"| {label} | {' | '.join(cells)} | {one.files:.0f} | {gone} |"


def _honest(results: Results) -> str:
    """Where rivals win, measure by measure, and what that means for a choice."""
    lines = ["## Where a rival wins"]
    for race in ("small", "large"):
        found = results.race(race)
        wins = list(_wins(found))
        if wins:
            lines.append(f"Race `{race}`, against the best of ours in each measure, whichever configuration that is:")
            lines.append("\n".join(wins))
        default = found.get(DEFAULT)
        if default is not None:
            lines.append(f"And against the default configuration, `{DEFAULT}`, alone:")
            lines.append("\n".join(_wins({**_rivals(found), DEFAULT: default})) or "- none")
    lines += ["## When not to use tidewheel", _WHEN_NOT]
    return "\n\n".join(lines)


def _rivals(found: Mapping[str, Summary]) -> dict[str, Summary]:
    return {name: one for name, one in found.items() if one.is_rival}


def _wins(found: Mapping[str, Summary]) -> Iterator[str]:
    """A sentence for each measure in which some rival beats all of ours given."""
    ours = [one for one in found.values() if one.is_ours]
    rivals = list(_rivals(found).values())
    if not ours or not rivals:
        return
    for words, measure, form in MEASURES:
        best, rival = min(ours, key=measure), min(rivals, key=measure)
        if measure(rival) < measure(best):
            yield (
                f"- **{words}**: {rival.label}, {_formatted(form, measure(rival))}; "
                f"ours at best {_formatted(form, measure(best))} ({best.label})"
            )


_WHEN_NOT = """- *Everything lives equally long.* Partition by insertion time and drop whole partitions: nothing has
  to be rewritten, and no index beside it is needed.
- *One process on one machine, and nobody else reads.* A database file (DuckDB, ClickHouse) updates in a fraction of
  the time that a Spark session needs to say hello; it has no open table that other engines read, no history and no
  bound on when the bytes of expired records are gone.
- *Expiry need only be invisible.* If a filter at read time is enough and the bytes may stay, append plainly.
- *Lifetimes change after arrival, or are not known then.* They do not fit an expiration class.
- *Intervals of seconds.* Each update has a fixed cost of some tenths of a second; below a few thousand records an
  interval it is all there is."""


def _others(results: Results) -> str:
    """The other streams, in short."""
    names = [name for name in results.races() if name not in ("small", "large", "long", *SIZES)]
    rows = [
        f"| `{race}` | {one.label} | {one.update_seconds:.2f} s | {one.update_p99_seconds:.2f} s | "
        f"{one.written_mb:.1f} MB | {one.probe_ms:.1f} ms | {one.dead_mb:.0f} MB |"
        for race in names
        for one in sorted(results.race(race).values(), key=lambda one: one.update_seconds)
    ]
    if not rows:
        return ""
    header = "| race | contender | update | p99 | written | probe | dead |\n|---|---|---|---|---|---|---|"
    return "## Other streams\n\n" + "\n".join([header, *rows])


def _cold(results: Results) -> str:
    measured = results.experiment(EXPERIMENT)
    if not measured:
        return ""
    _, samples = results.samples("small", DEFAULT)
    warm = results.race("small").get(DEFAULT)
    inside = {
        "update": f"{warm.update_median_seconds:.2f} s" if warm and samples else "-",
        "probe": f"{warm.probe_ms:.1f} ms" if warm else "-",
    }
    rows = [
        f"| {name} | {median(one['total'] for one in measured[name]):.2f} s | {inside.get(name, '-')} |"
        for name in COMMANDS
    ]
    there = "a class archive" if measured["class_archive"] else "no class archive"
    head = f"## Cold and warm\n\nWith {there} of Java (`tidewheel-setup classes`); *as it is*: without it.\n\n"
    return head + "| | cold, as a command | warm, in a session |\n|---|---|---|\n" + "\n".join(rows)


def _model(results: Results, medium: Mapping[str, Any]) -> str:
    found = checks(results)
    if not found:
        return ""
    before, fitted = medium["mean_error"]["before"], medium["mean_error"]["fitted"]
    rows = [f"| {name.replace('_', ' ')} | {before[name]:.1%} | {fitted[name]:.1%} |" for name in before]
    picks = [
        f"| `{one.race}` | {one.probes:g} | {one.scans:g} | {one.pick} | {one.best} | {one.regret:.1%} |"
        for one in regrets(found)
    ]
    text = [
        "## The cost model",
        f"Mean relative error over {medium['fitted_to']}, with the constants in `indexing/costs` and with those that "
        "`results/medium.json` holds, fitted to these measurements:",
        "| figure | constants in use | fitted |\n|---|---|---|\n" + "\n".join(rows),
    ]
    if picks:
        text.append("What the model's pick among the measured configurations costs above the best of them:")
        header = "| race | probes an update | scans an update | pick | best | regret |\n|---|---|---|---|---|---|\n"
        text.append(header + "\n".join(picks))
    text.append("\n".join(refresh_costs.lines(results.folder)))
    return "\n\n".join(text)


def _figures(images: Sequence[Path]) -> str:
    if not images:
        return ""
    lines = [f"![{_FIGURES[path.stem]}](images/{path.name})\n\n{_FIGURES[path.stem]}" for path in images]
    return "\n\n".join(["## Figures", *lines])


def _formatted(form: str, value: float) -> str:
    return "-" if value != value else form.format(value)  # NaN: not measured


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
