"""What is measured beside the race, ours alone: one query among nothing, very many groups, ever more queries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.archives.feeding import feed
from benchmarks.standing.ours import Ours
from benchmarks.standing.stream import AXIS, SLOT_ZERO, Size, batch, queries, query_text, read
from tidewheel.local.answers.by_technique import KERNELS, SQL
from tidewheel.queries.choice import TECHNIQUES
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.standing.query import Query
from tidewheel.queries.technique import ANY_CLASS

Samples = list[dict[str, Any]]
Say = Callable[[str], None]
GROWTH_ROWS = 2_800
GROWTH_SLOTS = 300
GROWTH_MEASURED = 6
# A tree for each of many queries has very many batches.
SHARING_SLOTS, SHARING_MEASURED = 48, 3
PLANNERS = {"planned": "", "By Group": "By Group", "Weave Share": "Weave Share", "Shared": "Shared",
            "No Share": "No Share"}  # fmt: skip
SELECTS = {"sums": ("sum(v) as total", AlgebraClass.INV), "maxima": ("max(v) as most", AlgebraClass.SEL)}
TECHNIQUE_QUERIES = 4
WAYS = {KERNELS: ANY_CLASS, SQL: ANY_CLASS, **{one.name: one.classes for one in TECHNIQUES}}


def one_query(ours: Ours, slots: Sequence[int]) -> Samples:
    """The fixed part: an archive that is asked one thing, which has an answer of 20 rows in every slot."""
    slide_us = AXIS.interval_us
    text = query_text("one", "count(*) as n, sum(v) as total", ["region"], 12 * slide_us, slide_us, 'revise = "5m"\n')
    ours.ask(read([text]))
    ours.refresh()
    return refreshed(ours, slots)


def many_groups(folder: Path, size: Size) -> dict[str, Any]:
    """One query of very many groups, slide by slide."""
    wanted, slide_us = size.many_groups, AXIS.interval_us
    text = query_text("many", "count(*) as n, sum(v) as total", ["key"], 12 * slide_us, slide_us, 'revise = "5m"\n')
    ours = Ours(folder, size, read([text]), SLOT_ZERO)
    samples = []
    for slot in range(SLOT_ZERO, SLOT_ZERO + 4):
        rows = batch(size, slot, rows=wanted)
        keys = pa.array([f"g{number:06}" for number in range(wanted)])
        feed(ours.job, [slot], rows.set_column(rows.schema.get_field_index("key"), "key", keys))
        samples.append(ours.refresh())
    shutil.rmtree(folder)
    return {"groups": wanted, "refresh": samples}


def growth(folder: Path, size: Size, say: Say) -> Samples:
    """Ever more queries of the same group-bys, over copies of one archive: what a refresh takes, slot by slot."""
    small = replace(size, rows=min(size.rows, GROWTH_ROWS), slots=min(size.slots, GROWTH_SLOTS))
    measured = range(SLOT_ZERO - min(GROWTH_MEASURED, small.slots - 1), SLOT_ZERO)
    found = []
    for count in size.growth:
        say(f"{count} queries")
        asked = queries(replace(small, queries=count, keep="10m", revise_minutes=5))
        first, samples, _ = over_a_copy(folder, small, asked, measured)
        found.append({"queries": count, "first": first, "refresh": samples})
    shutil.rmtree(folder)
    return found


def sharing(folder: Path, size: Size, say: Say) -> dict[str, Any]:
    """Many queries in the trees of the default planner, of others, and with a tree for each: what a refresh takes."""
    if not size.many_queries:
        return {}
    asked = queries(replace(_small(size), queries=size.many_queries, keep="10m", revise_minutes=5))
    found: dict[str, Any] = {"queries": size.many_queries}
    for name, planner in PLANNERS.items():
        say(f"{size.many_queries} queries, {name}")
        found[name] = _measured(folder, size, asked, planner)
    shutil.rmtree(folder)
    return found


def techniques(folder: Path, size: Size, say: Say) -> dict[str, Any]:
    """The same queries folded by the kernels, by SQL and by each technique that serves them: what a refresh takes."""
    found = {}
    for name, classes in WAYS.items():
        for kind, (select, asked_class) in SELECTS.items():
            if asked_class in classes:
                say(f"{kind} by {name}")
                asked = read([_of_technique(name, select, number) for number in range(TECHNIQUE_QUERIES)])
                found[f"{kind}, {name}"] = _measured(folder, size, asked, "")["refresh"]
    shutil.rmtree(folder)
    return found


def _of_technique(name: str, select: str, number: int) -> str:
    rest = f'revise = "5m"\ntechnique = "{name}"\n'
    window_us = AXIS.interval_us * (6 + 3 * number)
    return query_text(f"q{number}", select, ["key"], window_us, AXIS.interval_us, rest, keep="10m")


def _small(size: Size) -> Size:
    return replace(size, rows=min(size.rows, GROWTH_ROWS), slots=min(size.slots, SHARING_SLOTS))


def _measured(folder: Path, size: Size, asked: Sequence[Query], planner: str) -> dict[str, Any]:
    """Refreshes of some queries, over a copy of a small archive."""
    small = _small(size)
    measured = range(SLOT_ZERO - min(SHARING_MEASURED, small.slots - 1), SLOT_ZERO)
    begun, samples, trees = over_a_copy(folder, small, asked, measured, planner)
    return {"trees": trees, "first": begun, "refresh": samples}


def over_a_copy(
    folder: Path, size: Size, asked: Sequence[Query], measured: range, planner: str = ""
) -> tuple[dict[str, Any], Samples, int]:
    """The first refresh of some queries, those of some slots after it, and how many trees there are.

    The archive before these slots is made once for a folder, and copied for each.
    """
    begin = measured.stop - size.slots
    if not (folder / "base").exists():
        Ours(folder / "base", size, (), begin).load(range(begin, measured.start))
    copy = folder / "copy"
    shutil.copytree(folder / "base", copy, copy_function=os.link)  # files never change
    ours = Ours(copy, size, asked, begin)
    ours.handle = replace(ours.handle, planner=planner)
    first = ours.refresh()
    trees = len(ours.handle.assignment().trees)
    samples = refreshed(ours, measured)
    shutil.rmtree(copy)
    return first, samples, trees


def refreshed(ours: Ours, slots: Sequence[int]) -> Samples:
    samples = []
    for slot in slots:
        feed(ours.job, [slot], batch(ours.size, slot))
        samples.append(ours.refresh())
    return samples
