"""The side tables of a simulated archive: their own code, over rows in memory."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from tests.simulator.faults import Fault
from tests.simulator.location import MemoryLocation
from tests.simulator.world import Aside, World
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.written import Written
from tidewheel.indexing.core.side_tables import SideBatch
from tidewheel.storage.location import Location

_CONDITION = re.compile(r"\(slot = (-?\d+) and attempt = '([^']+)'\)")
_NO_FILES = pa.table({"path": pa.array([], pa.string())})


class Rows:
    """What vacuum asks of a side table's Delta table."""

    def __init__(self, archive: MemoryLocation, name: str) -> None:
        self.world, self.actor, self.name = archive.world, archive.actor, name
        self.rows = list(self.world.beside[name])

    def version(self) -> int:
        return 0

    def get_add_actions(self, flatten: bool) -> pa.Table:
        return _NO_FILES

    def delete(self, condition: str) -> None:
        self.actor.pause("sweep")
        gone = {(int(slot), attempt) for slot, attempt in _CONDITION.findall(condition)}
        # Of the version that was opened: what came since stays.
        gone_rows = {id(one) for one in self.rows if (one.slot, one.attempt) in gone}
        there = self.world.beside[self.name]
        there[:] = [one for one in there if id(one) not in gone_rows]


class MemorySideTable(SideTable):
    """One whose rows an attempt lays aside by fate."""

    def open(self, archive: Location) -> Any:
        assert isinstance(archive, MemoryLocation)
        return Rows(archive, self.name) if archive.world.beside[self.name] else None

    def store(self, job: ArchiveJob, written: Written, attempt: str) -> bool:
        assert isinstance(job.location, MemoryLocation)
        world, actor = job.location.world, job.location.actor
        slots = actor.aside[self.places[0]]
        if not slots:
            return False
        actor.pause("store")
        actor.stored_us[self.name] = world.now_us
        world.beside[self.name] += [Aside(slot, attempt, world.now_us) for slot in slots]
        return True

    def discard(self, job: ArchiveJob, attempt: str) -> None:
        world = _world(job)
        if world.fault is not Fault.STORES_ASIDE_TWICE:
            world.beside[self.name] = [one for one in world.beside[self.name] if one.attempt != attempt]

    def batches(self, table: Any) -> list[SideBatch]:
        found: dict[tuple[int, str], SideBatch] = {}
        for one in table.rows:
            at = (one.slot, one.attempt)
            before = found.get(at, SideBatch(*at, 0, 0))
            found[at] = SideBatch(*at, max(before.newest_us, one.at_us), before.rows + 1)
        return list(found.values())


def _world(job: ArchiveJob) -> World:
    assert isinstance(job.location, MemoryLocation)
    return job.location.world


IN_MEMORY = (
    MemorySideTable(**vars(QUARANTINE)),
    # Nobody derives anything in a simulated archive, so nothing that is kept for that is ever settled.
    MemorySideTable(**{**vars(UNSTORED_TABLE), "settled": QUARANTINE.settled}),
)
