"""Histories of operations on a real archive, in any order, each step compared with the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.rules.changes import cells_after
from tidewheel.storage.ledger_store import changes_since, ledger_at, ledger_of
from tidewheel.storage.snapshot import open_snapshot


class History:
    """Plays named orders of operations; `slots` is about how many slots each fills."""

    def __init__(self, archive: SmallArchive, seed: int, slots: int) -> None:
        self.archive, self.slots = archive, slots
        self.chance = random.Random(seed)
        self.first = self.chance.randrange(-3, 3)

    def play(self, order: str) -> None:
        getattr(self, f"play_{order}")()
        self._check_the_feed()

    def play_in_order(self) -> None:
        for slot in self._range():
            self._update(slot)

    def play_newest_first(self) -> None:
        for slot in reversed(self._range()):
            self._update(slot)

    def play_shuffled(self) -> None:
        slots = list(self._range())
        self.chance.shuffle(slots)
        for slot in slots:
            self._update(slot)

    def play_grouped(self) -> None:
        slots = list(self._range())
        while slots:
            size = self.chance.randrange(1, 4)
            self._update(*slots[:size])
            slots = slots[size:]

    def play_replays(self) -> None:
        slots = self._range()
        self._update(*slots)
        for slot in (slots[-1], slots[-2], slots[0]):
            self._update(slot)
        self._update(*slots[-2:])

    def play_jumps(self) -> None:
        slots = self._range()
        self._update(*slots[:2])
        self._update(slots[-1])
        self._step(lambda: self.archive.expire(slots[-1] + 1))
        self._update(slots[-1] + 3 * self.archive.span)
        self._update(slots[-1] + 2)

    def play_forgets(self) -> None:
        slots = self._range()
        self._update(*slots[:-1])
        self._forget("k1")
        self._update(slots[-2])
        self._update(slots[-1])
        self._forget("k2")
        self._update(slots[0])

    def play_run_both(self) -> None:
        self._migrating(relocate=False)

    def play_stop_and_rebuild(self) -> None:
        self._migrating(relocate=True)

    def _migrating(self, *, relocate: bool) -> None:
        slots = self._range()
        self._update(*slots[:-1])
        self._migrate(generation_of("round_robin", 3, 1, "rebuild", span=self.archive.span), relocate=relocate)
        self._update(slots[-1])
        self._update(slots[-2])
        self._update(slots[-1] + 1)

    def _range(self) -> range:
        return range(self.first, self.first + self.slots)

    def _update(self, *slots: int) -> None:
        span = self.archive.span
        self._step(lambda: self.archive.update({s: random_batch(self.chance, s, span) for s in slots}))
        self.archive.check()

    def _forget(self, key: str) -> None:
        def matches(record: Record) -> bool:
            return record.key == key

        self._step(lambda: forget(self.archive.job, keys=[(key,)]))
        self.archive.oracle.forget(matches)
        self.archive.check()

    def _migrate(self, generation: Generation, *, relocate: bool) -> None:
        self._step(lambda: migrate(self.archive.job, generation, relocate=relocate))
        self.archive.migrated_to(generation)
        self.archive.check()

    def _check_the_feed(self) -> None:
        """What the receipts tell from any version on, added to its cells, gives those of now."""
        snapshot = open_snapshot(self.archive.job.location)
        since = self.chance.randrange(-1, snapshot.version)
        cells = ledger_at(snapshot, since).cells() if since >= 0 else {}
        for change in changes_since(snapshot, since):
            cells = cells_after(cells, change)
        assert cells == ledger_of(snapshot).cells()

    def _step(self, operation: Callable[[], object]) -> None:
        location = self.archive.job.location
        before = open_snapshot(location).version
        operation()
        assert open_snapshot(location).version == before + 1, "one commit of the main table per operation"


ORDERS = tuple(name.removeprefix("play_") for name in dir(History) if name.startswith("play_"))
