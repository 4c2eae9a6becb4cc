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


_NAME = re.compile(r"DIRECT|NT(?:\((?P<chains>[1-9]\d*) chains\))?|UPA\((?P<days>[1-9]\d*)(?:, ?(?P<word>\w+))?\)")
_ORDERS = ("unsorted", "sorted", "heap")


def is_approach(name: str) -> bool:
    """
    >>> [is_approach(name) for name in ("NT", "UPA(10, sorted)", "UPA", "UPA(0)", "UPA(5, quick)")]
    [True, True, False, False, False]
    """
    found = _NAME.fullmatch(name)
    return found is not None and found["word"] in (None, "early", "negative", *_ORDERS)


def approach_named(name: str) -> Approach:
    """Return the approach of a name: NT, NT(10 chains), DIRECT, UPA(50), UPA(10, negative), UPA(10, unsorted).

    >>> approach_named("UPA(50)").days, approach_named("UPA(10, negative)").early
    (50, False)
    """
    found = _NAME.fullmatch(name)
    if found is None or not is_approach(name):
        raise InvalidInput(
            f"no engine is named {name}",
            "engines: NT, NT(10 chains), DIRECT, UPA(10), UPA(10, negative), UPA(10, unsorted), UPA(10, sorted)",
        )
    word = found["word"]
    return Approach(
        Way(name.partition("(")[0]),
        int(found["days"] or 10),
        word if word in _ORDERS else "heap",
        early=word != "negative",
        chains=int(found["chains"]) if found["chains"] else None,
    )
