"""The schedulers of the literature: what they make tasks of, and who runs together.

Departs from the printed listing: with late or pending company the one to begin with is still the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.scheduling.blocks import EXACT_MAX, Block, Blocks, planned, sub_groups
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts
from tidewheel.queries.scheduling.tasks import Company, CountDown, Deadlines, Mode, Rules, Task, Timetable

Groups = Mapping[str, Iterable[Periodic]]


def one_block(queries: Iterable[Periodic], costs: RunCosts, exact_max: int) -> Blocks:
    members = tuple(queries)
    return (Block(members),) if members else ()


def by_period(queries: Iterable[Periodic], costs: RunCosts, exact_max: int) -> Blocks:
    return sub_groups(queries)


@dataclass(frozen=True)
class Scheduler:
    name: str
    about: str
    blocks: Callable[[Iterable[Periodic], RunCosts, int], Blocks]
    company: Company

    def tasks(self, groups: Groups, costs: RunCosts, exact_max: int = EXACT_MAX) -> list[Task]:
        """Group by group, the shortest period first; up to `exact_max` sub-groups are planned exactly."""
        return [
            Task("+".join(one.name for one in block.members), group, block.members, block.period)
            for group, queries in groups.items()
            for block in sorted(self.blocks(queries, costs, exact_max), key=lambda block: block.period)
        ]

    def timetable(self, tasks: list[Task], mode: Mode = Mode.JUST_IN_TIME, *, literal: bool = False) -> Timetable:
        rules = Rules(self.company, mode)
        return CountDown(tasks, rules) if literal else Deadlines(tasks, rules)


SCHEDULERS = (
    Scheduler("No-S", "each sub-group by itself, the earliest deadline first (Algorithm 9)", by_period, Company.NONE),
    Scheduler("AS", "each group at its shortest period", one_block, Company.NONE),
    Scheduler("CS", "sub-groups that are equally due together (Algorithm 10)", by_period, Company.EQUAL),
    Scheduler("CS-LS", "CS, and all late ones together", by_period, Company.LATE),
    Scheduler("CS-LP", "CS, and all late and pending ones together", by_period, Company.LATE_PENDING),
    Scheduler("HS", "the cheapest blocks, those equally due together", planned, Company.EQUAL),
    Scheduler("H-LS", "HS, and all late ones together", planned, Company.LATE),
    Scheduler("H-LP", "HS, and all late and pending ones together (Algorithm 11)", planned, Company.LATE_PENDING),
)


def scheduler_named(name: str) -> Scheduler:
    """
    >>> scheduler_named("h-lp").company.name
    'LATE_PENDING'
    """
    found = next((one for one in SCHEDULERS if one.name.lower() == name.lower()), None)
    if found is None:
        raise InvalidInput(f"no scheduler {name!r}", f"there are {', '.join(one.name for one in SCHEDULERS)}")
    return found
