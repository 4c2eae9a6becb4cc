"""Where a simulated archive lies: data files, the log and the small files beside them, as one actor sees them.

Before whatever others can see, or what sees others, the actor pauses: it may go on later, or never.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tests.simulator.faults import Fault
from tests.simulator.world import Claim, Mark, World
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.floor import FLOORS, UNDOS
from tidewheel.storage.holds import FOLDER as HOLDS
from tidewheel.storage.location import LOG_FOLDER as LOG
from tidewheel.storage.location import ListedFile, Location

if TYPE_CHECKING:
    from tests.simulator.actors import Actor

URI = "memory://archive"
# Marks by which actors see each other; who is at fault does not look.
SEEN = {
    FLOORS: Fault.VACUUM_IGNORES_UNDO,
    UNDOS: Fault.VACUUM_IGNORES_UNDO,
    HOLDS: Fault.VACUUM_IGNORES_HOLDS,
}


class MemoryLocation(Location):
    """Data files, the log and the marks beside them."""

    def __init__(self, world: World, actor: Actor) -> None:
        super().__init__(URI)
        self.__dict__.update(world=world, actor=actor)

    world: World
    actor: Actor

    def files_below(self, relative: str) -> list[ListedFile]:
        if relative.startswith(SIDE_FOLDER) and relative not in SEEN:
            return self._marks(relative)
        self.actor.pause("list")
        if relative == LOG:
            return list(self._log())
        if relative in SEEN:
            return [] if self.world.fault is SEEN[relative] else self._marks(relative)
        if not relative:
            self.actor.looks_at_all_files()
        elif self.world.fault is Fault.COMMITS_VACUUMED_FILES:
            return [ListedFile(f"{URI}/{path}", 1, 0) for path in self.actor.written]
        files = self.world.files.items()
        return [
            ListedFile(f"{URI}/{path}", file.fact.bytes, file.written_us * 1000)
            for path, file in files
            if not relative or path.startswith(f"{relative}/")
        ]

    def read_bytes(self, path: str) -> bytes:
        if (mark := self.world.marks.get(self.relative(path))) is not None:
            return mark.content
        entry = self.world.entries.get(int(path[-25:-5]))
        if entry is None:
            raise FileNotFoundError(path)
        return entry.removals

    def write_bytes(self, path: str, content: bytes) -> None:
        self.actor.pause("write")
        relative, world = self.relative(path), self.world
        world.marks[relative] = Mark(world.now_us, content)
        if relative.startswith(HOLDS):
            hold = json.loads(content)
            world.claims.append(Claim(hold["version"], hold["until_us"], len(world.vacuumed_us)))

    def delete(self, relative: str) -> None:
        self.actor.pause("delete")
        self.world.marks.pop(relative, None)

    def delete_all(self, relatives: Iterable[str]) -> None:
        self.actor.pause("delete")
        for path in relatives:
            if path.startswith(LOG):
                self._delete_from_log(path)
            elif path.startswith(SIDE_FOLDER):
                self.world.marks.pop(path, None)
            elif not self._spared(path):
                self.world.files.pop(path, None)
                self.actor.has_deleted = True

    def delete_folder(self, relative: str) -> None:
        self.actor.pause("discard")
        for path in [path for path in self.world.files if path.startswith(f"{relative}/")]:
            del self.world.files[path]

    def side_location(self, relative: str) -> Location:
        return SideLocation(f"{URI}/_tidewheel/{relative}")

    def _marks(self, folder: str) -> list[ListedFile]:
        marks = self.world.marks.items()
        return [ListedFile(f"{URI}/{path}", 0, it.at_us * 1000) for path, it in marks if path.startswith(f"{folder}/")]

    def _log(self) -> Iterator[ListedFile]:
        for version, entry in self.world.entries.items():
            yield ListedFile(_entry_path(version), 1, entry.changed_us * 1000)
        for version, at_us in self.world.checkpoints.items():
            yield ListedFile(f"{URI}/{LOG}/{version:020d}.checkpoint.parquet", 1, at_us * 1000)

    def _delete_from_log(self, path: str) -> None:
        world, version = self.world, int(path.removeprefix(f"{LOG}/")[:20])
        if path.endswith(".json"):
            world.entries.pop(version, None)
            if world.fault is Fault.LOG_CLEANED_TOO_FAR:
                world.entries.pop(world.version - 1, None)
        else:
            world.checkpoints.pop(version, None)

    def _spared(self, path: str) -> bool:
        was_committed = path in self.world.removed
        return (self.world.fault is Fault.VACUUM_SPARES_EXPIRED_FILES and was_committed) or (
            self.world.fault is Fault.VACUUM_SPARES_DEAD_ATTEMPTS and not was_committed
        )


class SideLocation(Location):
    """A side table's folder: nothing in it that a vacuum could do away with."""

    def files_below(self, relative: str) -> list[ListedFile]:
        return [ListedFile(f"{self.uri}/{LOG}/{0:020d}.checkpoint.parquet", 1, 0)] if relative == LOG else []

    def has(self, *relatives: str) -> list[bool]:
        there = {file.path for file in self.files_below(LOG)}
        return [f"{self.uri}/{one}" in there for one in relatives]

    def delete_all(self, relatives: Iterable[str]) -> None:
        assert not list(relatives)


@lru_cache(maxsize=1024)
def _entry_path(version: int) -> str:
    return f"{URI}/{LOG}/{version:020d}.json"
