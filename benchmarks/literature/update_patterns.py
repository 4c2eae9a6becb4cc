"""Negative tuples, direct expiration and update-pattern awareness on the four queries of their experiments, by steps.

Published are seconds on windows of 2,000 to 200,000 tuples of a trace. Here links are generated, with as many values as
make the results as large against the input as published, and steps are counted over two windows, after two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benchmarks.literature.headline import Headline
from tidewheel.queries.literature.patterns.approach import approach_named
from tidewheel.queries.literature.patterns.generated_streams import Links, query_plan
from tidewheel.queries.literature.patterns.measuring import Measured, measure

WHY = "steps in place of seconds, on generated links; the thesis's hash tables have 10 chains"
LINKS = Links(1000, 50)
LARGE = Links(500, 25, 0.5, other_sources={"L2": 500})


def update_patterns() -> Iterator[Headline]:
    yield Headline(
        "Query 1, ftp, windows of 1,000: UPA / NT and DIRECT", "almost 2x faster than both as the window grows",
        partial(_against, "Q1", LINKS, "UPA(10, unsorted)", ("NT(10 chains)", "NT", "DIRECT")), None, WHY,
        "UPA(10, unsorted)", "UPA(10, sorted)", slow=True,
    )  # fmt: skip
    yield Headline(
        "Query 1, telnet, windows of 1,000: UPA(50) / NT and DIRECT",
        "UPA(50) up to 10x faster than NT; UPA(10) very slow on large results; DIRECT slowest by far",
        partial(_against, "Q1 telnet", LINKS, "UPA(50, sorted)", ("NT(10 chains)", "NT", "DIRECT", "UPA(10, sorted)")),
        None, WHY + "; days sorted by linear insertion, as published",
        "UPA(50, sorted)", "UPA(50, unsorted)", slow=True,
    )  # fmt: skip
    yield Headline(
        "Query 2, DISTINCT over few values: UPA with δ* / NT and DIRECT", "10x faster than both, up to 100x smaller",
        partial(_distinct, "UPA(10)", Links(1000, 50)), None, WHY, "UPA(10)", "DIRECT", slow=True,
    )  # fmt: skip
    yield Headline(
        "Query 3, NOT EXISTS, twice as many values as tuples: early ends", "about 40 %",
        partial(_early, "UPA(10)"), None, "1 - exp(-T λ / V) = 39 % of the results that come with their tuple",
        "UPA(10)", "NT", slow=True,
    )  # fmt: skip
    yield Headline(
        "Query 4, large join: negation below it / above it, both by NT", "join first is highly sub-optimal",
        partial(_pulled, "NT", LARGE), None, WHY, "NT", "UPA(10)", slow=True,
    )  # fmt: skip
    yield Headline(
        "Query 4, selective join: UPA with the negation above it / NT", "UPA best for large windows",
        partial(_against, "Q4", Links(1000, 1000), "UPA(10)", ("NT(10 chains)", "NT")), None, WHY,
        "UPA(10)", "UPA(10, unsorted)", slow=True,
    )  # fmt: skip


def _measured(name: str, approach: str, links: Links) -> Measured:
    lazy = 0.05 if name.startswith("Q1") else 0.0
    return measure(query_plan(name, links.window), replace(approach_named(approach), lazy=lazy), links)


def _against(name: str, links: Links, subject: str, others: tuple[str, ...]) -> str:
    mine = _measured(name, subject, links).steps
    found = [f"{other} {_measured(name, other, links).steps / mine:.1f}x" for other in others]
    return f"{mine:,.0f} steps per 1,000 tuples; as many: {', '.join(found)}"


def _distinct(subject: str, links: Links) -> str:
    mine, nt, direct = (_measured("Q2", name, links) for name in (subject, "NT", "DIRECT"))
    return (
        f"{nt.steps / mine.steps:.1f}x fewer steps than NT, {direct.steps / mine.steps:.1f}x than DIRECT; "
        f"{nt.state / mine.state:.0f}x and {direct.state / mine.state:.0f}x smaller"
    )


def _early(subject: str) -> str:
    links = Links(1000, 2000)
    found = measure(query_plan("Q3", links.window), approach_named(subject), links, logs=True)
    return f"{found.early:.0%}, {found.steps:,.0f} steps per 1,000 tuples"


def _pulled(subject: str, links: Links) -> str:
    above, below = (_measured(name, subject, links) for name in ("Q4", "Q4 join up"))
    return f"{above.steps / below.steps:.1f}x fewer steps with the negation below, {above.results:,} results"
