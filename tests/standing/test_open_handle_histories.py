"""Random histories in which a refresh and a reader stay open, while others refresh, write, undo and vacuum."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.standing.test_standing_real_histories import Played, play
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import refresh
from tidewheel.local.standing.refresh import Refresh
from tidewheel.sql.reader import Reader


class StaysOpen(Played):
    """The same, by handles that are opened once."""

    def __init__(self, seed: int, folder: Path, kind: type[LocalArchive]) -> None:
        super().__init__(seed, folder, kind)
        self.others = random.Random(-seed - 1)
        self.kept, self.reader = Refresh(self.archive.job, self.queries), self.opened()

    def opened(self) -> Reader:
        return Reader.open(self.archive.job.location, now_us=lambda: self.archive.now_us)

    def refresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if self.others.random() < 0.3:
            refresh(self.archive.job, self.queries)
        self.kept.queries = self.queries
        done = self.kept.run()
        assert done.wrong is None
        super().refresh(monkeypatch)

    def check(self) -> None:
        super().check()
        with self.opened() as fresh:
            assert seen(self.reader) == seen(fresh)


def seen(reader: Reader) -> list[object]:
    records = [sorted(map(repr, found.rows())) for found in (reader.scan(), reader.probe("a"), reader.probe("c"))]
    return [reader.version, *records]


@pytest.mark.parametrize("seed", range(2))
def test_handles_that_stay_open_see_what_is_opened(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch, played=StaysOpen)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3000, 3050))
def test_handles_stay_open_through_many_histories(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch, played=StaysOpen)
