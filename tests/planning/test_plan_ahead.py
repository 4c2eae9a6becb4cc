"""`tidewheel plan --schedule` and `--what-if`: how late answers would be, and what new queries would come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidewheel.archive
from tests.support.archives.asked_archive import asked_archive
from tidewheel.cli import main
from tidewheel.queries.scheduling.schedulers import SCHEDULERS

LIFE = 'revise = "5m"\nkeep = "1h"\n'


def body(name: str, select: str, window: str, slide: str = "1m", group: str = "") -> str:
    groups = f'group_by = ["{group}"]\n' if group else ""
    when = f'window = "{window}"\nslide = "{slide}"\n{LIFE}'
    return f'[[query]]\nname = "{name}"\nof = "m"\nselect = "{select}"\n{groups}{when}'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ahead")
    there = [
        body(f"q{at}", "sum(v) as v", f"{2 + at % 3}m", f"{1 + at % 2}m", "k" if at % 2 else "") for at in range(6)
    ]
    asked_archive(folder, "".join(there))
    return folder


@pytest.fixture(autouse=True)
def _here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(place / "archives"))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "m", *words])
    shown = capsys.readouterr()
    assert ended.value.code in (0, None), shown.err
    return shown.out


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, "--json", *words))
    return found


def test_too_little_even_for_partials_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--json", "--schedule", "--budget", "0.0001")
    assert "Infinity" not in text
    assert json.loads(text)["schedule"]["lateness_forecast_slots"] is None
    shown = run(capsys, "--schedule", "--budget", "0.0001")
    assert "less than partials take" in shown
    assert "ever later" in shown


def test_with_time_enough_nothing_is_late(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = told(capsys, "--schedule")["schedule"]
    assert list(schedule["schedulers"]) == [one.name for one in SCHEDULERS]
    assert schedule["lateness_forecast_slots"] == 0
    assert all(one["latency"] == 0 for one in schedule["schedulers"].values())
    assert schedule["effective_period_s"] == {f"q{at}": 60 * (1 + at % 2) for at in range(6)}
    assert "every answer comes in its slot" in run(capsys, "--schedule")


def test_with_too_little_time_all_periods_stretch(capsys: pytest.CaptureFixture[str]) -> None:
    demand = told(capsys, "--schedule")["schedule"]["demand_s"]
    schedule = told(capsys, "--schedule", "--budget", str(demand * 0.95))["schedule"]
    assert schedule["lateness_forecast_slots"] > 0
    late = {name: one["latency"] for name, one in schedule["schedulers"].items()}
    assert late["H-LP"] <= late["No-S"]
    assert any(every > 60 * (1 + int(name[1:]) % 2) for name, every in schedule["effective_period_s"].items())
    assert "slots late" in run(capsys, "--schedule", "--budget", str(demand * 0.95))


def test_what_new_queries_would_come_to(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = tidewheel.archive.open("m").queries
    queries.refresh()
    new = tmp_path / "new.toml"
    texts = [body("same", "sum(v) as w", "2m", "2m"), body("other", "max(x) as x", "2m"),
             body("served", "count(*) as n", "3m"), body("long", "min(v) as v", "1h")]  # fmt: skip
    new.write_text("".join(texts))
    found = told(capsys, "--what-if", str(new))
    cases = {one["query"]: one["case"] for one in found["queries"]}
    assert cases == {"same": "alias", "other": "backfill", "served": "attach", "long": "new"}
    by_name = {one["query"]: one for one in found["queries"]}
    assert by_name["same"]["uses"] == "q0"
    assert (by_name["other"]["exact_from"], by_name["other"]["effective_period_s"]) == (None, 60)
    assert by_name["long"]["exact_from"] == "1970-01-01T01:02:00Z", "records of two slots have expired"
    assert found["after"]["demand_s"] > found["before"]["demand_s"]
    assert "at once" in run(capsys, "--what-if", str(new))
    assert {one.name for one in queries.check()} == {f"q{at}" for at in range(6)}, "nothing is registered"


@pytest.mark.parametrize(
    ("text", "said"),
    [(body("q0", "sum(v) as v", "2m"), "has a query q0 already"), ("[query", "new.toml"),
     (body("a", "sum(v) as v", "2m").replace('"m"', '"other"', 1), "asks other")],
)  # fmt: skip
def test_files_that_cannot_be_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    new = tmp_path / "new.toml"
    new.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["plan", "m", "--what-if", str(new)])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
