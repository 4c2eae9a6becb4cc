"""The thesis's findings (Golab 2006, chapter 4) beside what the same experiments say here, and its figures as tables.

Its machine was a Pentium IV with one disk, its records 1000 bytes with 100 keys, its windows 500 MB and 5 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.results import Results
from benchmarks.harness.summary import Summary

SIZES = {"thesis_500_mb": "500 MB", "thesis_5_gb": "5 GB"}
NS = (1, 4, 9, 16, 25, 36)
Race = Mapping[str, Summary]


def _systems() -> Iterator[tuple[str, dict[int, str]]]:
    """Those of figures 4.4 to 4.11, and what came after the thesis: by n, the contender's name.

    With one sub-index all layouts are the same, and run once. As in the thesis, no_rebuild has no bounds.
    """
    for kind, words in (("rr", "round robin"), ("chr", "chronological"), ("rnd", "randomized")):
        for strategy, bounds in (("rebuild", ""), ("no_rebuild", "_unbounded"), ("expire_rebuild", "")):
            squares = {n: f"{kind}_{strategy}_{round(n**0.5)}x{round(n**0.5)}{bounds}" for n in NS}
            yield f"{words}, {strategy}", {**squares, 1: f"rr_{strategy}_1x1{bounds}"}
    for letter in "RD":
        for by in ("ins", "exp"):
            waves = {n: f"{letter}_{by}_{n}" for n in NS}
            yield f"wave index {letter}-{by}", {**waves, 1: "rr_rebuild_1x1"} if letter == "R" else waves


SYSTEMS = dict(_systems())


def by_n(found: Race, system: str) -> list[tuple[int, Summary]]:
    """A system's contenders that were measured, by n."""
    return [(n, found[name]) for n, name in SYSTEMS[system].items() if name in found]


@dataclass(frozen=True)
class Finding:
    """What the thesis found, and how the same is told from a race's results: text, or None where it cannot be."""

    what: str
    thesis: str
    told: Callable[[Race], str | None]


def _times(
    slow: str, fast: str, measure: Callable[[Summary], float] = lambda one: one.update_seconds, form: str = ".1f"
) -> Callable[[Race], str | None]:
    def told(found: Race) -> str | None:
        if slow not in found or fast not in found:
            return None
        return f"{measure(found[slow]) / measure(found[fast]):{form}}×"

    return told


def _saved(ours: str, others: tuple[str, ...], measure: Callable[[Summary], float]) -> Callable[[Race], str | None]:
    """By how much less `ours` takes than each of the others."""

    def told(found: Race) -> str | None:
        if ours not in found or not all(other in found for other in others):
            return None
        return ", ".join(_percent(1 - measure(found[ours]) / measure(found[other])) for other in others)

    return told


def _round_robin_saves(found: Race) -> str | None:
    others = dict(by_n(found, "chronological, rebuild"))
    pairs = [(one, others[n]) for n, one in by_n(found, "round robin, rebuild") if n > 1 and n in others]
    if not pairs:
        return None
    return _percent(float(np.mean([1 - rr.update_seconds / chr_.update_seconds for rr, chr_ in pairs])))


def _best_n(found: Race) -> str | None:
    best = []
    for system in ("round robin, rebuild", "wave index R-ins"):
        points = by_n(found, system)
        if len(points) >= 3:
            best.append(f"{system}: {min(points, key=lambda point: point[1].update_seconds)[0]}")
    return "; ".join(best) or None


