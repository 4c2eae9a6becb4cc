"""Random histories with floats, forgets by key and predicate, expiries and vacuum: no refresh ever stops, answers are
those of the records, and after the last forget and vacuum no group of partials or answers is the key's any more.

A predicate forgets what it finds: records in the archive's files, dead ones among them, and beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.standing.test_standing_real_histories import Played
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import audit_is_clean, vacuum_everything
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.layouts import Strategy
from tidewheel.indexing.core.slots import micros
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.queries.standing.answer_oracle import StreamRecord
from tidewheel.queries.standing.query import Erasure, Query

pytestmark = pytest.mark.usefixtures("spark")
FAR = Confirmations(allow_future=True, allow_jump=True)
# As Spark's SQL, and of a record.
PREDICATES: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "x > 2": lambda one: one["x"] is not None and (one["x"] > 2 or one["x"] != one["x"]),  # NaN is the greatest
    "x < 1 and v < 60": lambda one: one["x"] is not None and one["x"] < 1 and one["v"] < 60,
    "v % 7 = 3": lambda one: one["v"] % 7 == 3,
    "k = 'a' and r = 1": lambda one: one["k"] == "a" and one["r"] == 1,
    "isnan(x)": lambda one: one["x"] is not None and one["x"] != one["x"],
}


class ErasingArchive(LocalArchive):
    """The archive with as many expiration classes as the fault of empty pieces took."""

    def create(self, strategy: Strategy = Strategy.EXPIRE_REBUILD, classes: int = 4) -> LocalArchive:
        return super().create(strategy, classes)


class Erasing(Played):
    """A history whose forgets are by predicate as well, in which time passes without batches."""

    def __init__(self, seed: int, folder: Path, kind: type[LocalArchive]) -> None:
        super().__init__(seed, folder, kind)
        self.found: set[tuple[int, int]] = set()  # what predicates found: slots and times of records
        self.queries = [self._with_erasure(one) for one in self.queries]

    def _with_erasure(self, query: Query) -> Query:
        """Of some queries what cannot be folded again stays."""
        erasure = self.chance.choice([Erasure.DELETE, Erasure.DELETE, Erasure.KEEP])
        return replace(query, terms=replace(query.terms, erasure=erasure))

    def step(self) -> None:
        act = self.chance.choice(["where", "where", "expire", "key", "any", "any", "any", "any"])
        if act == "where" and self.latest:
            where = self.chance.choice(list(PREDICATES))
            self.found |= {(row["ins_slot"], micros(row["t"])) for row in self.rows_there() if PREDICATES[where](row)}
            forget(self.archive.job, where=where)
            self.past = []
        elif act == "expire" and self.latest:
            expire(self.archive.job, self.head + self.chance.randrange(1, 3), confirmed=FAR)
            self.past = []
        elif act == "key" and self.latest:
            key = self.chance.choice("abc")
            forget(self.archive.job, keys=[(key,)])
            self.forgotten.append((key, max(self.latest)))
            self.past = []
        else:
            super().step()
        watermark = self.archive.job.snapshot().watermark
        self.head = max(self.head, -1 if watermark is None else watermark)

    def rows_there(self) -> list[dict[str, Any]]:
        """All records that a forget searches: in files, dead or alive, and beside the archive."""
        snapshot = self.archive.job.snapshot()
        stored = rows_of(snapshot.location, snapshot.files, file_schema(snapshot)).to_table().to_pylist()
        beside = UNSTORED_TABLE.read(snapshot.location)
        waiting = beside.to_pylist() if beside is not None else []
        return [*stored, *(row for row in waiting if row["exp_slot"] is not None)]

    def records(self, slot: int) -> list[StreamRecord]:
        return [one for one in super().records(slot) if (slot, one.time_us) not in self.found]

    def erase(self, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Forget a key, let a refresh follow, and vacuum everything once grace is over."""
        forget(self.archive.job, keys=[(key,)])
        self.forgotten.append((key, max(self.latest)))
        self.refresh(monkeypatch)
        self.check()
        vacuum_everything(self.archive)
        for kind in DERIVED_KINDS:
            vacuum(derived_job(self.archive.job, kind))

    def groups_on_disk(self) -> set[object]:
        """All values by which rows of partials and answers are grouped, in whatever file there is."""
        found: set[object] = set()
        for kind in DERIVED_KINDS:
            for path in (self.archive.folder / f"table.{kind}").rglob("run-*/**/*.parquet"):
                rows = pq.read_table(path)
                for name in rows.column_names:
                    if name.startswith("g_"):
                        found |= set(pc.unique(rows.column(name)).to_pylist())
        return found


def play_erasing(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    history = Erasing(seed, folder, ErasingArchive)
    try:
        for _ in range(steps):
            history.step()
            if history.latest and history.chance.random() < 0.6:
                history.refresh(monkeypatch)
                history.check()
        if history.latest:
            for key in "ab":
                history.erase(key, monkeypatch)
            assert history.groups_on_disk().isdisjoint("ab")
            assert audit_is_clean(history.archive)
    except BaseException as error:
        error.add_note(f"history seed {seed}: repeat with play_erasing({seed}, ..., steps={steps})")
        raise


@pytest.mark.parametrize("seed", range(3))
def test_a_random_history_of_erasures(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_erasing(seed, tmp_path, monkeypatch, steps=8)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3000, 3200))
def test_many_random_histories_of_erasures(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_erasing(seed, tmp_path, monkeypatch, steps=14)
