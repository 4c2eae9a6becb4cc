"""Vacuum: gone is what nobody needs, there is what somebody may read, whatever is interrupted."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives import byte_search
from tests.support.archives.built_table import BuiltTable
from tests.support.archives.columns import column
from tests.support.archives.copies import committed_us, copied
from tests.support.archives.small_archive import EVERYTHING, HOUR_US, MINUTE_US, SmallArchive
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.commits.status import status
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.rules.vacuum import StoredFile, log_unneeded, unneeded, version_needed_min
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import all_receipts, state_of
from tidewheel.storage.snapshot import open_snapshot

WEEK_US = 7 * 24 * HOUR_US


def log_of(*versions: int, changed_us: int = 0) -> dict[int, StoredFile]:
    return {version: StoredFile(str(version), 1, changed_us + version) for version in versions}


def test_a_version_is_needed_until_grace_after_the_next() -> None:
    moments = {0: 0, 1: 10, 2: 20, 3: 30}
    assert version_needed_min(moments, 3, since_us=9) == 0
    assert version_needed_min(moments, 3, since_us=10) == 1
    assert version_needed_min(moments, 3, since_us=100) == 3
    assert version_needed_min({5: 50}, 5, since_us=40) == 4
    # The clock was set back between versions 2 and 3.
    assert version_needed_min({1: 10, 2: 99, 3: 30}, 3, since_us=50) == 1


def test_a_checksum_file_stays_with_its_data_file() -> None:
    files = [StoredFile(f"run/{name}", 1, 5) for name in ("a.parquet", ".a.parquet.crc", "b.parquet", ".b.parquet.crc")]
    assert [file.path for file in unneeded(files, {"run/a.parquet"}, 5)] == ["run/b.parquet", "run/.b.parquet.crc"]
    assert unneeded(files, {"run/a.parquet"}, 4) == []


def test_the_log_goes_up_to_a_checkpoint_that_suffices_and_a_ledger_that_knows() -> None:
    entries, checkpoints = log_of(*range(21)), log_of(5, 10, 20)

    def gone(**bounds: object) -> list[str]:
        arguments = {"needed_min": 20, "folded": [20], "since_us": 99, **bounds}
        return [file.path for file in log_unneeded(entries, checkpoints, **arguments)]  # type: ignore[arg-type]

    assert gone() == [*map(str, range(20)), "5", "10"]
    assert gone(folded=None) == gone()
    assert gone(needed_min=12, folded=[10, 20]) == [*map(str, range(10)), "5"]
    assert gone(needed_min=12, folded=[7, 20]) == [*map(str, range(7)), "5"]
    assert gone(needed_min=4) == []
    assert gone(folded=[]) == ["5", "10"]
    assert gone(since_us=3) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("seed", range(200))
def test_whatever_goes_every_needed_version_can_be_read(seed: int) -> None:
    chance = random.Random(seed)
    newest, at_us, entries = chance.randrange(1, 40), 0, {}
    for version in range(newest + 1):
        at_us += chance.randrange(1, 10)
        entries[version] = StoredFile(f"e{version}", 1, at_us)
    checkpoints = {
        version: StoredFile(f"c{version}", 1, entries[version].changed_us + 1)
        for version in range(newest + 1)
        if chance.random() < 0.2
    }
    folded = [version for version in range(newest + 1) if chance.random() < 0.3]
    since_us = chance.randrange(at_us + 10)
    oldest = version_needed_min({v: e.changed_us for v, e in entries.items()}, newest, since_us)
    gone = {
        file.path for file in log_unneeded(entries, checkpoints, needed_min=oldest, folded=folded, since_us=since_us)
    }
    for version in range(oldest, newest + 1):
        starts = [at for at in checkpoints if at <= version and f"c{at}" not in gone]
        readable = any(all(f"e{v}" not in gone for v in range(at + 1, version + 1)) for at in starts)
        assert readable or all(f"e{v}" not in gone for v in range(version + 1))
        known = max((at for at in folded if at <= version), default=-1)
        assert all(f"e{v}" not in gone for v in range(known + 1, version + 1))


@pytest.fixture
def archive(five_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(five_slots_built, tmp_path)


def data_files(archive: SmallArchive) -> set[str]:
    root = Path(archive.job.location.uri)
    return {path.relative_to(root).as_posix() for path in root.glob("run-*/**/*.parquet")}


def named_files(archive: SmallArchive, version: int | None = None) -> set[str]:
    return {file.path for file in open_snapshot(archive.job.location, version).files}


def test_within_grace_every_version_stays_readable(archive: SmallArchive) -> None:
    archive.now_us += MINUTE_US
    report = vacuum(archive.job)
    assert report.files["data"] == 0
    assert report.awaiting_bytes > 0
    for version in range(4):
        assert named_files(archive, version) <= data_files(archive)


def test_a_version_replaced_longer_ago_than_grace_goes(archive: SmallArchive) -> None:
    # Grace ends just after version 3 was committed: version 2 goes, 3 is still current.
    archive.now_us += HOUR_US
    dry = vacuum(archive.job, dry_run=True)
    assert data_files(archive) > named_files(archive)
    report = vacuum(archive.job)
    assert report.files == dry.files
    assert data_files(archive) == named_files(archive)
    assert report.awaiting_files == 0
    assert report.folders > 0
    assert not [path for path in Path(archive.job.location.uri).rglob("*") if path.is_dir() and not any(path.iterdir())]
    archive.check()
    again = vacuum(archive.job)
    assert sum(again.files.values()) == 0
    assert open_snapshot(archive.job.location).version == 3, "vacuum commits nothing"


def test_the_log_goes_after_its_retention_and_nothing_is_forgotten(archive: SmallArchive) -> None:
    before = state_of(archive.snapshot())
    receipts = list(all_receipts(archive.snapshot()))
    log = Path(archive.job.location.uri, "_delta_log")
    archive.now_us += WEEK_US - MINUTE_US
    assert vacuum(archive.job).files["log"] == 0
    archive.now_us += 2 * MINUTE_US
    report = vacuum(archive.job)
    assert report.files["log"] == 3
    assert sorted(path.name for path in log.glob("*.json")) == [f"{3:020d}.json"]
    assert state_of(archive.snapshot()) == before
    assert list(all_receipts(archive.snapshot())) == receipts
    archive.update({5: []})
    archive.check()


def test_a_checkpoint_forgets_files_that_went_longer_ago_than_grace(tmp_path: Path) -> None:
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    gone = [path for _ in range(3) for path in table.append([table.row(0, HOUR_US, key="a")], watermark=0)]
    table.append([table.row(1, 9 * HOUR_US, key="b")], watermark=1, removed=gone)
    time.sleep(2)  # a grace of a second, which is told by the moments in the log
    table.snapshot.table.create_checkpoint()
    (checkpoint,) = (tmp_path / "_delta_log").glob("*.checkpoint.parquet")
    actions = pq.read_table(checkpoint)
    assert actions.column("remove").null_count == actions.num_rows
    assert actions.column("add").null_count == actions.num_rows - 1


def test_killed_half_way_a_second_vacuum_finishes(archive: SmallArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.now_us += HOUR_US
    before = data_files(archive)
    monkeypatch.setenv(VARIABLE, "vacuum_half_done")
    with pytest.raises(FailPointReached):
        vacuum(archive.job)
    monkeypatch.delenv(VARIABLE)
    half = data_files(archive)
    assert named_files(archive) < half < before
    archive.check()
    vacuum(archive.job)
    assert data_files(archive) == named_files(archive)


def test_what_dead_attempts_left_goes_and_what_live_ones_write_stays(archive: SmallArchive) -> None:
    root = Path(archive.job.location.uri)
    old_us, young_us = archive.now_us, archive.now_us + HOUR_US
    dead = root / "run-20200101T000000-0123456789ab-1" / "layout=0" / "g=0" / "e=0" / "part-0.parquet"
    live = root / "run-20200101T000000-0123456789ac-1" / "layout=0" / "g=0" / "e=0" / "part-0.parquet"
    ticket = root / "_tidewheel" / "lease" / "00000000000000000001-run-x"
    cut_off = root / "_tidewheel" / "ledger" / ".00000000000000000010.json.gz.123"
    entry = root / "_delta_log" / "_commit_0.json.tmp"
    foreign = root / "notes" / "mine.parquet"
    for path in (dead, live, ticket, cut_off, entry, foreign):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        at_s = (young_us if path == live else old_us) / 1e6
        os.utime(path, (at_s, at_s))
    archive.now_us += HOUR_US
    report = vacuum(archive.job)
    assert [path.exists() for path in (dead, live, ticket, cut_off, entry, foreign)] == [
        False, True, False, False, False, True,
    ]  # fmt: skip
    assert (report.files["lease"], report.files["temporary"]) == (1, 2)
    assert not dead.parents[3].exists()
    assert report.awaiting_files == 1


def test_after_the_deadline_no_file_holds_the_value(archive: SmallArchive) -> None:
    """Files are decoded, statistics and log included: a value that is the greatest key is quoted in many places."""
    archive.update({5: [Record(5, 6, "zz-marker", 1), Record(5, 9, "stays", 2)]})
    archive.expire(6)
    archive.now_us = committed_us(archive, 5)
    assert holders(archive, "zz-marker")
    deadline = status(archive.job).deadline
    archive.now_us += HOUR_US
    vacuum(archive.job)
    archive.now_us = deadline.data_gone_us
    vacuum(archive.job)
    assert not [path for path in holders(archive, "zz-marker") if not path.startswith("_delta_log")]
    archive.now_us = deadline.gone_us
    vacuum(archive.job)
    assert holders(archive, "zz-marker") == []
    assert holders(archive, "stays")


def holders(archive: SmallArchive, value: str) -> list[str]:
    """The files below the archive that hold a text, decoded."""
    return byte_search.holders(Path(archive.job.location.uri), [value]).get(value, [])


def test_quarantined_records_go_when_their_batch_counts_no_more(archive: SmallArchive) -> None:
    write_without_expiry(archive, 5, ["first"])
    bring(archive, 5)
    first_us = archive.now_us
    write_without_expiry(archive, 5, ["second", "third"])
    archive.now_us += MINUTE_US
    bring(archive, 5)
    assert quarantined(archive) == ["first", "second", "third"]

    archive.now_us = max(first_us + HOUR_US, committed_us(archive, 5) + HOUR_US - MINUTE_US // 2)
    vacuum(archive.job)
    assert quarantined(archive) == ["first", "second", "third"], "an undo within grace brings the first batch back"
    archive.now_us = committed_us(archive, 5) + HOUR_US
    report = vacuum(archive.job)
    assert report.quarantined_records == 1
    assert quarantined(archive) == ["second", "third"]

    archive.now_us = committed_us(archive, 5) + 25 * HOUR_US
    assert vacuum(archive.job).quarantined_records == 2
    assert quarantined(archive) == []
    archive.now_us += 2 * HOUR_US + int(10e6)
    vacuum(archive.job)
    side = Path(archive.job.location.side("quarantine"))
    left = b"".join(path.read_bytes() for path in side.rglob("*") if path.is_file())
    assert not [word for word in (b"first", b"second", b"third") if word in left], "nor in its log"


def write_without_expiry(archive: SmallArchive, slot: int, keys: list[str]) -> None:
    times = pa.timestamp("us", "UTC")
    columns = {
        "key": pa.array(keys),
        "body": pa.array([1] * len(keys), pa.int64()),
        "ins": pa.array([archive.axis.start_us(slot) + 5] * len(keys), times),
        "until": pa.array([None] * len(keys), times),
    }
    pq.write_table(pa.table(columns), archive.folder / "source" / f"{slot}.parquet")


def bring(archive: SmallArchive, slot: int) -> None:
    update(archive.job, [slot], confirmed=EVERYTHING)


def quarantined(archive: SmallArchive) -> list[str]:
    table = QUARANTINE.open(archive.job.location)
    assert table is not None
    return sorted(json.loads(row["record"])["key"] for row in table.to_pyarrow_table().to_pylist())
