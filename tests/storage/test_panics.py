"""A checkpoint of which delta-rs panics is damage, with its file, and no crash."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import event
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.storage.panics import panics_told
from tidewheel.storage.snapshot import open_snapshot


class PanicException(BaseException):
    """As pyo3's: named so, and no Exception."""


def test_a_panic_is_told_as_an_error_and_nothing_else_is() -> None:
    from deltalake.exceptions import DeltaError

    with pytest.raises(DeltaError, match="panics: RecvError"), panics_told():
        raise PanicException("RecvError")
    with pytest.raises(KeyboardInterrupt), panics_told():
        raise KeyboardInterrupt


def test_whatever_bit_of_a_checkpoint_is_flipped_it_opens_or_is_damaged(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)]})
    archive.job.snapshot().table.create_checkpoint()
    (file,) = (tmp_path / "table" / "_delta_log").glob("*.checkpoint.parquet")
    content, seed = file.read_bytes(), random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(60):
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        file.write_bytes(content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :])
        with suppress(Damaged, InvalidInput):  # a version of the format that this program does not know
            open_snapshot(archive.job.location)
