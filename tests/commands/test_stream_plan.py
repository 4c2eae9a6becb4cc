"""`tidewheel derive plan`: described joins of streams, as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tidewheel.cli import main

# Example 1 of the literature, at 4 ms for each tuple that comes into a join.
EXAMPLE_1 = """
join_price = 0.004
[[stream]]
name = "A"
rate = 10
rows = 10
[[stream]]
name = "B"
rate = 20
rows = 10
[[stream]]
name = "C"
rate = 70
rows = 10
[[join]]
on = ["A", "B"]
selectivity = 0.5
[[join]]
on = ["B", "C"]
distinct = [5, 3]
"""


def answer(tmp_path: Path, *words: str, text: str = EXAMPLE_1, name: str = "streams.toml") -> Result:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(main, ["derive", "plan", "--streams", str(path), *words])


def told(tmp_path: Path, *words: str, text: str = EXAMPLE_1) -> Any:
    found = answer(tmp_path, *words, "--json", text=text)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_plan_that_just_fits(tmp_path: Path) -> None:
    found = answer(tmp_path)
    assert found.exit_code == 0, found.output
    assert found.output.splitlines() == [
        "⋈ B = C: 1,000 out, 100 valid, costs 0.88 (88.0 %)",
        "├ ⋈ A = B: 150 out, 50 valid, costs 0.12 (12.0 %)",
        "│ ├ stream A: 10 in, window 10 rows",
        "│ └ stream B: 20 in, window 10 rows",
        "└ stream C: 70 in, window 10 rows",
        "",
        "plan ((A B) C): tight (some plans fit), at saturation",
        "needs 1 of 1 per unit of time (100.0 %)",
        "memory 80 rows; 1,000 results",
    ]


def test_three_regimes(tmp_path: Path) -> None:
    regimes = {budget: told(tmp_path, "--budget", budget, "--drop")["regime"] for budget in ("3.6", "3.5", "0.9")}
    assert regimes == {"3.6": "abundant", "3.5": "tight", "0.9": "insufficient"}


def test_nothing_is_dropped_unasked(tmp_path: Path) -> None:
    found = answer(tmp_path, "--budget", "0.8")
    assert found.exit_code == 3
    assert "insufficient (no plan fits)" in found.stdout
    assert "keep" not in found.stdout
    assert "needs 1 of work per unit of time with its best plan ((A B) C); 0.8 available" in found.stderr
    assert "keeps about 70.6% of the results" in found.stderr


def test_what_is_dropped(tmp_path: Path) -> None:
    found = told(tmp_path, "--budget", "0.4", "--drop", "--what-if")
    assert found["plan"] == "(A (B C))"  # the cheapest plan would keep 17.3 %
    assert found["drops"]["kept_share"] == pytest.approx(0.280008, abs=1e-6)
    assert found["drops"]["scale"] == pytest.approx(1 / 0.280008, rel=1e-5)
    assert found["drops"]["keep"] == pytest.approx({"A": 1, "B": 0.989964, "C": 0.282847}, abs=1e-6)
    assert [one["plan"] for one in found["plans"]] == ["(A (B C))", "((A B) C)", "((A C) B)"]
    assert [one["kept_share"] for one in found["plans"]] == pytest.approx([0.280008, 0.173006, 0.081157], abs=1e-6)
    assert found["budgets"][-1]["kept_share"] == 1
    survivors = told(tmp_path, "--budget", "0.8", "--drop", "--window-of", "survivors")["drops"]
    assert (survivors["results"], survivors["scale"]) == (pytest.approx(2750 / 3), None)
    assert survivors["keep"] == pytest.approx({"A": 13 / 18, "B": 13 / 18, "C": 1})


def test_the_page_with_drops(tmp_path: Path) -> None:
    text = answer(tmp_path, "--budget", "0.8", "--drop", "--what-if", "--simulate", "2").output
    assert "stream B: 20 in, window 10 rows, keep 70.6 %" in text
    assert "keeps 70.6 %: 705.9 results" in text
    assert "multiply counts and sums of the results by 1.417" in text
    assert re.search(r"^into \(A B\) +24\.12 +\d", text, re.MULTILINE)
    assert re.search(r"^\(A \(B C\)\) +1\.12 +50 +68\.0 %$", text, re.MULTILINE)
    few = answer(tmp_path, "--budget", "0.01", "--drop").output
    assert "less than 1 % is kept: rather do not run it" in few
    survivors = answer(tmp_path, "--budget", "0.8", "--drop", "--window-of", "survivors").output
    assert "some results are in no exact answer: counts cannot be scaled" in survivors


def test_counted_beside_predicted(tmp_path: Path) -> None:
    for words in ((), ("--budget", "0.8", "--drop")):
        for one in told(tmp_path, "--simulate", "20", *words)["simulated"]:
            assert one["counted"] == pytest.approx(one["predicted"], rel=0.25), one


def test_the_fewest_rows(tmp_path: Path) -> None:
    assert told(tmp_path, "--fewest-rows", "--budget", "2")["plan"] == "(A (B C))"
    assert told(tmp_path, "--fewest-rows")["plan"] == "((A B) C)"  # the other one takes 1.12
    found = answer(tmp_path, "--rows-max", "40", "--budget", "2")
    assert (found.exit_code, "holds 50; there is room for 40" in found.output) == (2, True)


def test_minimum_shares_and_weights(tmp_path: Path) -> None:
    least = EXAMPLE_1.replace("rows = 10", "rows = 10\nkeep_at_least = 0.5")
    assert min(told(tmp_path, "--budget", "0.5", "--drop", text=least)["drops"]["keep"].values()) == 0.5
    found = answer(tmp_path, "--budget", "0.05", "--drop", text=least)
    assert (found.exit_code, "minimum keep fractions need 0.35, available 0.05" in found.output) == (2, True)
    # With windows of survivors plan (b) cannot keep so much, and plan (a) can.
    fifth = EXAMPLE_1.replace("rows = 10", "rows = 10\nkeep_at_least = 0.2")
    words = ("--budget", "0.2", "--drop", "--window-of", "survivors")
    found_least = told(tmp_path, *words, "--what-if", text=fifth)
    assert (found_least["plan"], found_least["drops"]["results"]) == ("((A B) C)", pytest.approx(200))
    assert [one["kept_share"] for one in found_least["plans"]][1:] == [None, None]
    weighted = EXAMPLE_1.replace('name = "A"', 'name = "A"\nweight = 20')
    found = answer(tmp_path, "--budget", "0.4", "--drop", text=weighted)
    assert (found.exit_code, "weights with windows of arrivals" in found.output) == (2, True)
    assert told(tmp_path, *words[2:], "--budget", "0.4", text=weighted)["drops"]["keep"]["A"] == 1


def test_tables_methods_and_windows_of_time(tmp_path: Path) -> None:
    text = """
        headroom = 0.2
        [[method]]
        name = "hash"
        probe = 0.001
        insert = 0.002
        invalidate = 0.002
        [[method]]
        name = "loops"
        insert = 0.0005
        invalidate = 0.0005
        per_row = 0.0001
        [[stream]]
        name = "clicks"
        rate = 10
        length = 2.5
        [[table]]
        name = "users"
        rows = 40
        [[join]]
        on = ["users", "clicks"]
        selectivity = 0.025
    """
    found = told(tmp_path, "--simulate", "50", "--what-if", text=text)
    assert found["budget"] == 0.8
    # A click is put in and taken out of a window that nothing probes (0.001), and probes the table by hash (0.001).
    assert found["cost"] == pytest.approx(10 * 0.002)
    assert found["results"] == 10
    assert [one["counted"] for one in found["simulated"]] == pytest.approx([10, 10], rel=0.3)
    assert "table users: 40 rows" in answer(tmp_path, text=text).output


def test_a_file_of_json_and_one_stream(tmp_path: Path) -> None:
    document = {
        "join_price": 0.001,
        "stream": [{"name": "A", "rate": 2000}],
        "selection": [
            {"name": "s1", "on": "A", "selectivity": 0.25, "price": 0.0005},
            {"name": "s2", "on": "A", "selectivity": 0.5, "price": 0.001},
        ],
    }
    found = answer(tmp_path, "--drop", "--json", text=json.dumps(document), name="streams.json")
    assert found.exit_code == 0, found.output
    shown = json.loads(found.stdout)
    assert (shown["plan"], shown["drops"]["kept_share"]) == ("s2[s1[A]]", pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("join_price = ", "cannot be parsed: Invalid value"),
        ("join_price = 1\nspeed = 3", "a description has no key 'speed'"),
        ("join_price = 1", "every input is a table"),
        ('[[stream]]\nname = "A"\nrate = 1', "the description needs one price of joins"),
        ('join_price = 1\n[[stream]]\nname = "A"', "the stream 'A' has no rate"),
        ('join_price = 1\n[[stream]]\nname = "A"\nrate = true', "the stream 'A' has rate = True"),
        ('join_price = 1\n[[stream]]\nname = "A B"\nrate = 1', "give a name without spaces"),
        ('join_price = 1\n[[stream]]\nname = "A"\nrate = -1', "the rate of stream 'A' is -1"),
        (EXAMPLE_1.replace("rows = 10", "", 1), "stream 'A' is joined but has no window"),
        (EXAMPLE_1.replace('"B", "C"', '"B", "X"'), "a predicate names 'X', which is no stream"),
        (EXAMPLE_1.replace("[5, 3]", "[5, 0]"), "the join of 'B' and 'C' has distinct = [5, 0]"),
        (EXAMPLE_1.replace('on = ["A", "B"]', 'on = ["A"]'), "a join has on = ['A']"),
        ("join_price = 1\nstream = 3", "'stream' is no list"),
        ("join_price = 1\nstream = [3]", "a stream is 3"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    found = answer(tmp_path, text=text)
    assert (found.exit_code, said in found.output) == (2, True), found.output
    assert "streams.toml" in found.output


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    found = answer(tmp_path, "--simulate", "100000")
    assert (found.exit_code, "would look at" in found.output) == (2, True), found.output
    missing = CliRunner().invoke(main, ["derive", "plan", "--streams", str(tmp_path / "none.toml")])
    assert (missing.exit_code, "cannot be read" in missing.output) == (2, True)
