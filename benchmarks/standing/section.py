"""The page's part about standing queries, from the results alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.harness.results import Results
from benchmarks.standing.goals import CORRECTIONS, EXPERIMENT, OURS, all_due, ends_of, raced, typical
from benchmarks.standing.kernel_section import kernel_lines

COLUMNS = ("a slot", "all due", *CORRECTIONS.values(), "24 h at once")
HEADER = f"| contender | queries | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}"


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
        "every query reports. Ours has two commits in it. Every answer of everyone was compared, value by value, with "
        "what a plain fold of the records in numpy tells.",
        "\n".join([HEADER, *(_row(name, one) for name, one in found["contenders"].items())]),
        "Corrections are timed until every answer of the last "
        f"{size['revise_minutes']} minutes is right again and stored; rivals are handed the records without a search, "
        "ours finds what is stale by itself. Of the key's records, rivals need erase none. Ours takes "
        f"{_seconds(found['contenders'][OURS].get('forget_seconds', 0))} to take them out of the archive before that. "
        "Rows written, and in parentheses those copied as they lay in the same files:",
        "\n".join(_rewritten(found)),
        "\n".join(_many(found)),
        "\n".join(f"- **wrong**: {text}" for one in found["contenders"].values() for text in one.get("wrong", ())),
        "\n".join(f"- {name}: {one['setting']}" for name, one in found["contenders"].items() if "setting" in one),
        _ours(found),
        "Where a refresh's time goes, in ms (partials: reading the records and folding them; fold: reading partials "
        "and folding these; the commits with writing, reading back and checking):",
        "\n".join(_laps(found)),
        f"One query of {groups['groups']:,} groups: a refresh in {_seconds(_best(groups['refresh']))}, "
        f"{_peak(groups['refresh']):.0f} MB of memory. {_growth(found)}",
        "\n\n".join(_growing(found)),
        _techniques(found),
        "\n".join(kernel_lines(found["kernels"])),
    ]
    return "\n\n".join(part for part in parts if part)


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    yield from (HEADER, *(_row(name, one) for name, one in found["contenders"].items()))
    yield from (*_rewritten(found), *_many(found))
    yield _ours(found)
    yield from _laps(found)
    groups = found["many_groups"]
    yield f"{groups['groups']:,} groups: {_seconds(_best(groups['refresh']))}, {_peak(groups['refresh']):.0f} MB"
    yield _growth(found)
    yield from _growing(found)
    yield from kernel_lines(found["kernels"])


def _row(name: str, one: Mapping[str, Any]) -> str:
    label = f"**{name}**" if name == OURS else name
    if not one.get("refresh"):
        told = one.get("missing") or one.get("stopped") or f"wrong: {one['wrong'][0]}"
        why = " ".join(told.replace("|", "/").split())
        return f"| {label} | - | {why} |{' |' * (len(COLUMNS) - 1)}"
    cells = [
        str(one["queries"]) + ("; " + one["stopped"] if "stopped" in one else ""),
        _seconds(typical(one["refresh"])),
        _seconds(all_due(one)),
    ]
    cells += [_seconds(one[stage]["seconds"]) if stage in one else "-" for stage in (*CORRECTIONS, "day")]
    return f"| {label} | {' | '.join(cells)} |"


def _rewritten(found: Mapping[str, Any]) -> Iterator[str]:
    """How many rows each correction wrote."""
    yield f"| contender | {' | '.join(CORRECTIONS.values())} |"
    yield f"|---|{'---|' * len(CORRECTIONS)}"
    for name, one in raced(found).items():
        if all(stage in one for stage in CORRECTIONS):
            cells = []
            for stage in CORRECTIONS:
                moved = one[stage].get("rows_moved")
                cells.append(f"{one[stage]['rows']:,}" + ("" if moved is None else f" ({moved:,})"))
            yield f"| {name} | {' | '.join(cells)} |"


def _many(found: Mapping[str, Any]) -> Iterator[str]:
    """The race with many queries, and what sharing is worth then."""
    many = raced(found, "many")
    if many:
        yield f"With {found['size']['many_queries']} queries:"
        yield ""
        yield "| contender | a slot | all due |\n|---|---|---|"
        for name, one in many.items():
            yield f"| {name} | {_seconds(typical(one['refresh']))} | {_seconds(all_due(one))} |"
    shared = found.get("sharing")
    if shared:
        trees = "; ".join(
            f"{name} {one['trees']} {'tree' if one['trees'] == 1 else 'trees'}, {_seconds(typical(one['refresh']))}"
            for name, one in shared.items()
            if name != "queries"
        )
        yield ""
        yield f"{shared['queries']} queries over a smaller archive, a refresh by planner: {trees}."


def _techniques(found: Mapping[str, Any]) -> str:
    """The same few queries, folded in each way."""
    times = (f"{name} {_seconds(typical(samples))}" for name, samples in found["techniques"].items())
    return (
        "Four queries by key over the smaller archive, each folded in the way that its file names (techniques run in "
        f"Python, and keep their states from refresh to refresh), a refresh: {'; '.join(times)}."
    )


def _ours(found: Mapping[str, Any]) -> str:
    ours, stored = found["contenders"][OURS], found["bytes"]
    share = stored["partials_mb"] / stored["archive_mb"]
    return (
        f"Ours: archive {stored['archive_mb']:.0f} MB, partials {stored['partials_mb']:.1f} MB ({share:.1%}), "
        f"answers {stored['answers_mb']:.1f} MB; {_peak(ours['refresh']):.0f} MB of memory for a refresh. The first "
        f"refresh, of {ours['first']['stale']:,} batches of partials and {ours['first']['reports']:,} answers, took "
        f"{_seconds(ours['first']['seconds'])}."
    )


def _laps(found: Mapping[str, Any]) -> Iterator[str]:
    ours = found["contenders"][OURS]
    kinds = {
        "first": [ours["first"]],
        "a slot": ours["refresh"][:-1] or ours["refresh"],
        "all due": ours["refresh"][-1:],
        **{words: [ours[stage]] for stage, words in CORRECTIONS.items()},
        "24 h at once": [ours["day"]],
        "one query": found["one_query"],
    }
    names = list(dict.fromkeys(name for samples in kinds.values() for one in samples for name in one["laps_ms"]))
    yield f"| refresh | {' | '.join(names)} | processor time of all |"
    yield f"|---|{'---|' * (len(names) + 1)}"
    for kind, samples in kinds.items():
        times = [median(one["laps_ms"].get(name, 0) for one in samples) for name in names]
        times.append(1000 * median(one["processor_seconds"] for one in samples))
        yield f"| {kind} | {' | '.join(f'{time:.0f}' for time in times)} |"


def _growth(found: Mapping[str, Any]) -> str:
    times = (
        f"{one['queries']:,} queries {_seconds(typical(one['refresh']))} "
        f"({_seconds(median(sample['processor_seconds'] for sample in one['refresh'][:-1]))} of processor)"
        for one in found["growth"]
    )
    return f"A refresh of ever more queries, over a smaller archive: {', '.join(times)}."


def _growing(found: Mapping[str, Any]) -> Iterator[str]:
    """Longer windows, and a long history."""
    windows = found.get("longer_windows")
    if windows:
        times = (
            f"{one['hours']} h {_seconds(typical(one['refresh']))} "
            f"({_seconds(median(sample['processor_seconds'] for sample in one['refresh'][:-1]))} of processor)"
            for one in windows
        )
        yield f"A refresh of ever longer windows at the same batches, a query of each group-by: {', '.join(times)}."
    history = found.get("history")
    if history:
        first, last = ends_of(history["hundreds"])
        measures = (
            f"{words} {first[name]:{form}} and {last[name]:{form}}{unit}"
            for name, words, form, unit in (
                ("seconds", "a refresh", ".3f", " s"), ("processor_seconds", "of processor", ".3f", " s"),
                ("resident_mb", "memory", ".0f", " MB"), ("live_files", "current files", ",.0f", ""),
                ("files", "files with those of half a minute of grace", ",.0f", ""),
                ("ledger_files", "of them history that stays", ",.0f", ""),
            )
        )  # fmt: skip
        yield (
            f"{history['refreshes']:,} refreshes of one archive, of whose records none lives longer than 3 hours, with "
            f"{history['queries']} queries and a vacuum now and then; medians of the second hundred and the last: "
            f"{', '.join(measures)}."
        )


def _peak(samples: Sequence[Mapping[str, Any]]) -> float:
    return max(float(one["peak_mb"]) for one in samples)


def _best(samples: Sequence[Mapping[str, Any]]) -> float:
    """The last: warm."""
    return float(samples[-1]["seconds"])


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"
