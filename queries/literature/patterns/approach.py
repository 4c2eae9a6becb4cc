"""How a plan is carried out: which of the three approaches, and with which structures (sections 3.5 and 3.6.1).

- NT: every window is stored and sends a negative tuple for each end; hash tables; twice the tuples.
- DIRECT: no negative tuples, operators look at exp, structures blind to patterns; refuses inputs that are STR.
- UPA: update-pattern aware. Below the strict operators direct, with the structure of each edge's pattern; from them
  upward either *early* (negatives for ends before their exp only) or *negative* (for all, with hash tables). A plan
  over a count window is carried out as by NT.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.operators.bag_difference import Policy


class Way(Enum):
    NT = "NT"
    DIRECT = "DIRECT"
    UPA = "UPA"


@dataclass(frozen=True)
class Approach:
    """`days` and `order` are of calendar queues. `early`: the way above strict operators is EARLY, else NEGATIVE.

    `directory`: early ends are found by a deletion directory, else by searching all days. `chains` are those of the
    view's hash table; None is a table of today. `lazy` is how often the view is purged, as a share of the longest
    window, 0 for at each tick; `silence` is how many ticks without an arrival it waits at most.
    """

    way: Way
    days: int = 10
    order: str = "heap"
    early: bool = True
    directory: bool = True
    chains: int | None = None
    lazy: float = 0.0
    silence: int | None = None
    policy: Policy = Policy.FIRST_TO_DIE

    @property
    def name(self) -> str:
        return f"UPA({self.days})" if self.way is Way.UPA else self.way.value


_NAME = re.compile(r"(NT|DIRECT|UPA)(?:\(\s*(\d+)?\s*(?:,?\s*(negative|early|unsorted|sorted|heap|chains))?\s*\))?")


def is_approach(name: str) -> bool:
    return _NAME.fullmatch(name.strip()) is not None


def approach_named(name: str) -> Approach:
    """Return the approach of a name: NT, NT(10 chains), DIRECT, UPA(50), UPA(10, negative), UPA(10, unsorted).

    >>> approach_named("UPA(50)").days, approach_named("UPA(10, negative)").early
    (50, False)
    """
    found = _NAME.fullmatch(name.strip())
    if found is None:
        raise InvalidInput(
            f"no engine is named {name}",
            "engines: NT, NT(10 chains), DIRECT, UPA(10), UPA(10, negative), UPA(10, unsorted), UPA(10, sorted)",
        )
    way, number, word = Way(found[1]), int(found[2] or 10), found[3]
    chains = number if word == "chains" else None
    order = word if word in ("unsorted", "sorted") else "heap"
    return Approach(way, number, order, early=word != "negative", chains=chains)
