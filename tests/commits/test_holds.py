"""Readers that hold a version: vacuum leaves what they need and names them, as long as is promised and no longer."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.cli import main
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.status import status
from tidewheel.commits.vacuum.deleted import VacuumReport
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import Definition, Retention
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.vacuum import HOLD_STALE_US
from tidewheel.sql import opening
from tidewheel.sql.opening import open_session
from tidewheel.sql.read_faults import VersionGone
from tidewheel.sql.session import Session
from tidewheel.storage.floor import raise_floor
from tidewheel.storage.holding import take_hold
from tidewheel.storage.holds import holds
from tidewheel.storage.location import Location

MINUTE_US = 60 * 10**6
START_US = 2_000_000_000 * 10**6  # later than any file that was just written
RETENTION = Retention(HOUR_US, HOUR_US, 2 * HOUR_US, HOUR_US, hold_us=3 * HOUR_US)


@dataclass
class Aging:
    """A table whose files get the moments of a clock moved by hand; each commit takes the files before it out."""

    table: BuiltTable
    now_us: int = START_US
    content: dict[int, int] = field(default_factory=dict)  # what each version's rows add up to

    @staticmethod
    def at(folder: Path | str, retention: Retention = RETENTION) -> Aging:
        table = BuiltTable.create(
            folder, [column("key", "string"), column("size", "long")], ["key"], retention=retention
        )
        aging = Aging(table)
        aging.date()
        return aging

    def commit(self) -> None:
        version = self.table.snapshot.version + 1
        rows = [self.table.row(version, 900 * HOUR_US, key=f"k{i}", size=version * 100 + i) for i in range(3)]
        self.table.append(rows, watermark=version, removed=list(self.table.rows_by_file))
        self.content[version] = sum(row["size"] for row in rows)
        self.date()

    def vacuum(self, *, dry_run: bool = False) -> VacuumReport:
        report = vacuum(ArchiveJob(self.table.location, clock=lambda: self.now_us), dry_run=dry_run)
        self.date()
        return report

    def open(self, hold_us: int, as_of_us: int | None = None) -> Session:
        session = open_session(
            {"aging": self.table.location}, now_us=lambda: self.now_us, hold_us=hold_us, as_of_us=as_of_us
        )
        self.date()
        return session

    def date(self) -> None:
        for path in self.table.path("").rglob("*"):
            if path.is_file() and path.stat().st_mtime < START_US / 1e6 - 1:
                os.utime(path, ns=(self.now_us * 1000, self.now_us * 1000))

    def renew(self, session: Session) -> None:
        assert session.holding is not None
        session.holding.renew()
        self.date()

    def reads(self, session: Session) -> bool:
        """Whether the session still gives exactly its version's rows."""
        try:
            total = session.sql("select sum(size) from aging").rows()[0][0]
        except VersionGone:
            return False
        assert total == self.content[session.versions["aging"]]
        return True


@pytest.fixture
def aging(tmp_path: Path) -> Aging:
    aging = Aging.at(tmp_path / "aging")
    aging.commit()
    return aging


def test_vacuum_leaves_what_is_held_and_says_who_holds_it(aging: Aging) -> None:
    session = aging.open(4 * HOUR_US)
    aging.commit()
    aging.now_us += 3 * HOUR_US
    aging.renew(session)
    looked_at = status(ArchiveJob(aging.table.location, clock=lambda: aging.now_us))
    before = aging.vacuum(dry_run=True)
    report = aging.vacuum()
    assert looked_at.holds == report.holds
    assert looked_at.to_json()["holds"] == report.to_json()["holds"]
    for told in (before, report):
        (hold,) = told.holds
        assert (hold.version, hold.until_us) == (1, START_US + 4 * HOUR_US)
        assert f"process {os.getpid()}" in hold.holder
        assert told.held_files > 0
        assert told.held_bytes > 0
        assert told.files["data"] == 0
    assert report.to_json()["holds"][0]["version"] == 1
    assert aging.reads(session)
    session.close()
    assert aging.vacuum().files["data"] == report.held_files
    assert aging.vacuum().holds == ()
    assert not holds(aging.table.location)


def test_without_a_hold_grace_is_the_end(aging: Aging) -> None:
    session = aging.open(0)
    aging.commit()
    aging.now_us += 3 * HOUR_US
    aging.vacuum()
    assert not aging.reads(session)


