"""Histories of the fault simulator on a real archive: its steps, with deaths at fail points and rivals half-way."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import pytest

from tests.simulator.steps import GRACE_US, Step, random_definition, random_steps
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, random_batch
from tests.support.models.model_table import random_generation
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.fail_points import NAMES, VARIABLE, FailPointReached
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.errors import InvalidInput, Refused, Superseded
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.storage.snapshot import open_snapshot

STEPS_DRAWN = 150
DEATH_SHARE = 0.4
RIVAL_SHARE = 0.3
PLAYED = ("order", "undo", "vacuum", "clock")


@dataclass(frozen=True)
class Deed:
    """Something to do with an archive, and what it means to the oracle."""

    run: Callable[[ArchiveJob], object]
    apply: Callable[[], None]


class FaultyHistory:
    """Plays a seed's history: everybody may die at a fail point, and then does it again."""

    def __init__(self, archive: SmallArchive, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archive, self.chance, self.monkeypatch = archive, random.Random(seed), monkeypatch
        self.ahead_us = 0
        self.steps = [step for step in random_steps(seed, STEPS_DRAWN) if step.what in PLAYED]
        self.past: dict[int, tuple[dict[int, tuple[Record, ...]], int | None]] = {}
        self.tally: Counter[str] = Counter()

    def play(self, length: int) -> None:
        self._remember()
        for step in self.steps[:length]:
            self.archive.now_us = time.time_ns() // 1000 + self.ahead_us
            if step.what == "clock":
                # The simulator's grace is a hundred units, this archive's is what it is.
                self.ahead_us += max(0, step.number) * self.archive.grace_us // GRACE_US
                continue
            deed = self._deed(step)
            if self.chance.random() < DEATH_SHARE:
                self._die(deed)
            self._do(deed, self.archive.job)
            self.tally["steps"] += 1
        report = audit(self.archive.job)
        assert report.findings == (), report.findings

    def _do(self, deed: Deed, job: ArchiveJob) -> None:
        rival = self._rival() if self.chance.random() < RIVAL_SHARE else None
        with self._interrupted(job, rival) as interrupted, suppress(InvalidInput, Refused):
            # Refused is an undo across a barrier, a migration to what is there, a batch that was overtaken.
            try:
                deed.run(interrupted)
                deed.apply()
            except Superseded:
                self.tally["superseded"] += 1
        self._remember()
        self.archive.check()

    @contextmanager
    def _interrupted(self, job: ArchiveJob, rival: Deed | None) -> Iterator[ArchiveJob]:
        """The job, with a rival's whole operation before its first file."""
        left = [rival] if rival is not None else []

        def progress(step: str) -> None:
            if left and step == "writing":
                self.tally["rivals"] += 1
                self._do_plainly(left.pop())

        yield replace(job, progress=progress)

    def _do_plainly(self, deed: Deed) -> None:
        deed.run(self.archive.job)
        deed.apply()
        self._remember()

    def _die(self, deed: Deed) -> None:
        before = self._version()
        self.monkeypatch.setenv(VARIABLE, self.chance.choice(NAMES))
        try:
            with suppress(InvalidInput, Refused):
                deed.run(self.archive.job)
                deed.apply()
        except FailPointReached:
            self.tally["deaths"] += 1
            if self._version() > before:
                deed.apply()
        finally:
            self.monkeypatch.delenv(VARIABLE)
        self._remember()
        self.archive.check()

    def _deed(self, step: Step) -> Deed:
        archive, order = self.archive, step.order
        if step.what == "vacuum":
            return Deed(vacuum, lambda: None)
        if step.what == "undo":
            return self._undo(max(0, self._version() - step.number))
        assert order is not None
        if order.kind == "update":
            return self._update(*order.slots)
        if order.kind == "expire":
            return Deed(
                lambda job: expire(job, order.number, confirmed=EVERYTHING),
                lambda: archive.oracle.expire(order.number),
            )
        if order.kind == "forget":
            return self._forget(f"k{order.number}")
        generation = random_generation(random.Random(order.number), 0, archive.span)
        relocate = order.kind == "rebuild"
        return Deed(lambda job: migrate(job, generation, relocate=relocate), lambda: archive.migrated_to(generation))

    def _rival(self) -> Deed:
        newest = max(self.archive.oracle.batches, default=0)
        if self.chance.random() < 0.3:
            return self._forget(f"k{self.chance.randrange(6)}")
        return self._update(newest + self.chance.randrange(-2, 2))

    def _update(self, *slots: int) -> Deed:
        archive, batches = self.archive, {s: random_batch(self.chance, s, self.archive.span) for s in slots}

        def run(job: ArchiveJob) -> None:
            for slot, records in batches.items():
                archive.write(slot, records)
            update(job, slots, confirmed=EVERYTHING)

        return Deed(run, lambda: archive.oracle.update(batches))

    def _forget(self, key: str) -> Deed:
        return Deed(
            lambda job: forget(job, keys=[(key,)]),
            lambda: self.archive.oracle.forget(lambda record: record.key == key),
        )

    def _undo(self, target: int) -> Deed:
        oracle = self.archive.oracle

        def apply() -> None:
            batches, oracle.watermark = self.past[target]
            oracle.batches = dict(batches)

        return Deed(lambda job: undo(job, target), apply)

    def _remember(self) -> None:
        oracle = self.archive.oracle
        self.past[self._version()] = (dict(oracle.batches), oracle.watermark)

    def _version(self) -> int:
        return open_snapshot(self.archive.job.location).version


def archive_of(seed: int, folder: object) -> SmallArchive:
    """An archive with the seed's layout and span."""
    definition = random_definition(seed)
    return SmallArchive(folder, definition.current, definition.span).create()  # type: ignore[arg-type]
