"""All planners of one node, by name."""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.plan import Planner
from tidewheel.queries.planning.planners.by_group import BY_GROUP
from tidewheel.queries.planning.planners.contiguous import CONTIGUOUS
from tidewheel.queries.planning.planners.insert_then_weave import INSERT_THEN_WEAVE
from tidewheel.queries.planning.planners.local_search import LOCAL_SEARCHES
from tidewheel.queries.planning.planners.no_share import NO_SHARE
from tidewheel.queries.planning.planners.pairing import PAIRING
from tidewheel.queries.planning.planners.random_plans import RANDOM_MERGE, RANDOM_PARTITION
from tidewheel.queries.planning.planners.settle import SETTLE
from tidewheel.queries.planning.planners.shared import SHARED
from tidewheel.queries.planning.planners.subset_dp import OPTIMUM
from tidewheel.queries.planning.planners.tri_weave import TRI_WEAVE
from tidewheel.queries.planning.planners.weave_share import WEAVE_SHARE

PLANNERS: tuple[Planner, ...] = (
    NO_SHARE,
    SHARED,
    BY_GROUP,
    WEAVE_SHARE,
    TRI_WEAVE,
    INSERT_THEN_WEAVE,
    *LOCAL_SEARCHES,
    RANDOM_MERGE,
    RANDOM_PARTITION,
    PAIRING,
    CONTIGUOUS,
    OPTIMUM,
    SETTLE,
)


def planner_named(name: str) -> Planner:
    """
    >>> planner_named("weave share").name
    'Weave Share'
    """
    found = next((planner for planner in PLANNERS if planner.name.lower() == name.lower()), None)
    if found is None:
        raise InvalidInput(f"no planner {name!r}", f"there are {', '.join(one.name for one in PLANNERS)}")
    return found
