"""The goal of an optimiser, by the kind of query and the kind of stream (Figure 1).

A query that ends wants its answer soon. A continuous one over endless streams has the output rate that its inputs
dictate, as long as its plan keeps up: so what is left to optimise is that it fits, and then that it takes little. Over
finite streams a continuous query ends as well.
"""

from __future__ import annotations

from enum import Enum

from tidewheel.indexing.errors import InvalidInput


class Goal(Enum):
    THROUGHPUT = "throughput and response time"
    RESOURCES = "feasibility and use of resources"


def goal(query_kind: str, stream_kind: str) -> Goal:
    """Return the goal of a short-running or continuous query over finite or infinite streams.

    >>> goal("continuous", "infinite").value
    'feasibility and use of resources'
    """
    if query_kind not in ("short-running", "continuous") or stream_kind not in ("finite", "infinite"):
        raise InvalidInput(
            f"no goal for a {query_kind} query over {stream_kind} streams",
            "queries are short-running or continuous, streams finite or infinite",
        )
    return Goal.RESOURCES if (query_kind, stream_kind) == ("continuous", "infinite") else Goal.THROUGHPUT
