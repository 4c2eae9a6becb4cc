"""What is measured beside the race, ours alone: one query among nothing, very many groups, ever more queries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.feeding import feed
from benchmarks.standing.ours import Ours
from benchmarks.standing.stream import AXIS, SLOT_ZERO, Size, batch, queries, query_text, read

Samples = list[dict[str, Any]]
Say = Callable[[str], None]
GROWTH_ROWS = 2_800
GROWTH_SLOTS = 300
GROWTH_MEASURED = 6
# A tree for each of many queries has very many batches.
SHARING_SLOTS, SHARING_MEASURED = 48, 3


def one_query(ours: Ours, slots: Sequence[int]) -> Samples:
    """The fixed part: an archive that is asked one thing, which has an answer of 20 rows in every slot."""
    slide_us = AXIS.interval_us
    text = query_text("one", "count(*) as n, sum(v) as total", ["region"], 12 * slide_us, slide_us, 'revise = "5m"\n')
    ours.ask(read([text]))
    ours.refresh()
    return _refreshed(ours, slots)


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
    first = SLOT_ZERO - small.slots
    Ours(folder / "base", small, (), first).load(range(first, measured.start))
    found = []
    for count in size.growth:
        say(f"{count} queries")
        copy = folder / str(count)
        shutil.copytree(folder / "base", copy, copy_function=os.link)  # files never change
        asked = queries(replace(small, queries=count, keep="10m", revise_minutes=5))
        ours = Ours(copy, small, asked, first)
        begun = ours.refresh()
        found.append({"queries": count, "first": begun, "refresh": _refreshed(ours, measured)})
        shutil.rmtree(copy)
    shutil.rmtree(folder)
    return found


def sharing(folder: Path, size: Size, say: Say) -> dict[str, Any]:
    """Many queries in the trees of the default planner, and with a tree for each: what a refresh takes."""
    if not size.many_queries:
        return {}
    small = replace(size, rows=min(size.rows, GROWTH_ROWS), slots=min(size.slots, SHARING_SLOTS))
    asked = queries(replace(small, queries=size.many_queries, keep="10m", revise_minutes=5))
    measured = range(SLOT_ZERO - min(SHARING_MEASURED, small.slots - 1), SLOT_ZERO)
    first = SLOT_ZERO - small.slots
    Ours(folder / "base", small, (), first).load(range(first, measured.start))
    found: dict[str, Any] = {"queries": size.many_queries}
    for name, planner in (("planned", ""), ("No Share", "No Share")):
        say(f"{size.many_queries} queries, {name}")
        copy = folder / "copy"
        shutil.copytree(folder / "base", copy, copy_function=os.link)
        ours = Ours(copy, small, asked, first)
        ours.handle = replace(ours.handle, planner=planner)
        begun = ours.refresh()
        trees = len(ours.handle.assignment().trees)
        found[name] = {"trees": trees, "first": begun, "refresh": _refreshed(ours, measured)}
        shutil.rmtree(copy)
    shutil.rmtree(folder)
    return found


def _refreshed(ours: Ours, slots: Sequence[int]) -> Samples:
    samples = []
    for slot in slots:
        feed(ours.job, [slot], batch(ours.size, slot))
        samples.append(ours.refresh())
    return samples
