"""Undo: the archive is what it was, whatever happened since, and what was forgotten stays forgotten."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archives.copies import SPAN, copied
from tests.support.archives.small_archive import HOUR_US, SmallArchive, generation_of, random_batch
from tests.support.models.model_table import ModelTable, cells_of, definition_of
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.core.batches import batches_at, batches_since
from tidewheel.indexing.core.folding import fold_all
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.storage.ledger_store import all_receipts, state_of
from tidewheel.storage.snapshot import open_snapshot


def small_model(chance: random.Random) -> ModelTable:
    strategy = chance.choice(["rebuild", "no_rebuild", "expire_rebuild"])
    return ModelTable(definition_of(generation_of(strategy=strategy, span=SPAN), SPAN), rows_max_per_file=5)


def some_update(table: ModelTable, chance: random.Random) -> None:
    newest = max((last for _, last in table.ledger.applied), default=0)
    slot = newest + chance.choice([-2, -1, 0, 1, 1, 1, 9])
    table.update({slot: random_batch(chance, slot, SPAN)})


@pytest.mark.parametrize("seed", range(200))
def test_an_undone_ledger_is_the_earlier_one(seed: int) -> None:
    chance = random.Random(seed)
    table = small_model(chance)
    for _ in range(chance.randrange(2, 8)):
        some_update(table, chance)
    barrier = table.version
    if chance.random() < 0.5:
        table.forget(f"k{chance.randrange(6)}")
        barrier = table.version
    for _ in range(chance.randrange(1, 5)):
        some_update(table, chance)
        if chance.random() < 0.3:
            table.undo(chance.randrange(barrier, table.version))
    version = chance.randrange(barrier, table.version)
    then_files, then = table.past[version]
    receipt = table.undo(version)
    as_then = replace(table.ledger, version=then.version, head=then.head, tombstones=then.tombstones)
    assert as_then == then
    assert set(then.tombstones) <= set(table.ledger.tombstones)
    assert table.files == then_files
    assert table.ledger.cells() == cells_of(table.content())
    assert Receipt.from_json(receipt.to_json()) == receipt
    assert fold_all(Ledger(), table.receipts, SPAN) == table.ledger


@pytest.mark.parametrize("seed", range(50))
def test_batches_that_count_follow_the_records(seed: int) -> None:
    chance = random.Random(seed)
    table = small_model(chance)
    for _ in range(10):
        some_update(table, chance)
        if chance.random() < 0.4:
            table.undo(chance.randrange(1, table.version + 1))
    counted = batches_at(dict(table.receipts), table.version)
    for slot, record in table.ledger.records.items():
        assert counted[slot] == record.attempt
    since = batches_since(table.receipts, table.version - 2)
    assert set(counted.items()) <= since
    assert set(batches_at(dict(table.receipts), table.version - 1).items()) <= since


def test_a_tombstone_that_a_jump_made_needless_is_back_after_its_undo() -> None:
    table = ModelTable(definition_of(generation_of(span=SPAN), SPAN))
    batch = [Record(1, 4, "gone"), Record(1, 4, "stays")]
    table.update({1: batch})
    table.forget("gone")
    version = table.version
    table.update({100: []})
    assert table.ledger.tombstones == ()
    table.undo(version)
    table.update({1: batch})
    assert [record.key for record in table.content()] == ["stays"]


def test_a_forget_is_a_barrier() -> None:
    table = ModelTable(definition_of(generation_of(span=SPAN), SPAN))
    table.update({1: [Record(1, 4, "a")]})
    table.forget("a")
    with pytest.raises(InvalidInput, match="stays forgotten"):
        table.undo(1)


@pytest.fixture
def archive(five_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(five_slots_built, tmp_path)


def test_the_version_before_a_mistake_comes_back(archive: SmallArchive) -> None:
    right = archive.content()
    before = state_of(archive.snapshot())
    archive.expire(50)
    assert archive.content() == []
    dry = undo(archive.job, dry_run=True)
    assert dry.receipt is None
    assert archive.content() == []

    done = undo(archive.job)

    assert (done.version, done.to_version) == (5, 3)
    assert Counter(done.restored) == Counter(before.files)
    assert archive.content() == right
    after = state_of(archive.snapshot())
    assert (after.watermark, after.ledger.cells()) == (before.watermark, before.ledger.cells())
    assert sorted(after.files, key=lambda file: file.path) == sorted(before.files, key=lambda file: file.path)
    archive.oracle.watermark = before.watermark
    archive.update({5: [Record(5, 7, "next", 7)]})
    archive.check()
    # An undo is a commit like any other: it can be undone, across what came after it.
    undo(archive.job, to_version=4)
    assert archive.content() == []
    assert [receipt.head for _, receipt in all_receipts(archive.snapshot())] == list(range(8))


def test_what_cannot_be_undone_is_refused_with_the_reason(archive: SmallArchive) -> None:
    forget(archive.job, keys=[("k1",)])
    version = open_snapshot(archive.job.location).version
    with pytest.raises(InvalidInput, match="stays forgotten"):
        undo(archive.job)
    with pytest.raises(InvalidInput, match="version 99"):
        undo(archive.job, to_version=99)
    archive.expire(50)
    files = open_snapshot(archive.job.location, version).files
    archive.now_us += 2 * HOUR_US
    with pytest.raises(InvalidInput, match="only kept for 3600 s"):
        undo(archive.job)
    archive.now_us -= 2 * HOUR_US
    Path(archive.job.location.child(files[0].path)).unlink()
    with pytest.raises(Damaged, match="is missing"):
        undo(archive.job)
    assert open_snapshot(archive.job.location).version == version + 1