def test_the_log_of_a_held_version_stays(aging: Aging) -> None:
    """Which files it needs is told by the entries after it."""
    session = aging.open(4 * HOUR_US)
    for _ in range(4):
        aging.commit()
        aging.now_us += 50 * MINUTE_US
        aging.renew(session)
        aging.vacuum()
        assert aging.reads(session)
    assert aging.table.path("_delta_log/00000000000000000002.json").exists()


def test_a_dead_readers_hold_ends_by_itself(aging: Aging) -> None:
    session = aging.open(4 * HOUR_US)
    aging.commit()
    aging.now_us += HOUR_US + HOLD_STALE_US  # nobody renewed it
    report = aging.vacuum()
    assert (report.holds, report.files["hold"]) == ((), 1)
    assert not holds(aging.table.location)
    assert not aging.reads(session)


def test_a_killed_process_leaves_a_hold_that_ends(aging: Aging) -> None:
    program = (
        "import os, signal, sys; from tidewheel.sql.opening import open_session; "
        "from tidewheel.storage.location import Location; "
        "open_session({'a': Location.of(sys.argv[1])}, now_us=lambda: int(sys.argv[2]), hold_us=10**10); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    place = str(aging.table.location.root)
    subprocess.run([sys.executable, "-c", program, place, str(aging.now_us)], check=False)
    aging.date()
    assert len(holds(aging.table.location)) == 1
    aging.commit()
    aging.now_us += HOLD_STALE_US - 1
    assert len(aging.vacuum(dry_run=True).holds) == 1
    aging.now_us += HOUR_US
    assert aging.vacuum().files["data"] > 0
    assert not holds(aging.table.location)


def test_a_hold_ends_when_its_time_is_over(aging: Aging) -> None:
    session = aging.open(2 * HOUR_US)
    aging.commit()
    aging.now_us += 2 * HOUR_US
    aging.renew(session)
    assert aging.vacuum().holds == ()
    assert not aging.reads(session)


def test_no_hold_outlasts_its_maximum(aging: Aging) -> None:
    """Not even one that says so: the deadline counts on it."""
    with pytest.raises(InvalidInput, match=r"cannot be held for 5h, only for 4h: .* grace of 1h .* prolong that by 3h"):
        aging.open(5 * HOUR_US)
    session = aging.open(4 * HOUR_US)
    ((path, _),) = holds(aging.table.location)
    aging.commit()
    forged = {"holder": "greedy", "version": 1, "until_us": START_US + 99 * HOUR_US}
    for hours, kept in ((3, True), (3.9, True), (4, False)):
        aging.now_us = START_US + int(hours * HOUR_US)
        Path(aging.table.location.child(path)).write_text(json.dumps(forged))
        aging.date()
        assert bool(aging.vacuum().holds) is kept
        assert aging.reads(session) is kept


def test_an_older_version_can_be_held_for_what_is_left(aging: Aging) -> None:
    aging.commit()
    aging.now_us += 30 * MINUTE_US
    as_of_us = 2 * HOUR_US  # the end of version 1's watermark
    with pytest.raises(InvalidInput, match=r"version 1 .* only for 3h30m"):
        aging.open(4 * HOUR_US, as_of_us)
    session = aging.open(3 * HOUR_US + 30 * MINUTE_US, as_of_us)
    assert session.versions == {"aging": 1}
    aging.now_us += 3 * HOUR_US
    aging.renew(session)
    aging.vacuum()
    assert aging.reads(session)


def test_a_vacuum_between_opening_and_holding_is_noticed(aging: Aging, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader looked at version 1; before it could say so, a vacuum took its files."""
    snapshot = aging.table.snapshot
    aging.commit()
    aging.now_us += 2 * HOUR_US
    aging.vacuum()
    assert take_hold(snapshot, HOUR_US, aging.now_us) is None
    assert not holds(aging.table.location)
    # A session goes to the newest version then.
    stale = iter([snapshot])
    at = opening.snapshot_at
    monkeypatch.setattr(opening, "snapshot_at", lambda location: next(stale, None) or at(location))
    session = aging.open(HOUR_US, as_of_us=9 * HOUR_US)
    assert session.versions == {"aging": 2}
    assert aging.reads(session)


def test_a_vacuum_that_raised_its_floor_and_was_held_up_is_noticed(aging: Aging) -> None:
    snapshot = aging.table.snapshot
    aging.commit()
    raise_floor(aging.table.location, 2)
    assert take_hold(snapshot, HOUR_US, aging.now_us) is None


def test_one_refused_hold_gives_back_the_others(aging: Aging, tmp_path: Path) -> None:
    short = Aging.at(tmp_path / "short", Retention(HOUR_US, HOUR_US, HOUR_US, HOUR_US))
    short.commit()
    places = {"aging": aging.table.location, "short": short.table.location}
    with pytest.raises(InvalidInput, match="only for 1h"):
        open_session(places, now_us=lambda: START_US, hold_us=2 * HOUR_US, as_of_us=9 * HOUR_US)
    assert not holds(aging.table.location)


@pytest.mark.parametrize("seed", [11, 12])
def test_random_readers_beside_vacuum(tmp_path: Path, seed: int) -> None:
    """Whoever holds a version in time reads exactly its rows; what nobody may hold any more is gone."""
    chance = random.Random(seed)
    aging = Aging.at(tmp_path / "aging")
    aging.commit()
    readers: list[tuple[Session, int]] = []
    removed_us: dict[Path, int] = {}
    kept = 0
    for _ in range(100):
        step = chance.choice(["commit", "commit", "open", "open", "close", "die", "wait", "vacuum", "vacuum"])
        if step == "commit":
            before = list(aging.table.rows_by_file)
            aging.commit()
            removed_us |= {aging.table.path(path): aging.now_us for path in before}
        elif step == "open":
            hold_us = chance.randint(120, 240) * MINUTE_US
            readers.append((aging.open(hold_us), aging.now_us + hold_us))
        elif step == "close" and readers:
            readers.pop(chance.randrange(len(readers)))[0].close()
        elif step == "die" and readers:
            readers.pop(chance.randrange(len(readers)))
        elif step == "wait":
            for _ in range(chance.randint(10, 25)):
                aging.now_us += 5 * MINUTE_US
                readers = [(session, until_us) for session, until_us in readers if until_us > aging.now_us]
                for session, _until_us in readers:
                    aging.renew(session)
        elif step == "vacuum":
            kept += aging.vacuum().held_files
            late_us = aging.now_us - RETENTION.grace_us - RETENTION.hold_us
            overdue = [path for path, at_us in removed_us.items() if at_us <= late_us and path.exists()]
            assert not overdue, f"seed {seed}: past every hold's maximum"
        for session, _until_us in readers:
            assert aging.reads(session), f"seed {seed}: a held version lost a file"
    assert kept
    assert any(not path.exists() for path in removed_us)


def test_the_deadline_counts_the_longest_hold(aging: Aging) -> None:
    from tidewheel.indexing.rules.deadline import deadline_of

    definition = aging.table.snapshot.definition
    told = deadline_of(definition, definition.generations, START_US)
    assert [part.name for part in told.data] == ["strategy", "grace", "hold", "vacuum"]
    assert told.data_gone_us == START_US + (1 + 3 + 1) * HOUR_US
    assert {part.name: part.duration_us for part in told.log}["log retention"] == 5 * HOUR_US
    shown = CliRunner().invoke(main, ["status", aging.table.location.root])
    assert "grace 1h + hold 3h + vacuum 1h" in shown.stdout


def test_a_definition_without_holds_reads_as_before() -> None:
    older = {"grace_us": 1, "vacuum_period_us": 2, "log_us": 3, "quarantine_us": 4}
    assert Retention(1, 2, 3, 4).to_json() == older
    assert Retention(**older).hold_us == 0
    assert Retention(**RETENTION.to_json()) == RETENTION


def test_the_command_line_holds_while_it_reads(aging: Aging, tmp_path: Path) -> None:
    place = aging.table.location.root
    line = ["sql", "select sum(size) from aging", "--archive", f"aging={place}", "--hold", "1h", "--json"]
    answer = CliRunner().invoke(main, line)
    assert answer.exit_code == 0, answer.stderr
    assert not holds(aging.table.location)
    answer = CliRunner().invoke(main, [*line[:5], "5d"])
    assert answer.exit_code == 2
    assert "cannot be held for 5d" in answer.stderr
    session = open_session({"aging": Location.of(place)}, now_us=lambda: START_US, hold_us=HOUR_US)
    shown = CliRunner().invoke(main, ["vacuum", place, "--dry-run"])
    assert "held by readers" in shown.stdout
    assert f"process {os.getpid()}" in shown.stdout
    session.close()


def test_definitions_carry_the_maximum(aging: Aging) -> None:
    stored = aging.table.snapshot.definition
    assert Definition.from_json(stored.to_json()) == stored
    assert stored.retention.hold_us == 3 * HOUR_US
