"""Dying at any named place changes nothing that a rerun does not mend."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.standing.test_standing_real_histories import POINTS as REFRESH_PLACES
from tests.support.archives.copies import copied
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of, random_batch
from tidewheel.commits.fail_points import NAMES, VARIABLE, FailPointReached
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.storage.snapshot import open_snapshot

SPAN = 4
OTHER = generation_of(g=3, e=1, strategy="rebuild", span=SPAN)
AFTER_COMMIT = ("committed", "ledger_folded", "checkpoint_written", "side_tables_swept")
PLACES = {
    "update": (
        "planned",
        "files_written",
        "side_tables_written",
        "ready_to_commit",
        "committed",
        "ledger_folded",
        "checkpoint_written",
    ),
    "forget": ("planned", "files_written", "ready_to_commit", "committed", "side_tables_swept"),
    "run both": ("planned", "ready_to_commit", "committed"),
    "rebuild": ("planned", "migration_half_done", "ready_to_commit", "committed"),
    "undo": ("planned", "committed"),
    "vacuum": (
        "vacuum_begun",
        "vacuum_listed",
        "vacuum_half_done",
        "vacuum_data_done",
        "vacuum_folded",
        "vacuum_ledger_joined",
        "vacuum_log_done",
        "vacuum_side_tables_done",
    ),
}
PAIRS = [(kind, place) for kind, places in PLACES.items() for place in places]
BATCH = random_batch(random.Random(8), 9, SPAN)


@pytest.fixture(scope="module")
def nine_slots_built(tmp_path_factory: pytest.TempPathFactory, spark: object) -> SmallArchive:
    """Versions 1 to 9, so that the next commit is the one that folds; one record in quarantine."""
    chance = random.Random(3)
    archive = SmallArchive(tmp_path_factory.mktemp("nine_slots"), generation_of(span=SPAN), SPAN, now_us=0).create()
    archive.write(8, [])
    for slot in range(8):
        archive.update({slot: random_batch(chance, slot, SPAN)})
    records = random_batch(chance, 8, SPAN)
    archive.write(8, [*records, Record(8, 200, "k1", 1)])
    update(archive.job, [8], confirmed=EVERYTHING)
    archive.oracle.update({8: records})
    return archive


@pytest.fixture
def archive(nine_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    archive = copied(nine_slots_built, tmp_path)
    archive.write(9, [*BATCH, Record(9, 200, "too long", 1)])
    return archive


def operation(archive: SmallArchive, kind: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """An operation, and what it means to the oracle."""
    oracle = archive.oracle
    if kind == "update":
        return lambda: update(archive.job, [9], confirmed=EVERYTHING), lambda: oracle.update({9: BATCH})
    if kind == "forget":
        return lambda: forget(archive.job, keys=[("k1",)]), lambda: oracle.forget(lambda record: record.key == "k1")
    if kind == "undo":
        oracle_before = {slot: records for slot, records in oracle.batches.items() if slot < 8}

        def take_back() -> None:
            oracle.batches, oracle.watermark = oracle_before, 7

        return lambda: undo(archive.job, 8), take_back
    if kind == "vacuum":
        archive.now_us = 2**52
        return lambda: vacuum(archive.job), lambda: None
    relocate = kind == "rebuild"
    return lambda: migrate(archive.job, OTHER, relocate=relocate), lambda: archive.migrated_to(OTHER)


def rerun(kind: str, run: Callable[[], object], *, committed: bool) -> None:
    """Run again; a migration that took place is told that it did."""
    if committed and kind == "run both":
        with pytest.raises(InvalidInput, match="already has this layout"):
            run()
    else:
        run()


def dies(archive: SmallArchive, kind: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, apply = operation(archive, kind)
    before = open_snapshot(archive.job.location).version
    monkeypatch.setenv(VARIABLE, place)
    with pytest.raises(FailPointReached):
        run()
    monkeypatch.delenv(VARIABLE)
    committed = open_snapshot(archive.job.location).version - before
    assert committed == (place in AFTER_COMMIT), "one commit, or none"
    if committed:
        apply()
    archive.check()
    rerun(kind, run, committed=bool(committed))
    apply()
    archive.check()
    assert audit(archive.job, deep=False).findings == ()
    archive.now_us = 2**52
    vacuum(archive.job)
    archive.check()
    left = {path.name for path in (archive.folder / "table").glob("run-*")}
    assert left == {file.folder for file in archive.snapshot().files}
    assert audit(archive.job, deep=False).findings == ()


def one_pair_for_each_place() -> list[tuple[str, str]]:
    """Every place once, and with it every operation."""
    return list({place: (kind, place) for kind, place in reversed(PAIRS)}.values())


@pytest.mark.parametrize(("kind", "place"), one_pair_for_each_place())
def test_who_dies_is_mended_by_a_rerun(
    archive: SmallArchive, kind: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies(archive, kind, place, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "place"), PAIRS)
def test_whatever_dies_anywhere_is_mended_by_a_rerun(
    archive: SmallArchive, kind: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies(archive, kind, place, monkeypatch)


def test_every_fail_point_is_tried() -> None:
    assert {place for _, place in PAIRS} | set(REFRESH_PLACES) == set(NAMES)


def test_what_was_forgotten_is_not_in_the_log_of_a_forget_that_died(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "committed")
    with pytest.raises(FailPointReached):
        forget(archive.job, keys=[("k1",)])
    monkeypatch.delenv(VARIABLE)
    forget(archive.job, keys=[("k1",)])
    assert not [row for row in archive.content() if row[2] == "k1"]
    newest = archive.snapshot().version
    assert "k1" not in (archive.folder / "table" / "_delta_log").joinpath(f"{newest:020d}.json").read_text()
