"""`tidewheel derive trace`: generated streams through the literature's engines, as a user types it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from tidewheel.cli import main
from tidewheel.queries.literature.engines import NAMES
from tidewheel.queries.literature.joins.family import Joins


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
    refused = set(found["engines"]) - set(carried_out)
    assert refused == (set() if stream < "Q3" else {"DIRECT"}) | (
        set() if stream.startswith("Q1") else set(Joins.names)
    )


def test_a_run_every_so_often_loses_results() -> None:
    lost = {(stream, every): told("--stream", stream, "--every", every)["engines"]["UPA(10)"]["lost"]
            for stream in ("Q1 telnet", "Q3") for every in ("1", "6")}  # fmt: skip
    assert lost["Q1 telnet", "1"] == lost["Q3", "1"] == 0
    assert lost["Q1 telnet", "6"] > 0 < lost["Q3", "6"]


def test_a_lazy_join_loses_what_a_restoring_one_reports_late() -> None:
    found = told("--stream", "Q1 telnet", "--compare", "--every", "6")["engines"]
    lost = {name: found[name]["lost"] for name in ("eager", "lazy", "lazy_naive", "lazyR")}
    assert lost == {"eager": 0, "lazy": lost["lazy"], "lazy_naive": lost["lazy"], "lazyR": 0}
    assert found["lazyR"]["restored"] == lost["lazy"] == found["UPA(10)"]["lost"] > 0
    assert len({one["results"] for one in found.values()}) == 1


TABLE = ("--stream", "Table 5.5", "--ticks", "12", "--every", "4")


def test_a_table_is_played_by_joins_of_any_engine() -> None:
    engines = [word for name in ("eager", "lazy(10)", "lazyR(10)", "UPA(10)") for word in ("--engine", name)]
    found = told(*TABLE, *engines, "--judge")
    assert all(one["as_the_judge"] for one in found["engines"].values())
    assert [one["at"] for one in found["engines"]["eager"]["answers"]] == [52, 104, 156]
    assert "in the order 2, 1, 3, 4, per unit of 13 ticks: 16,200 comparisons, 1,250 results" in found["expected"]
    hashed, loops = (told(*TABLE, "--engine", name)["engines"][name]["operations"] for name in ("lazy(5)", "lazy"))
    assert hashed["comparisons"] < loops["comparisons"]


def test_count_windows_are_joined_by_negative_tuples() -> None:
    found = told("--stream", "Table 5.5", "--rows", "20", "--ticks", "15", "--every", "3", "--compare", "--judge")[
        "engines"
    ]
    refused = {name for name, one in found.items() if "refused" in one}
    assert refused == {"DIRECT", "eager_lazyexp"}
    assert all(one["as_the_judge"] for name, one in found.items() if name not in refused)
    assert found["lazy"]["lost"] == found["lazyR"]["restored"] > 0
    assert found["eager"]["answers"][-1]["rows"]


def test_the_order_of_a_table_changes_its_cost_alone() -> None:
    found = {
        order: told(*TABLE, "--order", order, "--engine", "eager")["engines"]["eager"]
        for order in ("2,1,3,4", "3,4,1,2", "initial")
    }
    assert len({one["results"] for one in found.values()}) == 1
    assert found["2,1,3,4"]["operations"]["comparisons"] < found["3,4,1,2"]["operations"]["comparisons"]
    page = answer(*TABLE, "--order", "size").output
    assert "in the order 2, 3, 4, 1" in page
    assert " comparisons, " in page.splitlines()[-2]
    assert "lazyR" in page


def test_the_simplest_plan_gives_the_same_rows() -> None:
    below, above = (told("--stream", "Q4 join up", "--engine", "NT", *more) for more in ((), ("--simplify",)))
    assert [one["plan"][0].split()[0] for one in (below, above)] == ["⋈", "▷"]
    first, second = (one["engines"]["NT"] for one in (below, above))
    assert first["as_the_judge"] is second["as_the_judge"] is True
    rows = [[sorted(map(sorted, map(str, at["rows"]))) for at in one["answers"]] for one in (first, second)]
    assert rows[0] == rows[1]


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
        (["--stream", "Table 5.5", "--every", "999"], "a run every 999 units, of 150"),
        (["--stream", "Table 5.5", "--ticks", "5000"], "the answers of 500 runs are about 15,625,000 rows"),
        (["--stream", "Table 5.5", "--rows", "5", "--internal"], "INTERNAL is of time windows"),
        (["--stream", "Table 5.5", "--engine", "lazy(0)"], "0 buckets"),
        (["--stream", "Table 5.5", "--order", "best"], "no order is named best"),
        (["--stream", "Table 5.5", "--order", "1,1,2,3"], "1, 1, 2, 3 is no order of 4 inputs"),
        (["--stream", "Q2", "--engine", "eager"], "δ L1.source is no join of windows"),
        (["--stream", "Q1", "--engine", "lazy", "--every", "60"], "results would be lost wholesale"),
    ],
)
def test_what_is_refused(words: list[str], said: str) -> None:
    found = answer(*words)
    assert (found.exit_code, said in found.output) == (2, True), found.output
