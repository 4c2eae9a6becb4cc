"""Answers drawn over time: a row for each group, a column for each report, peaks kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console

from tidewheel.answer_plot import GROUPS_SHOWN, AnswerPlot, line


def drawn(plot: AnswerPlot, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(plot)
    return captured.get()


def rows(groups: int, reports: int) -> list[dict[str, Any]]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        {"g": f"g{group}", "window_end": start + timedelta(hours=at), "n": (group + 1) * at, "text": "x"}
        for group in range(groups) for at in range(reports)
    ]  # fmt: skip


def test_each_group_has_a_row_with_its_last_and_largest_number() -> None:
    text = drawn(AnswerPlot(["g"], ["n", "text"], rows(2, 8)))
    assert "n   2026-01-01T00:00Z to 2026-01-01T07:00Z" in text
    assert text.splitlines()[1].split("  ")[:2] == ["g = g1", "▁▂▃▄▅▆▇█"]
    assert "last 14, largest 14" in text
    assert "text" not in text


def test_what_is_many_is_cut_to_the_screen_and_said() -> None:
    text = drawn(AnswerPlot(["g"], ["n"], rows(GROUPS_SHOWN + 3, 500)))
    assert "and 3 more groups" in text
    assert max(map(len, text.splitlines())) <= 80


def test_peaks_stay_and_gaps_are_seen() -> None:
    times = list(range(1000))
    assert line({at: 100.0 if at == 777 else 1.0 for at in times}, times, 10).count("█") == 1
    assert line({0: 1.0, 9: 1.0}, list(range(10)), 80) == "█        █"
    assert line({0: -1.0, 1: 0.0, 2: 1.0}, [0, 1, 2], 80) == "▁▅█"


def test_without_a_number_it_says_so() -> None:
    assert "no number to draw" in drawn(AnswerPlot(["g"], ["text"], rows(1, 3)))
    assert "no number to draw" in drawn(AnswerPlot([], ["n"], []))
