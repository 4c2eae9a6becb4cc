"""Undo of the simulated archive, one step at a time, as commits/undo.py does it: others come between."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulator.world import Missing, Note, World
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.receipts import Operation, Receipt
from tidewheel.indexing.undo import refuse_barriers, restoration_between, tombstones_between


class Undo:
    """One undo on its way, some versions back. `next` does the step that comes; refused or overtaken, it ends."""

    def __init__(self, world: World, back: int, name: str) -> None:
        self.world, self.name = world, name
        self.state, self.target = world.state, world.version - back
        self.done = False
        self.next: Callable[[], None] | None = self.announce

    def announce(self) -> None:
        self.world.undos.add(self.name)
        self.next = self.look

    def look(self) -> None:
        """Refuse what cannot be brought back; read what the commit needs."""
        try:
            self._refuse()
            self.then = self.world.states[self.target]
            ledgers = self.world.ledger_of(self.state.version), self.world.ledger_of(self.target)
            self.restoration = restoration_between(*ledgers)
            present, wanted = {fact.path for fact in self.state.files}, {fact.path for fact in self.then.files}
            self.removed = tuple(sorted(present - wanted))
            self.added = {path: self.world.files[path] for path in sorted(wanted - present)}
        except (TidewheelError, Missing, KeyError):
            self._end()
        else:
            self.next = self.commit

    def commit(self) -> None:
        world = self.world
        if world.version == self.state.version:
            version = world.append(self._receipt(), self.added, self.removed, self.state.definition)
            truth = world.truths[self.target]
            world.oracle.batches, world.oracle.watermark = dict(truth.batches), truth.watermark
            world.settle(version, Note(version - 1, {}))
            world.reported.append((version, self.name))
            self.done = True
        self._end()

    def _refuse(self) -> None:
        world = self.world
        following = world.entries.get(self.target + 1)
        if self.target < world.floor or following is None or following.changed_us + world.grace_us <= world.now_us:
            raise Missing(f"what version {self.target} needs")
        refuse_barriers(world.receipts_after(self.target, self.state.version), self.target)

    def _receipt(self) -> Receipt:
        return Receipt(
            operation=Operation.UNDO,
            attempt=self.name,
            head=self.state.head + 1,
            watermark=self.then.watermark,
            generation=self.state.definition.current.number,
            committed_us=self.world.now_us,
            restoration=self.restoration,
            tombstones=tombstones_between(self.state.ledger, self.then.ledger),
        )

    def _end(self) -> None:
        self.world.undos.discard(self.name)
        self.next = None
