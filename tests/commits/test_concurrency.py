"""Writers that meet: every update lands once, a stale one never overwrites a correction."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archives.side_rows import quarantined_rows
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of, random_batch
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.errors import InvalidInput, Superseded
from tidewheel.jobs.update import update

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4
READY = random_batch(random.Random(8), 1, SPAN)


def interrupted(job: ArchiveJob, meanwhile: Callable[[], object]) -> ArchiveJob:
    """The job, with something else happening once, just before it writes."""
    left = [meanwhile]

    def progress(step: str) -> None:
        if step == "writing" and left:
            left.pop()()

    return replace(job, progress=progress)


def reading_aside(archive: SmallArchive, slot: int) -> ArchiveJob:
    """The job, reading a slot's file under another name: whoever corrects it does not exchange what is being read."""
    written = archive.folder / "source" / f"{slot}.parquet"
    written.rename(written.with_name(f"aside-{slot}.parquet"))
    source = replace(archive.file.source, path=str(written.with_name("aside-{slot}.parquet")))
    return replace(archive.job, file=replace(archive.file, source=source))


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    chance = random.Random(3)
    archive = SmallArchive(tmp_path, generation_of(span=SPAN), SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in range(4)})
    return archive


def folders(archive: SmallArchive) -> set[str]:
    return {path.name for path in (archive.folder / "table").glob("run-*")}


def committed_folders(archive: SmallArchive) -> set[str]:
    return {file.run for file in archive.snapshot().files}


@pytest.mark.parametrize("strategy", ["rebuild", "no_rebuild", "expire_rebuild"])
def test_two_writers_of_different_slots_both_land(tmp_path: Path, strategy: str) -> None:
    chance = random.Random(4)
    archive = SmallArchive(tmp_path, generation_of(strategy=strategy, span=SPAN), SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in range(3)})
    batches = {slot: random_batch(chance, slot, SPAN) for slot in (3, 4)}
    for slot, records in batches.items():
        archive.write(slot, records)
    job = interrupted(archive.job, lambda: update(archive.job, [4]))
    outcome = update(job, [3])
    archive.oracle.update({4: batches[4]})
    archive.oracle.update({3: batches[3]})
    assert outcome.tries == 2
    archive.check()


def test_a_batch_that_was_overtaken_by_a_correction_stops(archive: SmallArchive) -> None:
    chance = random.Random(5)
    stale, corrected = random_batch(chance, 4, SPAN), random_batch(chance, 4, SPAN, rows=8)
    archive.write(4, stale)
    before = folders(archive)
    with pytest.raises(Superseded):
        update(
            interrupted(reading_aside(archive, 4), lambda: archive.update({4: corrected})), [4], confirmed=EVERYTHING
        )
    archive.check()
    assert len(folders(archive) - before) == 1, "the overtaken attempt leaves nothing behind"


def test_files_already_written_are_used_when_the_work_is_the_same(tmp_path: Path) -> None:
    chance = random.Random(6)
    generation = generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=1.0, runs_max=100)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in (0, 3)})
    one, two = random_batch(chance, 1, SPAN), random_batch(chance, 2, SPAN)
    archive.write(1, one)
    outcome = update(interrupted(archive.job, lambda: archive.update({2: two})), [1])
    archive.oracle.update({1: one})
    archive.check()
    assert outcome.tries == 2
    assert any(run.endswith("-1") and run.startswith(str(outcome.receipt and outcome.receipt.attempt)) for run in
               committed_folders(archive))  # fmt: skip


def test_an_attempt_that_writes_again_quarantines_its_records_once(archive: SmallArchive) -> None:
    chance = random.Random(6)
    archive.write(4, [*random_batch(chance, 4, SPAN), Record(4, 200, "too long", 1)])
    outcome = update(interrupted(archive.job, lambda: archive.update({5: random_batch(chance, 5, SPAN)})), [4])
    assert outcome.receipt is not None
    assert outcome.tries == 2
    assert outcome.receipt.slots[0].quarantined == 1
    assert len(quarantined_rows(archive.job.location, [(4, outcome.receipt.attempt)])) == 1


