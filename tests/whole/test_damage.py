"""Every file of a small archive, damaged in every way: no wrong rows, and audit names what was hit and mends it."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.support.archives.copies import copied
from tests.support.archives.damages import Damage, batch_of_six, bring_back, built, damages
from tests.support.archives.small_archive import EVERYTHING, SmallArchive
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.jobs.audit.compare import AuditReport, audit
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.storage.ledger_store import fold_into_ledger
from tidewheel.storage.snapshot import FILES_ID

pytestmark = pytest.mark.usefixtures("spark")
SEED = int(os.environ.get("TIDEWHEEL_SEED", "0"))
SAMPLE = 8
BLOCKS = 6
Rows = list[tuple[int, int, str, int]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SmallArchive:
    return built(tmp_path_factory.mktemp("whole"))


def read(archive: SmallArchive) -> Rows | TidewheelError:
    """What a reader gets: rows, or an error that says why not. Anything else that is raised is a failure."""
    try:
        with Reader.open(archive.job.location, now_us=archive.job.clock) as reader:
            rows = reader.scan(columns=["ins_slot", "exp_slot", "key", "body"]).dicts()
    except TidewheelError as error:
        return error
    return sorted(tuple(row.values()) for row in rows)


def write(archive: SmallArchive) -> TidewheelError | None:
    try:
        update(archive.job, [6], confirmed=EVERYTHING)
    except TidewheelError as error:
        return error
    archive.oracle.update({6: batch_of_six()})
    return None


def outcome(archive: SmallArchive, folder: Path, damage: Damage) -> str:
    """What came of one damage; asserts what is promised of it."""
    hit = copied(archive, folder)
    if not damage.do(Path(hit.job.location.uri), SEED):
        return "no change"
    expected, rows = hit.expected(), read(hit)
    report = audit(hit.job)
    refused = isinstance(rows, TidewheelError)
    right = not refused and rows == expected
    named = any(Path(damage.path).name in (one.path or "") + one.message for one in report.findings)
    if damage.path in {fact.path for fact in archive.snapshot().files}:
        _assert_data(hit, damage, rows, report, named=named)
    if refused:
        assert Path(damage.path).name in str(rows), f"{damage}: refused without naming it: {rows}"
    if damage.kind in ("log entry", "checkpoint") and damage.way != "flipped":
        assert refused or right or _is_the_newest_entry(hit, damage), f"{damage}: wrong rows are read"
    unseen = report.clean and not right
    assert not unseen or _is_the_newest_entry(hit, damage), f"{damage}: wrong rows that audit does not see"
    mended = write(later := copied(hit, folder.with_name(f"{folder.name}-w")))
    if report.clean and right:
        assert mended is None, f"{damage}: {mended}"
        assert read(later) == later.expected(), f"{damage}: wrong rows after the next update"
    found = "named by audit" if named else "found by audit" if not report.clean else "not found"
    return f"{'read refuses' if refused else 'read right' if right else 'read wrong'}, {found}, " + (
        "update refuses" if mended else "update done"
    )


def _assert_data(
    hit: SmallArchive, damage: Damage, rows: Rows | TidewheelError, report: AuditReport, *, named: bool
) -> None:
    assert named, f"{damage}: audit does not name it: {report.findings}"
    if damage.way in ("removed", "emptied", "halved", "cut"):
        assert isinstance(rows, TidewheelError), f"{damage}: read all the same"
        assert damage.path in str(rows), f"{damage}: not named in {rows}"
    assert bring_back(hit, report).findings == ()
    hit.check()


def _is_the_newest_entry(hit: SmallArchive, damage: Damage) -> bool:
    """Without its newest entry a log is what it was one commit ago: nothing in it tells the difference."""
    return damage == Damage(f"_delta_log/{4:020d}.json", "removed")


def play(archive: SmallArchive, folder: Path, chosen: list[Damage]) -> None:
    tally: Counter[str] = Counter()
    for number, damage in enumerate(chosen):
        try:
            tally[f"{damage.kind} {damage.way}: {outcome(archive, folder / str(number), damage)}"] += 1
        except BaseException as error:
            error.add_note(f"seed {SEED}, {damage}")
            raise
    print(f"seed {SEED}: {len(chosen)} damages")
    print("\n".join(f"{count:4} {what}" for what, count in sorted(tally.items())))


def test_a_sample_of_damages(whole: SmallArchive, tmp_path: Path) -> None:
    every = list(damages(whole))
    play(whole, tmp_path, random.Random(SEED).sample(every, SAMPLE))


@pytest.mark.parametrize("way", ["emptied", "cut", "older"])
def test_the_newest_log_entry_beyond_repair_goes_and_its_batch_comes_again(
    whole: SmallArchive, tmp_path: Path, way: str
) -> None:
    hit = copied(whole, tmp_path / "hit")
    damage = Damage(f"_delta_log/{4:020d}.json", way)
    damage.do(Path(hit.job.location.uri), SEED)
    for refused in (read(hit), write(hit)):
        assert isinstance(refused, TidewheelError)
        assert damage.path.rsplit("/", 1)[-1] in str(refused)
        assert "delete it" in str(refused)
    Path(hit.job.location.child(damage.path)).unlink()
    update(hit.job, [5], confirmed=EVERYTHING)
    hit.check()
    assert audit(hit.job).findings == ()


@pytest.mark.parametrize(
    ("commits_since", "damage"),
    [
        (2, Damage(f"_delta_log/{4:020d}.json", "emptied")),
        (2, Damage(f"_delta_log/{4:020d}.json", "older")),
        (0, Damage(f"_delta_log/{3:020d}.checkpoint.parquet", "older")),
        (2, Damage(f"_delta_log/{3:020d}.checkpoint.parquet", "older")),
    ],
    ids=str,
)
def test_a_log_that_can_be_read_and_is_not_what_was_written(
    whole: SmallArchive, tmp_path: Path, commits_since: int, damage: Damage
) -> None:
    """Whatever was folded into the ledger, and whether commits came since."""
    hit = copied(whole, tmp_path / "hit")
    log = Path(hit.job.location.uri, "_delta_log")
    if commits_since == 0:
        (log / f"{4:020d}.json").unlink()
    else:
        hit.update({7: batch_of_six()})
        fold_into_ledger(hit.snapshot(), every=1)
    before = (log.parent / damage.path).read_bytes()
    damage.do(log.parent, SEED)
    for refused in (read(hit), write(hit)):
        assert isinstance(refused, Damaged)
        assert f"{damage.path} is not the one that was written for version {int(damage.path[11:31])}" in str(refused)
        assert "restore the file from a copy" in str(refused)
    assert damage.path in audit(hit.job).findings[0].message
    (log.parent / damage.path).write_bytes(before)
    assert write(hit) is None


def test_an_archive_whose_commits_brought_no_digest(whole: SmallArchive, tmp_path: Path) -> None:
    """As older versions of the program left it: it is read, and the next commit brings one."""
    hit = copied(whole, tmp_path / "hit")
    root = Path(hit.job.location.uri)
    for entry in (root / "_delta_log").glob("*.json"):
        entry.write_text("".join(line for line in entry.read_text().splitlines(True) if FILES_ID not in line))
    for checkpoint in (root / "_delta_log").glob("*checkpoint*"):
        checkpoint.unlink()
    assert hit.snapshot().table.transaction_version(FILES_ID) is None
    assert read(hit) == hit.expected()
    assert audit(hit.job).findings == ()
    assert write(hit) is None
    assert hit.snapshot().table.transaction_version(FILES_ID) == hit.snapshot().digest
    hit.check()
    assert audit(hit.job).findings == ()


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_damage(whole: SmallArchive, tmp_path: Path, block: int) -> None:
    play(whole, tmp_path, list(damages(whole))[block::BLOCKS])