FINDINGS = (
    Finding("update: doubly partitioned (4×4) is faster than R-ins 16", "2-3×", _times("R_ins_16", "rr_rebuild_4x4")),
    Finding("update: ... than R-exp 16", "2×", _times("R_exp_16", "rr_rebuild_4x4")),
    Finding("update: round robin saves against chronological", "10-20 %", _round_robin_saves),
    Finding(
        "update: 4×4 saves against 2×8, 8×2",
        "about 20 %",
        _saved("rr_rebuild_4x4", ("rr_rebuild_2x8", "rr_rebuild_8x2"), lambda one: one.update_seconds),
    ),
    Finding(
        "update: no_rebuild saves against rebuild (3×3)",
        "5-9 %",
        _saved("rr_no_rebuild_3x3_unbounded", ("rr_rebuild_3x3",), lambda one: one.update_seconds),
    ),
    Finding(
        "probe: rebuild saves against no_rebuild (3×3)",
        "1-3 %",
        _saved("rr_rebuild_3x3", ("rr_no_rebuild_3x3_unbounded",), lambda one: one.probe_ms),
    ),
    Finding("the n of the fastest updates", "16; still falling at 25 at 5 GB; wave index 9", _best_n),
    Finding(
        "update: what the directory costs (unindexed saves)",
        "about 20 %",
        _saved("unindexed_rr_rebuild_4x4", ("rr_rebuild_4x4",), lambda one: one.update_seconds),
    ),
    Finding(
        "probe of 1 % of the records: what the directory gains",
        "100×",
        _times("unindexed_rr_rebuild_4x4", "rr_rebuild_4x4", lambda one: one.probe_ms, ".0f"),
    ),
)  # fmt: skip


def findings(results: Results) -> Iterator[tuple[Finding, list[str]]]:
    """Each finding with what every size says; a dash where it was not measured."""
    for one in FINDINGS:
        told = [one.told(results.race(race)) for race in SIZES]
        if any(told):
            yield one, [text or "-" for text in told]


def fluctuation(results: Results) -> str | None:
    """What a rate that swings by up to 4× costs by the byte written, against the same contenders at a constant rate."""
    steady, swinging = results.race("thesis_500_mb"), results.race("fluctuating")

    def by_byte(one: Summary) -> float:
        return one.update_seconds / one.written_mb

    names = [name for name in ("rr_rebuild_4x4", "R_ins_16") if name in steady and name in swinging]
    slower = [f"{steady[name].label} {_percent(by_byte(swinging[name]) / by_byte(steady[name]) - 1)}" for name in names]
    return ", ".join(slower) or None


def section(results: Results) -> str:
    """The section of the page; empty where neither size was measured."""
    rows = [f"| {one.what} | {one.thesis} | {' | '.join(told)} |" for one, told in findings(results)]
    if not rows:
        return ""
    if (slower := fluctuation(results)) is not None:
        rows.append(
            f"| update, by the byte: at a rate that swings by 4×, slower by | several per cent | {slower} | - |"
        )
    header = f"| what | thesis | {' | '.join(f'here, {size}' for size in SIZES.values())} |\n|---|---|---|---|\n"
    tables = [_table(results.race(race), size) for race, size in SIZES.items() if results.race(race)]
    return "\n\n".join(["## The thesis's experiments", _INTRODUCTION, header + "\n".join(rows), *tables])


_INTRODUCTION = """One record a time unit, lives uniform over the window, 36 updates a window, 100 keys; here as Parquet
files, on two cores. What seeks cost on its disk does not come again: cost is linear in bytes, so that what writes
less is faster by just that much."""


def _table(found: Race, size: str) -> str:
    title = f"**{size}**: mean update in s / median probe in ms, by the number of sub-indices n."
    lines = [f"| system | {' | '.join(f'n = {n}' for n in NS)} |", "|---" * (len(NS) + 1) + "|"]
    for system in SYSTEMS:
        points = dict(by_n(found, system))
        if any(n > 1 for n in points):
            cells = [f"{one.update_seconds:.2f} / {one.probe_ms:.0f}" if (one := points.get(n)) else "-" for n in NS]
            lines.append(f"| {system} | {' | '.join(cells)} |")
    squares = {one.name for system in SYSTEMS for _, one in by_n(found, system)}
    others = sorted((one for one in found.values() if one.name not in squares), key=lambda one: one.update_seconds)
    rest = "; ".join(f"{one.label} {one.update_seconds:.2f} / {one.probe_ms:.0f}" for one in others)
    return "\n\n".join([title, "\n".join(lines), *([f"Others: {rest}."] if rest else [])])


def _percent(share: float) -> str:
    return f"{share:.0%}"
