"""The heat map: every sub-index has its square, and squares shrink with the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tidewheel.figures.heatmap import HeatMap
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.rules.status import SubIndexStatus


def generation(g: int, e: int, number: int = 0) -> Generation:
    return Generation(number, Layout(LayoutKind.ROUND_ROBIN, g, e, span=36), Strategy.REBUILD)


def square(g: int, e: int, rows: int, number: int = 0) -> SubIndexStatus:
    return SubIndexStatus(number, g, e, rows, rows // 4, rows * 10, files=2, runs=2)


def drawn(heat_map: HeatMap, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(heat_map)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_square_has_all_figures_where_there_is_room() -> None:
    lines = drawn(HeatMap([generation(2, 2)], [square(0, 0, 12_345), square(1, 1, 100)], {(0, 0, 0): "●"}), 100)
    text = "\n".join(lines)
    assert lines[0] == "layout 0: 2×2 round_robin, rebuild"
    for figure in ("●██ 12.3k", "123 kB", "25% dead", "2 runs", "░░ 100", "·"):
        assert figure in text
    assert lines[2].startswith("g0")
    assert lines[6].startswith("g1")


@pytest.mark.parametrize(("width", "figure"), [(100, "10 kB"), (36, " 1k"), (16, "█")])
def test_squares_shrink(width: int, figure: str) -> None:
    lines = drawn(HeatMap([generation(1, 3)], [square(0, e, 1000) for e in range(3)]), width)
    row = next(line for line in lines if line.startswith("g0"))
    assert figure in "\n".join(lines)
    assert row.count("█") in (3, 6)
    assert all(len(line) <= max(width, len(lines[0])) for line in lines)


def test_an_old_layout_shows_while_it_holds_records() -> None:
    old, new = generation(1, 1, number=0), generation(1, 2, number=1)
    assert sum(line.startswith("layout") for line in drawn(HeatMap([old, new], [square(0, 0, 5)]), 80)) == 2
    assert sum(line.startswith("layout") for line in drawn(HeatMap([old, new], [square(0, 0, 5, number=1)]), 80)) == 1


def test_an_empty_archive_has_a_grid() -> None:
    assert "·" in "".join(drawn(HeatMap([generation(1, 4)], []), 80))
