"""Two hands, one archive: the same plan by this process or by Spark leaves the same rows in the same sub-indices."""

from __future__ import annotations

import doctest
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import Field
from deltalake.schema import PrimitiveType

from tests.old_archives.contents import OLD_ARCHIVES
from tests.support.archives.built_table import BuiltTable
from tests.support.archives.copies import SPAN, copied
from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch
from tests.whole.test_old_archives import Unpacked
from tidewheel.archive import Archive
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.hands import VARIABLE
from tidewheel.indexing.core import file_sizes, hand_choice
from tidewheel.indexing.core.hand_choice import LOCAL_BYTES_MAX, STORE_BYTES_MAX, HandKind, choose_hand
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.hand import SparkHand
from tidewheel.local import keys
from tidewheel.local.hand import BeyondThisHand, LocalHand
from tidewheel.resolve import Target
from tidewheel.storage.ledger_store import state_of

LAYOUTS = {
    "round_robin": (2, 2), "chronological": (2, 3), "wave_by_insertion": (3, 1), "wave_by_expiration": (1, 3),
    "randomized": (2, 2),
}  # fmt: skip
OTHER = {hand: next(one for one in HandKind if one is not hand) for hand in HandKind}


@contextmanager
def by(hand: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, hand)
        yield


@pytest.fixture(scope="module", params=LAYOUTS)
def built(request: pytest.FixtureRequest, spark: object, tmp_path_factory: pytest.TempPathFactory) -> SmallArchive:
    """Slots in three runs; each strategy leaves something to rewrite."""
    chance = random.Random(request.param)
    generation = generation_of(request.param, *LAYOUTS[request.param], span=SPAN, dead_share_max=0)
    archive = SmallArchive(tmp_path_factory.mktemp(request.param), generation, SPAN, now_us=0).create()
    for first in (0, 2, 4):
        archive.update({slot: random_batch(chance, slot, SPAN, 12) for slot in (first, first + 1)})
    return archive


def some_expiry(archive: SmallArchive) -> int:
    """The first slot by whose end some file is left with live and expired records."""
    job = archive.job
    return next(slot for slot in range(6, 6 + SPAN) if expire(job, slot, dry_run=True).plan.rewritten)


def carried_out(archive: SmallArchive, deed: str, hand: str) -> Outcome:
    with by(hand):
        if deed == "expire":
            return archive.expire(some_expiry(archive))
        if deed == "forget":
            key = Counter(row[2] for row in archive.content()).most_common(1)[0][0]
            archive.oracle.forget(lambda record: record.key == key)
            return forget(archive.job, keys=[(key,)])
        other = replace(generation_of("chronological", 3, 2, span=SPAN), dead_share_max=0.3)
        outcome = migrate(archive.job, other, relocate=True)
        archive.migrated_to(other)
        return outcome


