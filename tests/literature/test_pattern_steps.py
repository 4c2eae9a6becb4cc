"""Counted steps of the engines: in the known order by default, near those of another program at full size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidewheel.queries.literature.patterns.approach import approach_named
from tidewheel.queries.literature.patterns.generated_streams import Links, query_plan
from tidewheel.queries.literature.patterns.measuring import Measured, measure


def steps(name: str, approach: str, links: Links, lazy: float = 0.0, **changes: Any) -> Measured:
    return measure(query_plan(name, links.window), replace(approach_named(approach), lazy=lazy, **changes), links)


def test_anchor_of_the_large_join() -> None:
    links = Links(300, 6)
    found = [steps("Q1 telnet", name, links, 0.05).steps for name in ("UPA(10, unsorted)", "NT", "DIRECT")]
    assert found == sorted(found)
    ten, fifty = (steps("Q1 telnet", name, links, 0.05).steps for name in ("UPA(10, sorted)", "UPA(50, sorted)"))
    assert fifty < ten / 2
    assert steps("Q1 telnet", "NT(10 chains)", links, 0.05).steps > 5 * found[1]


def test_anchor_of_delta_star() -> None:
    links = Links(1000, 50)
    star, naive, direct = (steps("Q2", name, links) for name in ("UPA(10, sorted)", "NT", "DIRECT"))
    assert star.state <= 2 * star.results
    assert star.state < naive.state / 10
    assert star.steps < naive.steps < direct.steps


def test_anchor_of_early_ends() -> None:
    links = Links(1000, 2000)
    found = measure(query_plan("Q3", 1000), approach_named("UPA(10)"), links, logs=True)
    assert found.early is not None
    assert 0.35 <= found.early <= 0.42


def test_anchor_of_negation_above_or_below_a_join() -> None:
    selective = Links(300, 300)
    assert steps("Q4", "UPA(10, sorted)", selective).steps < steps("Q4", "NT", selective).steps
    large = Links(200, 10, ftp=0.5, other_sources={"L2": 200})
    below = steps("Q4 join up", "NT", large).steps
    assert below < min(steps("Q4", name, large).steps for name in ("NT", "UPA(10)", "UPA(10, unsorted)"))


TABLE: list[tuple[str, Links, float, dict[str, float]]] = [
    ("Q1", Links(1000, 20), 0.05, {
        "NT(10 chains)": 15_993, "NT": 8_497, "DIRECT": 9_996, "UPA(10, unsorted)": 3_613,
        "UPA(10, sorted)": 14_045, "UPA(50, sorted)": 5_438, "UPA(10)": 8_124}),
    ("Q1 telnet", Links(1000, 20), 0.05, {
        "NT(10 chains)": 965_516, "NT": 38_776, "DIRECT": 83_253, "UPA(10, unsorted)": 26_604,
        "UPA(10, sorted)": 1_335_679, "UPA(50, sorted)": 287_571, "UPA(10)": 112_183}),
    ("Q2", Links(4000, 200), 0, {"NT": 19_599, "DIRECT": 234_380, "UPA(10, sorted)": 4_731}),
    ("Q2", Links(4000, 2000), 0, {"NT": 1_053_987, "DIRECT": 2_786_237, "UPA(10, sorted)": 33_098}),
    ("Q3", Links(4000, 8000), 0, {
        "NT(10 chains)": 41_214, "NT": 9_128, "UPA(10, unsorted)": 146_110, "UPA(10)": 14_674}),
    ("Q4", Links(1000, 50, 0.5, other_sources={"L2": 1000}), 0, {
        "NT(10 chains)": 722_904, "NT": 66_013, "UPA(10, sorted)": 3_761_744, "UPA(10)": 190_856}),
    ("Q4 join up", Links(1000, 50, 0.5, other_sources={"L2": 1000}), 0, {"NT(10 chains)": 690_746, "NT": 32_606}),
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "links", "lazy", "counts"), TABLE, ids=lambda value: str(value)[:20])
def test_the_table_of_steps(name: str, links: Links, lazy: float, counts: dict[str, float]) -> None:
    """Within two fifths of those of another program: digits depend on the seed, orders do not."""
    ours = {approach: steps(name, approach, links, lazy).steps for approach in counts}
    assert {one: (ours[one], told) for one, told in counts.items() if not 0.6 < ours[one] / told < 1.67} == {}
    assert sorted(ours, key=lambda one: ours[one]) == sorted(counts, key=lambda one: counts[one]) or name == "Q1"
