"""Plays a history in a world of its own, checks what must hold, and makes a short history of one that fails."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.simulator.actors import Actor, Order
from tests.simulator.faults import Fault
from tests.simulator.invariants import AFTER_COMMIT, AFTER_VACUUM, Check, Violation
from tests.simulator.of_store import only_the_archive, pinned_reader
from tests.simulator.steps import CLOCK_JUMP_US, READERS, WRITERS, Step, Until, random_definition, random_steps, shrunk
from tests.simulator.world import World
from tidewheel.storage.lease import WAIT_MAX_S

STEPS_PER_HISTORY = 150
WHILE_VACUUMING = {name: AFTER_VACUUM[name] for name in ("named files", "held readers")}
TICKETS_KEPT_US = int(WAIT_MAX_S * 1_000_000)


class Play:
    """One history under way. With `only`, that invariant alone is checked."""

    def __init__(self, seed: int, fault: Fault | None = None, only: str | None = None) -> None:
        self.world = World(seed, random_definition(seed), fault)
        self.only = only
        self.tally: Counter[str] = Counter()
        self.writers: list[Actor | None] = [None] * WRITERS
        self.stalled: set[int] = set()
        self.readers = [0] * READERS
        self.holders: list[Actor | None] = [None] * READERS
        self.vacuum: Actor | None = None
        self.undo: Actor | None = None
        self.checked = 1

    def play(self, steps: Sequence[Step]) -> None:
        with _quiet():
            for step in steps:
                getattr(self, f"_{step.what.replace(' ', '_')}")(step)
                self._check_commits()
            self._mend()

    def _order(self, step: Step) -> None:
        assert step.order is not None
        if self._busy(step.who):
            self._go(step)
        else:
            self._start(step.who, step.order)

    def _go(self, step: Step) -> None:
        """A step of that writer; of the next one, if that one has nothing to do. Who is held up does none."""
        who = step.who if self._busy(step.who) and step.who not in self.stalled else (step.who + 1) % WRITERS
        writer = None if who in self.stalled else self.writers[who]
        for _ in range(max(step.number, 1)):
            if writer is not None and writer.is_busy:
                self._step(writer)

    def _step(self, actor: Actor) -> None:
        conflicts = actor.conflicts
        actor.step()
        self.tally["conflicts"] += actor.conflicts - conflicts
        self.tally["refusals"] += actor.error is not None

    def _again(self, step: Step) -> None:
        writer = self.writers[step.who]
        if writer is not None and not writer.is_busy:
            self._start(step.who, writer.order)

    def _answer_lost(self, step: Step) -> None:
        writer = self.writers[step.who]
        if writer is not None:
            writer.answer_lost = True
            self._go(step)
            writer.answer_lost = False

    def _crash(self, step: Step) -> None:
        writer = self.writers[step.who]
        if writer is not None and writer.is_busy:
            self.tally["crashes"] += 1
            writer.die()

    def _stall(self, step: Step) -> None:
        """Hold a writer up for a while, or let it go on."""
        self.stalled ^= {step.who}
        if step.who in self.stalled:
            self.world.pass_time(step.number)

    def _deliver(self, step: Step) -> None:
        self.world.editions[step.number] = self.world.editions.get(step.number, 0) + 1

    def _undo(self, step: Step) -> None:
        """Some of an undo: one step, up to its commit, or all that is left."""
        if self.undo is None or not self.undo.is_busy:
            self.undo = Actor(self.world, Order("undo", number=step.number))
        self._step(self.undo)
        while self.undo.is_busy and (step.who == Until.END or (step.who == Until.COMMIT and self.undo.at != "commit")):
            self._step(self.undo)
        self.tally["undone"] += self.undo.outcome is not None

    def _undo_dies(self, step: Step) -> None:
        self._die(self.undo)
        self.undo = None

    def _vacuum(self, step: Step) -> None:
        """So many steps of a vacuum, at least one; or until it has deleted data files."""
        for _ in range(max(step.number, 1)):
            self._vacuum_goes_on()
        while step.who == Until.DELETED and not self.vacuum_ended and not self._vacuuming.has_deleted:
            self._vacuum_goes_on()

    @property
    def _vacuuming(self) -> Actor:
        assert self.vacuum is not None
        return self.vacuum

    @property
    def vacuum_ended(self) -> bool:
        return self.vacuum is not None and not self.vacuum.is_busy

    def _vacuum_goes_on(self) -> None:
        if self.vacuum is None or not self.vacuum.is_busy:
            self.vacuum = Actor(self.world, Order("vacuum"))
        at = self.vacuum.at
        self._step(self.vacuum)
        is_done = not self.vacuum.is_busy and self.vacuum.error is None
        if at == "delete" or is_done:
            self._check(AFTER_VACUUM if is_done else WHILE_VACUUMING)
        self.tally["vacuums"] += is_done

    def _vacuum_dies(self, step: Step) -> None:
        self._die(self.vacuum)
        self.vacuum = None

    def _die(self, actor: Actor | None) -> None:
        if actor is not None and actor.is_busy:
            actor.die()

    def _open(self, step: Step) -> None:
        self.readers[step.who] = self.world.version

    def _read(self, step: Step) -> None:
        self.tally["reads"] += 1
        version = self.readers[step.who]
        self._check({"pinned readers": lambda world: pinned_reader(world, version)})

    def _hold(self, step: Step) -> None:
        """A step of holding what the reader has opened."""
        holder = self.holders[step.who]
        if holder is None or not holder.is_busy:
            order = Order("hold", number=step.number, version=self.readers[step.who])
            self.holders[step.who] = holder = Actor(self.world, order)
        self._step(holder)
        self.tally["holds"] += holder.claim is not None and not holder.is_busy

    def _release(self, step: Step) -> None:
        holder = self.holders[step.who]
        if holder is not None and holder.held is not None and holder.claim in self.world.held:
            assert holder.claim is not None
            self.world.held.remove(holder.claim)
            holder.held.release()

    def _clock(self, step: Step) -> None:
        self.world.pass_time(step.number)
        self.tally["clock jumps"] += abs(step.number) == CLOCK_JUMP_US

    def _mend(self) -> None:
        """Everybody dies and runs again; then time passes, vacuum passes, and nothing but the archive is left."""
        world = self.world
        self.stalled.clear()
        for actor in (self.undo, *self.holders):
            self._die(actor)
        for who, writer in enumerate(self.writers):
            if writer is not None and writer.is_busy:
                writer.die()
                self._start(who, writer.order)
                while self._busy(who):
                    self._go(Step("go", who))
                    self._check_commits()
        world.pass_time(world.latest_us - world.now_us + CLOCK_JUMP_US + TICKETS_KEPT_US)
        self._die(self.vacuum)
        self._vacuum_goes_on()
        while not self.vacuum_ended:
            self._vacuum_goes_on()
        self._check({"orphans": only_the_archive})

    def _start(self, who: int, order: Order) -> None:
        self.tally["attempts"] += 1
        self.writers[who] = writer = Actor(self.world, order)
        self._step(writer)

    def _busy(self, who: int) -> bool:
        writer = self.writers[who]
        return writer is not None and writer.is_busy

    def _check_commits(self) -> None:
        if len(self.world.committed) > self.checked:
            self.tally["commits"] += len(self.world.committed) - self.checked
            self.checked = len(self.world.committed)
            self._check(AFTER_COMMIT)

    def _check(self, checks: dict[str, Check]) -> None:
        for name, check in checks.items():
            if self.only in (None, name):
                for what in check(self.world):
                    raise Violation(name, what)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of operations that find nothing to do."""
    logger = logging.getLogger("tidewheel.commits")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def play(seed: int, length: int = STEPS_PER_HISTORY) -> Counter[str]:
    """Play the history of a seed; a failure says how to repeat it and which few steps suffice."""
    steps = random_steps(seed, length)
    one = Play(seed)
    try:
        one.play(steps)
    except Exception as error:
        error.add_note(f"repeat with: python -m tests.simulate --seed {seed} --length {length}")
        error.add_note("these steps suffice:\n  " + "\n  ".join(map(str, shrunk_history(seed, steps, error))))
        raise
    one.tally["steps"] = len(steps)
    return one.tally


def shrunk_history(seed: int, steps: list[Step], error: Exception, fault: Fault | None = None) -> list[Step]:
    """The shortest part found that fails in the same way."""
    kind = _kind(error)
    only = kind if fault is not None else None
    return shrunk(steps, lambda part: _kind(failure(seed, part, fault, only)) == kind)


def failure(seed: int, steps: Sequence[Step], fault: Fault | None = None, only: str | None = None) -> Exception | None:
    try:
        Play(seed, fault, only).play(steps)
    except Exception as error:
        return error
    return None


def _kind(error: Exception | None) -> str:
    return error.invariant if isinstance(error, Violation) else type(error).__name__