def overtaken(archive: SmallArchive, then: Callable[[], object]) -> ArchiveJob:
    """The archive's job, overtaken once before it commits; then something happens before it plans again."""
    chance = random.Random(6)
    left = [then]

    def progress(step: str) -> None:
        if step == "writing" and left:
            archive.update({2: random_batch(chance, 2, SPAN)})
        if step.startswith("somebody else was first") and left:
            left.pop()()

    return replace(archive.job, progress=progress)


@pytest.fixture
def waiting(tmp_path: Path) -> SmallArchive:
    """An archive whose next batch lies ready."""
    chance = random.Random(6)
    generation = generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=1.0, runs_max=100)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in (0, 3)})
    archive.write(1, READY)
    return archive


def test_an_attempt_whose_files_were_vacuumed_by_a_clock_ahead_writes_them_again(waiting: SmallArchive) -> None:
    """The archive's clock is months ahead of the store's, so that vacuum takes files of seconds ago."""
    seen: list[Plan] = []
    job = replace(overtaken(waiting, lambda: vacuum(waiting.job)), planned=lambda state, plan: seen.append(plan))
    outcome = update(job, [1])
    waiting.oracle.update({1: READY})
    waiting.check()
    assert outcome.tries == 2
    assert len(seen) == 2
    assert seen[-1] is outcome.plan, "whoever watches is told of the plan that is carried out"


def test_an_attempt_whose_files_somebody_deleted_is_not_committed(waiting: SmallArchive) -> None:
    def delete() -> None:
        for folder in folders(waiting) - committed_folders(waiting):
            shutil.rmtree(waiting.folder / "table" / folder)

    with pytest.raises(InvalidInput, match="gone before its commit"):
        update(overtaken(waiting, delete), [1])
    waiting.check()


def other_migrates(archive: SmallArchive, *, relocate: bool) -> None:
    generation: Generation = generation_of(g=3, e=1, strategy="rebuild", span=SPAN)
    migrate(archive.job, generation, relocate=relocate)
    archive.migrated_to(generation)


@pytest.mark.parametrize("other", ["forget", "expire", "run_both", "stop_and_rebuild"])
def test_an_update_survives_any_other_operation_in_between(archive: SmallArchive, other: str) -> None:
    chance = random.Random(7)
    records = random_batch(chance, 4, SPAN)
    archive.write(4, records)
    meanwhile: dict[str, Callable[[], object]] = {
        "forget": lambda: forget(archive.job, keys=[("k1",)]),
        "expire": lambda: archive.expire(5),
        "run_both": lambda: other_migrates(archive, relocate=False),
        "stop_and_rebuild": lambda: other_migrates(archive, relocate=True),
    }
    if other == "forget":
        archive.oracle.forget(lambda record: record.key == "k1")
    # The archive file changes with a migration: this attempt still has the old one, so it does not look at it.
    job = interrupted(archive.job, meanwhile[other])
    if other in ("run_both", "stop_and_rebuild"):
        with pytest.raises(InvalidInput, match="contradicts"):
            update(job, [4])
        update(archive.job, [4])
    else:
        update(job, [4])
    archive.oracle.update({4: records})
    archive.check()


def test_an_attempt_that_outlived_grace_is_not_committed(archive: SmallArchive) -> None:
    archive.write(4, random_batch(random.Random(8), 4, SPAN))

    def sleep_past_grace() -> None:
        archive.now_us += archive.grace_us

    job = replace(interrupted(archive.job, sleep_past_grace), clock=lambda: archive.now_us)
    version = archive.snapshot().version
    with pytest.raises(InvalidInput, match="grace"):
        update(job, [4])
    assert archive.snapshot().version == version
    archive.check()
