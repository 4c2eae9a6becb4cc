"""A store that goes away the moment a commit is made, and comes back."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from deltalake import write_deltalake
from pyarrow import Table

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tidewheel.commits import attempt
from tidewheel.commits.side_tables.unstored import ATTEMPT, CAME, UNSTORED_TABLE
from tidewheel.indexing.core.slots import moment


def folder_away(folder: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """A mount that is gone for a while: how it goes, and comes back."""
    elsewhere = folder.with_name(f"{folder.name}.elsewhere")
    return partial(shutil.move, folder, elsewhere), partial(shutil.move, elsewhere, folder)


@contextmanager
def away_after_commit(
    goes: Callable[[], object], comes: Callable[[], object], after_s: float, for_s: float
) -> Iterator[list[str]]:
    """From so long after each first commit for so long; gives whether it was away at all."""
    went: list[str] = []
    threads: list[threading.Thread] = []
    ended = threading.Event()

    def play() -> None:
        if after_s and ended.wait(after_s):
            return
        goes()
        went.append("away")
        gone.set()
        ended.wait(for_s)
        comes()

    def reach(name: str) -> None:
        if name != "committed" or threads:
            return
        threads.append(threading.Thread(target=play))
        threads[0].start()
        if not after_s:
            gone.wait()

    gone = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "reach", reach)
        try:
            yield went
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def put_unstored(archive: LocalArchive, keys: str) -> None:
    """Records beside the archive, of these keys."""
    place = UNSTORED_TABLE.location(archive.job.location)
    names = ["k", "r", "v", "x", "t", "ins_slot", "exp_slot", "valid_until", ATTEMPT, CAME]
    at = moment(MINUTE_US)
    rows = [(key, 0, 1, 0.5, at, 1, 1, at, "run", moment(archive.now_us)) for key in keys]
    table = Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    if archive.job.location.is_local:
        Path(place.uri).mkdir(parents=True)
    write_deltalake(place.delta_uri, table, storage_options=place.storage_options)


def unstored_keys(archive: LocalArchive) -> list[str]:
    """Those that still have a record beside the archive."""
    rows = UNSTORED_TABLE.read(archive.job.location)
    return [] if rows is None else [row["k"] for row in rows.to_pylist() if row["exp_slot"] is not None]
