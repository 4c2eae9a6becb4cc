"""Workloads for the tests of planners: from vectors, from seeds."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tidewheel.queries.planning.cost_model import ModelMaker, PanesModel
from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.phases import window_starting
from tidewheel.queries.planning.plan import Draw, Sharing
from tidewheel.queries.planning.workload import Workload, workload_of
from tidewheel.queries.windows import Window

VECTORS = Path(__file__).parents[2] / "query_vectors"


def pages(file: str) -> dict[str, Any]:
    found = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    assert found["vectors"]
    return found


def vectors(file: str) -> list[Any]:
    return [pytest.param(vector, id=vector["name"]) for vector in pages(file)["vectors"]]


def numbered(windows: list[Window], rate: Fraction | int | str, first: int = 0) -> Workload:
    return workload_of({str(at): window for at, window in enumerate(windows, start=first)}, rate)


def loom_of(queries: list[list[int]], rate: str, model: ModelMaker = PanesModel) -> Loom:
    """Queries as [range, slide, where windows begin], which is 0 unless said."""
    windows = [window_starting(query[0], query[1], query[2] if len(query) > 2 else 0) for query in queries]
    return Loom(numbered(windows, rate), model)


def chance(seed: int = 1) -> Draw:
    return random.Random(seed).randrange


def numbers(plan: Sharing) -> list[list[int]]:
    return [[int(name) for name in tree] for tree in plan.trees]


def members(trees: list[Tree]) -> list[list[int]]:
    return sorted(list(tree.members) for tree in trees)


def random_windows(draw: random.Random, size: int, slide_max: int = 15, offsets: bool = False) -> list[Window]:
    found = []
    for _ in range(size):
        slide = draw.randint(1, slide_max)
        found.append(Window(draw.randint(1, 8 * slide_max), slide, draw.randrange(slide) if offsets else 0))
    return found
