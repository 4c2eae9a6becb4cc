"""The four queries of the experiments, over generated links (sections 3.6.1 and 3.6.2).

The thesis plays a trace of TCP connections, split into links by destination. Here each link has one tuple a tick: a
source IP of `sources`, uniformly, a destination, and a protocol, ftp with probability .10 and telnet with .32.

| query | what it asks | what it shows |
|---|---|---|
| Q1 | Link1 ⋈ Link2 on source, both of one protocol | telnet has ten times the results: which view |
| Q2 | DISTINCT source | δ* beside the naive way |
| Q3 | Link1 NOT EXISTS Link2 on source | early ends: which way above a strict operator |
| Q4 | Q3 joined with ftp of Link3 | negation above the join, or below it: NT(join up) |
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.history import Arrival
from tidewheel.queries.statements.plan import Distinct, Join, Negation, Operator, Select, TimeWindow, window

FIELDS = ("source", "destination", "protocol")
TELNET = 0.32


@dataclass(frozen=True)
class Links:
    """`window` in ticks; `other_sources` are the sources of links that have their own number of them."""

    window: int = 200
    sources: int = 40
    ftp: float = 0.10
    seed: int = 1
    other_sources: dict[str, int] = field(default_factory=dict)

    def tick(self, chance: random.Random, now: int, links: tuple[str, ...]) -> list[Arrival]:
        return [Arrival(link, now, self._tuple(chance, link)) for link in links]

    def _tuple(self, chance: random.Random, link: str) -> tuple[int, int, str]:
        source = chance.randrange(self.other_sources.get(link, self.sources))
        destination, luck = chance.randrange(10), chance.random()
        protocol = "ftp" if luck < self.ftp else "telnet" if luck < self.ftp + TELNET else "other"
        return source, destination, protocol

    def ticks(self, links: tuple[str, ...], count: int) -> Iterator[tuple[int, list[Arrival]]]:
        """Give the arrivals of so many ticks, from 1 on."""
        chance = random.Random(self.seed)
        for now in range(1, count + 1):
            yield now, self.tick(chance, now, links)


def _link(number: int, length: int) -> TimeWindow:
    return window(f"L{number}", length, *FIELDS)


def _of(protocol: str, number: int, length: int) -> Operator:
    return Select(_link(number, length), (Comparison(f"L{number}.protocol", "=", protocol),))


def _on_source(left: int, right: int) -> tuple[tuple[str, str]]:
    return ((f"L{left}.source", f"L{right}.source"),)


def _q1(length: int, protocol: str) -> Operator:
    return Join(_of(protocol, 1, length), _of(protocol, 2, length), _on_source(1, 2))


def _q3(length: int) -> Operator:
    return Negation(_link(1, length), _link(2, length), _on_source(1, 2))


def _q4(length: int) -> Operator:
    """The negation up: what the planner's heuristic prefers."""
    return Negation(Join(_link(1, length), _of("ftp", 3, length), _on_source(1, 3)), _link(2, length), _on_source(1, 2))


def _q4_join_up(length: int) -> Operator:
    return Join(_q3(length), _of("ftp", 3, length), _on_source(1, 3))


PLANS: dict[str, Callable[[int], Operator]] = {
    "Q1": lambda length: _q1(length, "ftp"),
    "Q1 telnet": lambda length: _q1(length, "telnet"),
    "Q2": lambda length: Distinct(_link(1, length), ("L1.source",)),
    "Q2 pairs": lambda length: Distinct(_link(1, length), ("L1.source", "L1.destination")),
    "Q3": _q3,
    "Q4": _q4,
    "Q4 join up": _q4_join_up,
}


def query_plan(name: str, length: int) -> Operator:
    """Return the plan of a query of the experiments.

    >>> query_plan("Q3", 10).title
    '▷ NOT EXISTS L1.source = L2.source'
    """
    if name not in PLANS:
        raise InvalidInput(f"no generated stream is named {name}", f"there are {', '.join(PLANS)}")
    return PLANS[name](length)
