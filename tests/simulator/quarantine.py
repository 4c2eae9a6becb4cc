"""The quarantine of a simulated archive: the side table's own code, over rows in memory."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from tests.simulator.faults import Fault
from tests.simulator.memory import MemoryLocation
from tests.simulator.world import Quarantined, World
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.quarantine import QUARANTINE
from tidewheel.commits.side_tables import SideTable
from tidewheel.commits.written import Written
from tidewheel.indexing.core.side_tables import SideBatch
from tidewheel.storage.location import Location

_CONDITION = re.compile(r"\(slot = (-?\d+) and attempt = '([^']+)'\)")
_NO_FILES = pa.table({"path": pa.array([], pa.string())})


class Rows:
    """What vacuum asks of a side table's Delta table."""

    def __init__(self, archive: MemoryLocation) -> None:
        self.world, self.actor = archive.world, archive.actor

    def version(self) -> int:
        return 0

    def get_add_actions(self, flatten: bool) -> pa.Table:
        return _NO_FILES

    def delete(self, condition: str) -> None:
        self.actor.pause("sweep")
        gone = {(int(slot), attempt) for slot, attempt in _CONDITION.findall(condition)}
        self.world.quarantine = [one for one in self.world.quarantine if (one.slot, one.attempt) not in gone]


class MemoryQuarantine(SideTable):
    def open(self, archive: Location) -> Any:
        assert isinstance(archive, MemoryLocation)
        return Rows(archive) if archive.world.quarantine else None

    def store(self, job: ArchiveJob, written: Written, attempt: str) -> bool:
        assert isinstance(job.location, MemoryLocation)
        world, actor = job.location.world, job.location.actor
        if not written.rules:
            return False
        actor.pause("store")
        actor.stored_us = world.now_us
        world.quarantine += [Quarantined(one.slot, attempt, one.body, world.now_us) for one in actor.aside]
        return True

    def discard(self, job: ArchiveJob, attempt: str) -> None:
        world = _world(job)
        if world.fault is not Fault.QUARANTINES_TWICE:
            world.quarantine = [one for one in world.quarantine if one.attempt != attempt]

    def batches(self, table: Any) -> list[SideBatch]:
        found: dict[tuple[int, str], SideBatch] = {}
        for one in table.world.quarantine:
            at = (one.slot, one.attempt)
            before = found.get(at, SideBatch(*at, 0, 0))
            found[at] = SideBatch(*at, max(before.newest_us, one.at_us), before.rows + 1)
        return list(found.values())


def _world(job: ArchiveJob) -> World:
    assert isinstance(job.location, MemoryLocation)
    return job.location.world


IN_MEMORY = MemoryQuarantine(**vars(QUARANTINE))
