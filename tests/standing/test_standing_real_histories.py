"""Standing queries on real archives through random histories: updates in any order, replays, late and early times,
forgets, undo, vacuum, queries that come, change and go, refreshes that die at any fail point."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tests.support.archives.refreshed_archive import COLUMNS, answers, audit_is_clean, refresh
from tests.support.archives.spark_fed import SparkFedArchive
from tests.support.models.asked_oracle import asked
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.fold import AT
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.queries.standing.answer_oracle import Asked, StreamRecord, answer
from tidewheel.queries.standing.lineage import PartialLineage
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.queries.standing.staleness import slot_of_report
from tidewheel.queries.standing.tree import assigned, window_of
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled
from tidewheel.storage.ledger_store import ledger_of

SPAN = 7  # no life of these is longer
SEEDS = int(os.environ.get("TIDEWHEEL_HISTORIES", "5"))
SELECTS = (
    "count(*) as n, sum(v) as sv, max(v) as mv",
    "sum(x) as sx, avg(x) as ax, stddev(x) as dx",
    "arg_max(k, v) as kv, first(v) as fv, last(v) as lv, min(x) as mx",
    "bool_or(v > 50) as any_large, count(x) as cx, variance(v) as vv",
)
GROUPS = ("[]", "['k']", "['r']", "['k', 'r']")
POINTS = ("planned", "files_written", "ready_to_commit", "committed", "partials_committed", "answers_committed")


def random_query(chance: random.Random, number: int) -> Query:
    counts = chance.choice(["", 'counts = "live"\n'])
    window = '"live"' if counts and chance.random() < 0.4 else f'"{chance.choice([1, 2, 3, 5])}m"'
    time = chance.choice(["", 'time = "t"\nahead = "1m"\n'])
    slide = chance.choice(["1m", "2m", "3m"] if counts or not time else ["1m", "30s", "90s"])
    where = chance.choice(["", 'where = "v > 20"\n'])
    body = (
        f'[query]\nname = "q{number}"\nof = "m"\nselect = "{chance.choice(SELECTS)}"\nwindow = {window}\n'
        f'group_by = {chance.choice(GROUPS)}\nslide = "{slide}"\n'
        f'revise = "{chance.choice([2, 5])}m"\nkeep = "2h"\n{counts}{time}{where}'
    )
    (text,) = parse_query_file(body, "q.toml")
    query, faults = read_query(SelectParser(COLUMNS), settled(text, MINUTE_US))
    assert query is not None, faults
    return query


def random_events(chance: random.Random, slot: int) -> list[Event]:
    def t_us() -> int:
        return slot * MINUTE_US + chance.randrange(MINUTE_US) + chance.choice([0, 0, 0, -1, -3, 1, 2]) * MINUTE_US

    return [
        Event(
            k=chance.choice("abc"),
            v=chance.randrange(100),
            t_us=t_us(),
            until_us=(slot + chance.randrange(7)) * MINUTE_US + chance.randrange(MINUTE_US),
            r=chance.randrange(2),
            x=chance.choice([None, math.nan, 0.1, 1e16, -1e16, 2.5, chance.random()]),
        )
        for _ in range(chance.choice([0, 1, 4, 8]))
    ]


def value(record: StreamRecord, argument: str) -> Any:
    if argument == AT:
        return record.values["at"]
    if argument == "(v > 50)":
        return record.values["v"] > 50
    return record.values[argument]


def asked_of(query: Query) -> Asked:
    return asked(query, lambda record: not query.where or record.values["v"] > 20, value)


class Played:
    """An archive, every record of its latest batches, and the queries that stand."""

    def __init__(self, seed: int, folder: Path, kind: type[LocalArchive]) -> None:
        self.chance = random.Random(seed)
        self.archive = kind(folder, grace_us=self.chance.choice([1, 3600 * 10**6]), span=SPAN).create()
        self.latest: dict[int, list[Event]] = {}
        self.forgotten: list[tuple[str, int]] = []
        self.past: list[dict[int, list[Event]]] = []
        self.queries = [random_query(self.chance, number) for number in range(4)]
        self.head, self.compared, self.updated = 0, 0, -1

    def step(self) -> None:
        act = self.chance.choice(["next"] * 6 + ["back", "replay", "jump", "forget", "undo", "vacuum", "queries"])
        if act == "forget" and self.latest:
            key = self.chance.choice("abc")
            forget(self.archive.job, keys=[(key,)])
            self.forgotten.append((key, max(self.latest)))
            self.past = []
        elif act == "undo" and self.past and self.version == self.updated:
            try:
                undo(self.archive.job)
                self.latest = self.past.pop()
                self.head = max(self.latest, default=0)
            except InvalidInput:  # beyond grace, or over what a first refresh wrote down
                pass
            self.past = []
        elif act == "vacuum":
            self.archive.now_us += 2 * self.archive.grace_us
            vacuum(self.archive.job)
            self.past = []
        elif act == "queries":
            kept = self.chance.sample(self.queries, self.chance.randrange(1, len(self.queries) + 1))
            fresh = {one.name: one for one in (*kept, random_query(self.chance, self.chance.randrange(6)))}
            self.queries = list(fresh.values())
        else:
            moves = {"back": -self.chance.randrange(1, 4), "replay": 0, "jump": self.chance.randrange(2, 5)}
            slot = self.head + moves.get(act, 1)
            self.past.append(dict(self.latest))
            self.latest[slot] = random_events(self.chance, slot)
            self.head = max(self.head, slot)
            self.archive.update({slot: self.latest[slot]})
            self.updated = self.version

    @property
    def version(self) -> int:
        """That of the source: an undo takes back an update only if nothing was committed since."""
        return self.archive.job.snapshot().version

    def refresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if self.chance.random() < 0.25:
            monkeypatch.setenv(VARIABLE, self.chance.choice(POINTS))
            try:
                refresh(self.archive.job, self.queries)
            except FailPointReached:
                pass
            finally:
                monkeypatch.delenv(VARIABLE)
            self.past = self.past[:0]
        refresh(self.archive.job, self.queries)
        again = refresh(self.archive.job, self.queries)
        assert (again.stale, again.due) == ((), ()), "a second refresh has nothing to do"

    def records(self, slot: int) -> list[StreamRecord]:
        axis = self.archive.axis
        return [
            StreamRecord(
                slot, one.t_us, axis.expiration_slot_of(one.until_us),
                {"k": one.k, "r": one.r, "v": one.v, "x": one.x},
            )
            for one in self.latest.get(slot, ())
            if not any(one.k == key and slot <= bound for key, bound in self.forgotten)
        ]  # fmt: skip

    def check(self) -> None:
        axis, partials = self.archive.axis, derived_job(self.archive.job, "partials")
        ledger = ledger_of(partials.snapshot())
        life_us = self.archive.span * axis.interval_us
        assignment = assigned(self.queries, life_us, kept_trees(partials))
        now_us = axis.end_us(self.head)
        for query in self.queries:
            tree = assignment.tree_of[query.name]
            coverages = {slot: PartialLineage.from_texts(batch.lineage).coverage
                         for (slot, part), batch in ledger.batches.items() if part == tree}  # fmt: skip
            if any(one.why.startswith("may hold what was forgotten") for one in coverages.values()):
                continue  # erasure = keep, and its records were gone
            found = answers(self.archive, query)
            for at_us in window_of(query).reports_between(now_us - query.terms.revise_us, now_us):
                before = slot_of_report(axis, at_us)
                exact = [slot for slot, one in coverages.items() if one.is_exact(before)]
                rows = {key[1:]: row for key, row in found.items() if key[0] == at_us}
                if not rows or next(iter(rows.values()))["complete"] < 1:
                    continue
                records = [self._timed(one, query) for slot in exact for one in self.records(slot)]
                truth = answer(asked_of(query), records, axis, at_us)
                assert rows.keys() == truth.keys(), (query, at_us)
                self._compare(query, rows, truth)

    def _timed(self, one: StreamRecord, query: Query) -> StreamRecord:
        at_us = one.time_us if query.terms.time else self.archive.axis.start_us(one.slot)
        return StreamRecord(one.slot, one.time_us, one.expiration_slot, {**one.values, "at": at_us})

    def _compare(self, query: Query, rows: dict[Any, dict[str, Any]], truth: dict[Any, Any]) -> None:
        for key, values in truth.items():
            for number, true in enumerate(values):
                output = next((one.name for one in query.outputs if one.sql == f'"call {number}"'), "")
                if not output:
                    continue
                got = rows[key][output]
                same = got == true or (isinstance(true, float) and abs(got - true) <= 1e-12 * abs(true))
                assert same, (query, key, output, got, true)
                self.compared += 1


def play(
    seed: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: int = 14,
    kind: type[LocalArchive] = LocalArchive,
    played: type[Played] = Played,
) -> None:
    history = played(seed, folder, kind)
    try:
        for _ in range(steps):
            history.step()
            if history.latest and history.chance.random() < 0.6:
                history.refresh(monkeypatch)
                history.check()
        if history.latest:
            history.refresh(monkeypatch)
            history.check()
            assert audit_is_clean(history.archive)
    except BaseException as error:
        error.add_note(
            f"history seed {seed}: repeat with tests.standing.test_standing_real_histories.play({seed}, ...)"
        )
        raise


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_history_equals_the_oracle(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_random_histories_equal_the_oracle(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2000, 2020))
def test_random_histories_with_spark_as_the_hand_equal_the_oracle(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object
) -> None:
    """Batches are read, judged and written by Spark, and it carries out what forgets and expires."""
    monkeypatch.setenv("TIDEWHEEL_HAND", "spark")
    play(seed, tmp_path, monkeypatch, kind=SparkFedArchive)
