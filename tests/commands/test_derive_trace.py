"""`tidewheel derive trace`: generated streams through the literature's engines, as a user types it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from tidewheel.cli import main
from tidewheel.queries.literature.engines import NAMES


def answer(*words: str) -> Any:
    found = CliRunner().invoke(main, ["derive", "trace", *words])
    return found


def told(*words: str) -> Any:
    found = answer(*words, "--json", "--window", "12", "--sources", "6")
    assert found.exit_code == 0, found.output
    return json.loads(found.output)


@pytest.mark.parametrize("stream", ["Q1", "Q1 telnet", "Q2", "Q2 pairs", "Q3", "Q4", "Q4 join up"])
def test_all_engines_give_the_judges_answers(stream: str) -> None:
    found = told("--stream", stream, "--compare", "--every", "4")
    assert list(found["engines"]) == list(NAMES)
    carried_out = {name: one for name, one in found["engines"].items() if "refused" not in one}
    assert all(one["as_the_judge"] for one in carried_out.values())
    answers = [one["answers"] for one in carried_out.values()]
    assert any(one["rows"] for one in answers[0])
    assert all(one == answers[0] for one in answers)
    assert [one["at"] for one in answers[0]] == list(range(4, 49, 4))
    assert set(found["engines"]) - set(carried_out) == (set() if stream < "Q3" else {"DIRECT"})


def test_a_run_every_so_often_loses_results() -> None:
    lost = {(stream, every): told("--stream", stream, "--every", every)["engines"]["UPA(10)"]["lost"]
            for stream in ("Q1 telnet", "Q3") for every in ("1", "6")}  # fmt: skip
    assert lost["Q1 telnet", "1"] == lost["Q3", "1"] == 0
    assert lost["Q1 telnet", "6"] > 0 < lost["Q3", "6"]


def test_internal_windows_keep_what_was_produced() -> None:
    external, internal = (told("--stream", "Q1 telnet", *more)["engines"]["UPA(10)"] for more in ((), ("--internal",)))
    assert internal["as_the_judge"] is True
    assert len(internal["answers"][-1]["rows"]) == internal["results"] > len(external["answers"][-1]["rows"])


def test_a_page_for_people() -> None:
    found = answer("--stream", "Q3", "--compare", "--window", "10", "--no-judge").output
    assert "▷ NOT EXISTS L1.source = L2.source  STR by NEG: needs corrections" in found
    assert "DIRECT: Direct expiration impossible" in found
    assert "not judged" in found
    assert "the answer at 40: " in answer("--stream", "Q2", "--window", "10").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stream", "Q9"], "no generated stream is named Q9"),
        (["--stream", "Q1", "--engine", "fast"], "no engine is named fast"),
        (["--stream", "Q3", "--engine", "DIRECT"], "use negative-tuple mode"),
        (["--stream", "Q2", "--internal"], "INTERNAL window not allowed"),
        (["--stream", "Q1", "--every", "999"], "a run every 999 ticks, of 200"),
    ],
)
def test_what_is_refused(words: list[str], said: str) -> None:
    found = answer(*words)
    assert (found.exit_code, said in found.output) == (2, True), found.output
