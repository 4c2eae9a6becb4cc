"""Answers drawn over time: a row for each group, a column for each report, peaks kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib import colormaps
from matplotlib.image import imread
from rich.console import Console

from tests.support.archives.asked_archive import asked_archive
from tests.support.services.lacking import environment_without, tidewheel_in
from tidewheel.cli import main
from tidewheel.figures.answer_plot import GROUPS_SHOWN, AnswerPlot, line


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


# By the command.


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive whose queries are answered."""
    folder = tmp_path_factory.mktemp("plotted")
    asked_archive(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEWHEEL_ARCHIVES", str(folder / "archives"))
        assert CliRunner().invoke(main, ["refresh", "m"]).exit_code == 0
    return folder


def asked(folder: Path, *arguments: str) -> Result:
    return CliRunner(env={"TIDEWHEEL_ARCHIVES": str(folder / "archives")}).invoke(main, ["ask", "m", *arguments])


def test_answers_are_drawn_in_the_terminal(refreshed: Path) -> None:
    lines = asked(refreshed, "total", "--last", "6", "--plot").output.splitlines()
    assert "total   1970-01-01T00:01Z to 1970-01-01T00:06Z" in lines
    assert any("▂▅▆▇▇█" in line or "█" in line for line in lines)
    assert "last 45, largest 45" in "\n".join(lines)
    assert "k = b" in asked(refreshed, "by_key", "--last", "6", "--plot").output


def test_answers_are_drawn_as_a_picture(refreshed: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "by_key.png"
    done = asked(refreshed, "by_key", "--last", "6", "--plot", str(path), "--json")
    assert json.loads(done.stdout) == {"query": "by_key", "file": str(path)}
    pixels = imread(path)
    height, width, _ = pixels.shape
    assert (width, height) == (1080, 768), "a plot for each of two numbers"
    colours = {tuple((255 * pixel[:3]).round().astype(int)) for pixel in pixels.reshape(-1, 4)[::7]}
    lines = {tuple(round(255 * part) for part in colormaps["tab20"](number)[:3]) for number in (0, 1)}
    assert lines <= colours, "a line of each group"


def test_what_is_no_picture_is_refused(refreshed: Path, tmp_path: Path) -> None:
    done = asked(refreshed, "--plot", "total")
    assert done.exit_code == 2
    done = asked(refreshed, "total", "--plot", "answers.pdf")
    assert (done.exit_code, "write --plot last" in done.output) == (2, True)
    done = asked(refreshed, "total", "--where", "total < 0", "--plot", str(tmp_path / "none.png"))
    assert (done.exit_code, "no number to draw" in done.output) == (2, True)
    assert not (tmp_path / "none.png").exists()


def test_without_the_library_the_terminal_is_drawn_on(
    refreshed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(refreshed / "archives"))
    packages = environment_without(tmp_path / "packages", "matplotlib", "mpl_toolkits")
    done = tidewheel_in(packages, "ask", "m", "total", "--plot", "total.png", cwd=tmp_path)
    assert (done.returncode, "pip install 'tidewheel[plots]'" in done.stderr) == (7, True)
    done = tidewheel_in(packages, "ask", "m", "total", "--plot", cwd=tmp_path)
    assert (done.returncode, "█" in done.stdout) == (0, True)