def stored(archive: SmallArchive) -> Counter[tuple[Any, ...]]:
    """Every row of every file with the sub-index that it lies in."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for fact in archive.snapshot().files:
        table = pq.ParquetFile(archive.job.location.child(fact.path)).read()
        rows.update((fact.subindex, *row.values()) for row in table.to_pylist())
    return rows


@pytest.mark.parametrize("deed", ["expire", "forget", "rebuild"])
def test_the_same_plan_by_either_hand_leaves_the_same(built: SmallArchive, deed: str, tmp_path: Path) -> None:
    left = {}
    for hand in HandKind:
        archive = copied(built, tmp_path / hand)
        outcome = carried_out(archive, deed, hand)
        assert outcome.receipt is not None
        assert outcome.plan.rewritten, "there is something to rewrite"
        assert outcome.receipt.note == f"hand {hand} (as asked)"
        paths = {change.file.path for change in (*outcome.plan.dropped, *outcome.plan.rewritten)}
        left[hand] = (stored(archive), state_of(archive.snapshot()).ledger.cells(), paths)
        archive.check()
        assert audit(archive.job).findings == ()
    assert left[HandKind.LOCAL] == left[HandKind.SPARK]


def test_a_forget_leaves_as_many_runs_as_there_were(built: SmallArchive, tmp_path: Path) -> None:
    """What stays of a file stays in its order and in its run: the bound on runs is held as before."""
    mine = copied(built, tmp_path)
    before = {(file.subindex, file.run) for file in mine.snapshot().files}
    carried_out(mine, "forget", HandKind.LOCAL)
    carried_out(mine, "forget", HandKind.LOCAL)
    after = mine.snapshot().files
    assert {(file.subindex, file.run) for file in after} <= before
    assert any(file.run != file.folder for file in after)
    for file in after:
        columns = [*mine.snapshot().definition.key, "valid_until"]
        rows = pq.read_table(mine.folder / "table" / file.path, columns=columns, partitioning=None)
        assert rows.equals(rows.sort_by([(name, "ascending") for name in columns]))
    mine.check()
    assert audit(mine.job).clean


def test_what_one_hand_wrote_the_other_rewrites(built: SmallArchive, tmp_path: Path) -> None:
    chance = random.Random(5)
    for first in HandKind:
        archive = copied(built, tmp_path / first)
        carried_out(archive, "forget", first)
        carried_out(archive, "rebuild", OTHER[first])
        archive.update({6: random_batch(chance, 6, SPAN, 12)})
        carried_out(archive, "forget", first)
        carried_out(archive, "forget", OTHER[first])
        archive.check()
        assert audit(archive.job).findings == ()


@pytest.mark.parametrize("name", OLD_ARCHIVES)
def test_every_kind_of_key_moves_without_spark(name: str, tmp_path: Path) -> None:
    old = Unpacked.of(OLD_ARCHIVES[name], tmp_path)
    archive = old.open()
    before = archive.job.snapshot().files
    with by("local"):
        outcome = archive.migrate(rebuild=True)
    assert outcome.receipt is not None
    assert outcome.receipt.files_removed == len(before)
    for fact in archive.job.snapshot().files:
        table = pq.ParquetFile(archive.job.location.child(fact.path)).read()
        keys = [old.key(row) for row in table.to_pylist()]
        assert "NaN" in str(keys) or keys == sorted(keys)
    unbound = Archive(Target(str(archive.path)))
    assert unbound.audit(deep=False).findings == ()
    with unbound.reader as reader:
        assert old.counted(reader.scan().dicts()) == old.expected()


def test_digests_of_keys_are_those_of_spark(spark: object, tmp_path: Path) -> None:
    kinds = {'te"x`t': "string", "whole": "long", "tiny": "byte", "day": "date", "at": "timestamp"}
    fields = [_field(name, kind) for name, kind in kinds.items()]
    snapshot = BuiltTable.create(tmp_path, fields, [field.name for field in fields]).snapshot
    chance = random.Random(11)
    keys = [
        (
            "".join(chance.choices('abc é😀"\\/\b\f\n\r\t\x00\x01\x1f\x7f\u2028\u00a0<>&', k=chance.randint(0, 12))),
            str(chance.randint(-(2**63), 2**63 - 1)),
            str(chance.randint(-128, 127)),
            f"{chance.randint(1, 9999):04}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
            f"{chance.randint(1, 9999):04}-06-07T08:09:{chance.randint(0, 59):02}.{chance.randint(0, 10**6 - 1):06}Z",
        )
        for _ in range(200)
    ]
    for key in keys:  # singly, so that a difference names its key
        assert len(LocalHand().key_digests(snapshot, [key])) == 1
    assert LocalHand().key_digests(snapshot, keys) == SparkHand().key_digests(snapshot, keys)


def test_what_this_process_cannot_do_spark_does_unless_forbidden(built: SmallArchive, tmp_path: Path) -> None:
    archive = copied(built, tmp_path)
    with by("local"), pytest.raises(InvalidInput, match="this process cannot do"):
        forget(archive.job, where="key = 'k1'")
    of_ratios = BuiltTable.create(tmp_path / "ratios", [_field("key", "double")], ["key"]).snapshot
    with pytest.raises(BeyondThisHand):
        LocalHand().key_digests(of_ratios, [("1",)])
    outcome = forget(archive.job, where="key = 'k1'")
    assert outcome.receipt is not None
    with by("both"), pytest.raises(InvalidInput, match="no hand 'both'"):
        archive.expire(some_expiry(archive))


def test_a_page_that_changed_is_not_carried_over(built: SmallArchive, tmp_path: Path) -> None:
    archive = copied(built, tmp_path)
    before = archive.snapshot()
    for fact in before.files:
        path = Path(archive.job.location.child(fact.path))
        column = pq.ParquetFile(path).metadata.row_group(0).column(1)
        content = bytearray(path.read_bytes())
        content[column.data_page_offset + column.total_compressed_size - 3] ^= 0xFF
        path.write_bytes(content)
    with by("local"), pytest.raises(InvalidInput, match="could not be rewritten in this process"):
        migrate(archive.job, generation_of(g=1, e=1, span=SPAN), relocate=True)
    assert archive.snapshot().version == before.version
    assert not list(Path(archive.job.location.uri).glob(f"run-*/layout={before.definition.current.number + 1}"))


@pytest.mark.parametrize("module", [file_sizes, hand_choice, keys])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_size_and_place_decide() -> None:
    assert choose_hand(LOCAL_BYTES_MAX, is_local=True).kind is HandKind.LOCAL
    assert choose_hand(LOCAL_BYTES_MAX + 1, is_local=True).kind is HandKind.SPARK
    assert choose_hand(STORE_BYTES_MAX, is_local=False).kind is HandKind.LOCAL
    assert choose_hand(STORE_BYTES_MAX + 1, is_local=False).kind is HandKind.SPARK
    assert choose_hand(0, is_local=True, asked="spark").kind is HandKind.SPARK


def _field(name: str, kind: str) -> Field:
    return Field(name, PrimitiveType(kind), nullable=True)
