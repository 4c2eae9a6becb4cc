"""Deleted means deleted: from the stated moment on, no file below the archive holds an expired or forgotten value.

Hours are simulated, updates come as late as the deadline assumes, and before every operation each file is decoded and
searched for every value whose stated moment has come.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.byte_search import bloom_answers, holders
from tests.support.archives.small_archive import EVERYTHING, HOUR_US, generation_of
from tests.support.models.simulated_time import RETENTION, START_SLOT, TimedArchive
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.indexing.core.oracle import Record
from tidewheel.jobs.update import update

SPAN = 4
SECOND_US = 10**6
STRATEGIES = ("rebuild", "no_rebuild", "expire_rebuild")
DYING = ("planned", "files_written", "side_tables_written", "committed", "ledger_folded")
NUMBER = 765_432_101_234_567_890


# The search finds what is there.


def plant(folder: Path, place: str) -> None:
    """One file of another kind each, with the text or the number in that place alone."""
    path = folder / f"{place.replace(' ', '_')}.parquet"
    plain = pa.table({"key": ["a", "b"] * 500})
    if place == "page":
        pq.write_table(pa.table({"key": ["a", "marker", "b"] * 500}), path, compression="zstd", write_statistics=False)
    elif place == "number in a page":
        pq.write_table(pa.table({"n": [0, NUMBER]}), path, compression="zstd", write_statistics=False)
    elif place == "nested page":
        pq.write_table(pa.table({"deep": [[{"x": "marker"}]]}), path, compression="zstd", write_statistics=False)
    elif place == "unused dictionary entry":
        column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["a", "marker"])
        pq.write_table(pa.table({"key": column}), path, compression="zstd", write_statistics=False)
    elif place == "statistic":
        pq.write_table(pa.table({"key": ["marker"]}), path, compression="zstd", use_dictionary=False)
    elif place == "metadata":
        pq.write_table(plain.replace_schema_metadata({"note": "marker"}), path)
    elif place == "name":
        (folder / "marker").touch()
    elif place == "ledger":
        (folder / "1.json.gz").write_bytes(gzip.compress(b'{"x": "marker"}'))
    elif place == "log":
        (folder / "1.json").write_text(json.dumps({"add": {"stats": '{"minValues": {"key": "marker"}}'}}))
    elif place == "rest of an attempt":
        (folder / ".part.tmp").write_bytes(b"\0\1marker\xff")


PLACES = (
    *("page", "number in a page", "nested page", "unused dictionary entry", "statistic", "metadata"),
    *("name", "ledger", "log", "rest of an attempt"),
)


@pytest.mark.parametrize("place", PLACES)
def test_the_search_looks_everywhere(tmp_path: Path, place: str) -> None:
    plant(tmp_path, place)
    assert holders(tmp_path, ["marker", NUMBER])
    assert not holders(tmp_path, ["another", NUMBER + 1])


def test_the_search_asks_bloom_filters(tmp_path: Path) -> None:
    pq.write_table(pa.table({"key": ["marker"] * 9}), tmp_path / "a.parquet", bloom_filter_options={"key": True})
    pq.write_table(pa.table({"key": ["marker"] * 9}), tmp_path / "b.parquet")
    assert bloom_answers(tmp_path, "key", ["marker", "another"]) == {"marker": ["a.parquet"]}


# Histories.


@dataclass
class Hours:
    """Plays one scenario: what happens in each hour, and a vacuum as seldom as the deadline assumes."""

    archive: TimedArchive
    scenario: str
    seed: int
    monkeypatch: pytest.MonkeyPatch
    data_hours: int = 6
    chance: random.Random = field(init=False)
    died: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def play(self) -> None:
        """The data hours, then as many with nothing but expire and vacuum as the last deadline needs."""
        vacuum_at = self.archive.axis.start_us(START_SLOT) + self.chance.randrange(2 * HOUR_US)
        hour = 0
        while hour < self.data_hours or self.archive.pending or self.archive.now_us < max(self.archive.due.values()):
            slot = START_SLOT + hour
            # At the latest when the next slot ends; now and then early.
            late_us = self.chance.choice([HOUR_US - SECOND_US, HOUR_US - SECOND_US, self.chance.randrange(HOUR_US)])
            run_at = self.archive.axis.end_us(slot) + late_us
            while vacuum_at < run_at:
                self._at(vacuum_at)
                self._vacuum()
                vacuum_at += RETENTION.vacuum_period_us
            self._at(run_at)
            self._hour(slot, hour)
            hour += 1
        self._at(self.archive.now_us + SECOND_US)
        self.archive.check()

    def _at(self, now_us: int) -> None:
        self.archive.at(now_us)
        self.archive.nothing_overdue()

    def _vacuum(self) -> None:
        if self.scenario == "crashes":
            self._dying("vacuum_half_done", self.archive.vacuum)
        self.archive.vacuum()

    def _hour(self, slot: int, hour: int) -> None:
        busy = hour < (2 if self.scenario == "idle" else self.data_hours)
        if not busy:
            self.archive.expire(slot)
        else:
            self._bring({slot: self._records(slot)}, hour)
        self.archive.date()
        if self.scenario == "replays" and busy and hour % 2:
            replayed = range(max(START_SLOT, slot - 2), slot)
            self._bring({one: self._records(one) for one in replayed}, hour)
        if hour == 2 and self.scenario in ("run_both", "stop_and_rebuild"):
            self._migrate()
        if self.scenario == "forgets" and busy and hour:
            self.archive.forget_key(self.chance.choice(sorted(self.archive.pending, key=lambda one: str(one.key))))
        self.archive.date()

    def _records(self, slot: int) -> list[Record]:
        """A record of each lifetime; the least and greatest keys, which the log quotes, are among them."""
        records = [
            Record(slot, slot + life, f"mark{self.chance.randrange(10**9):09}", self.chance.randrange(10**17, 10**18))
            for life in (*range(SPAN + 1), SPAN)
        ]
        return [record for record in records if self.archive.times_us(record)[1] <= self._valid_until_max(record)]

    def _valid_until_max(self, record: Record) -> int:
        return self.archive.times_us(record)[0] + SPAN * HOUR_US

    def _bring(self, batches: dict[int, list[Record]], hour: int) -> None:
        for slot, records in batches.items():
            self.archive.write(slot, records)
        for records in batches.values():
            self.archive.track(records)
        if self.scenario in ("quarantine", "crashes"):
            self._bring_broken(batches, hour)
        else:
            self.archive.update(batches)
        self.archive.date()

    def _bring_broken(self, batches: dict[int, list[Record]], hour: int) -> None:
        """The same, with a record without an expiry, which goes to quarantine."""
        (slot, records), *_ = batches.items()
        broken = Record(slot, slot, f"mark{self.chance.randrange(10**9):09}", self.chance.randrange(10**17, 10**18))
        self._write_with(slot, records, broken)
        if self.scenario == "crashes":
            self._dying(DYING[hour % len(DYING)], lambda: update(self.archive.job, [slot], confirmed=EVERYTHING))
        update(self.archive.job, [slot], confirmed=EVERYTHING)
        self.archive.oracle.update(batches)
        self.archive.owe(broken, self.archive.now_us + self.archive.deadline(self.archive.now_us).quarantine_us)

    def _write_with(self, slot: int, records: list[Record], broken: Record) -> None:
        table = self.archive.table_of([*records, broken])
        until = [*table.column("until").to_pylist()[:-1], None]
        table = table.set_column(3, "until", pa.array(until, pa.timestamp("us", "UTC")))
        pq.write_table(table, self.archive.folder / "source" / f"{slot}.parquet")

    def _dying(self, place: str, operation: Callable[[], object]) -> None:
        """The operation dies there; what it left is as old as the attempt."""
        self.monkeypatch.setenv(VARIABLE, place)
        try:
            operation()
        except FailPointReached:
            self.died += 1
        self.monkeypatch.delenv(VARIABLE)
        self.archive.date()

    def _migrate(self) -> None:
        generation = generation_of("round_robin", 3, 1, "expire_rebuild", span=SPAN)
        migrate(self.archive.job, generation, relocate=self.scenario == "stop_and_rebuild")
        self.archive.migrated_to(generation)


def play(folder: Path, strategy: str, scenario: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> Hours:
    # A dead share that is never passed: no_rebuild keeps dead rows for as long as the deadline says it may.
    generation = generation_of(strategy=strategy, span=SPAN, dead_share_max=1.0, runs_max=3)
    archive = TimedArchive(folder, generation, SPAN)
    archive.now_us = archive.axis.start_us(START_SLOT)
    archive.create()
    archive.date()
    hours = Hours(archive, scenario, seed, monkeypatch)
    try:
        hours.play()
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    return hours


SCENARIOS = ("steady", "idle", "replays", "run_both", "stop_and_rebuild", "crashes", "quarantine", "forgets")


def check_end(hours: Hours) -> None:
    """The search was not idle, and what is left answers for nothing either."""
    archive = hours.archive
    assert archive.searched > 100
    assert archive.seen_before > 10, "until their moment, expired values are found"
    keys = [value for value in archive.due if isinstance(value, str)]
    assert not bloom_answers(archive.root, "key", keys)
    assert (hours.died > 0) == (hours.scenario == "crashes")
    assert (QUARANTINE.open(archive.job.location) is not None) == (hours.scenario in ("quarantine", "crashes"))
    print(
        f"seed {hours.seed}: {len(archive.due)} values, sought {archive.searched} times, {hours.died} deaths, "
        f"found {archive.seen_before} times before their moment"
    )


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Another history for each test, the same every time."""
    return sum(map(ord, request.node.name))


@pytest.mark.parametrize(("strategy", "scenario"), [("no_rebuild", "idle"), ("expire_rebuild", "crashes")])
@pytest.mark.usefixtures("spark")
def test_after_the_stated_moment_nothing_is_left(
    tmp_path: Path, strategy: str, scenario: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_end(play(tmp_path, strategy, scenario, seed, monkeypatch))


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.usefixtures("spark")
def test_after_the_stated_moment_nothing_is_left_of_any_history(
    tmp_path: Path, strategy: str, scenario: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_end(play(tmp_path, strategy, scenario, seed, monkeypatch))
