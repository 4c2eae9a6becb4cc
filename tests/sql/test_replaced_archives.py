"""A handle that stays open while another archive comes to lie in the place of the one that it reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.sql.reader import Reader

FIELDS = [column("key", "long"), column("other", "long")]


def made(place: Path, first: int, updates: int, key: str = "key") -> BuiltTable:
    """An archive of a record for each update; their keys count from a first one on."""
    table = BuiltTable.create(place, FIELDS, [key])
    more(table, first, range(updates))
    return table


def more(table: BuiltTable, first: int, slots: range) -> None:
    for slot in slots:
        row = table.row(slot, (slot + 9) * HOUR_US, key=first + slot, other=-first - slot)
        table.append([row], watermark=slot)


def reads(reader: Reader, probed: list[int], updates: int) -> list[object]:
    """What it answers now, and as of the end of each update."""
    moments = [slot * HOUR_US for slot in range(1, updates + 1)]
    found: list[object] = [sorted(reader.scan(as_of_us=at).rows()) for at in moments]
    return [*found, sorted(reader.scan().rows()), *(reader.probe(one).rows() for one in probed), reader.version]


def opened(place: Path) -> Reader:
    return Reader.open(place, now_us=lambda: 0)


@pytest.mark.parametrize("updates", [2, 3, 5])
def test_an_archive_made_anew_in_its_place_is_read(tmp_path: Path, updates: int) -> None:
    made(tmp_path / "table", 10, 3)
    with opened(tmp_path / "table") as reader:
        before = reads(reader, [10, 20], 3), reads(reader, [10, 20], 3)
        assert before[0] == before[1]
        shutil.rmtree(tmp_path / "table")
        made(tmp_path / "table", 20, updates)
        with opened(tmp_path / "table") as fresh:
            assert reads(reader, [10, 20], updates) == reads(fresh, [10, 20], updates)


def test_an_archive_of_another_key_in_its_place_is_probed_by_that(tmp_path: Path) -> None:
    made(tmp_path / "table", 10, 3)
    with opened(tmp_path / "table") as reader:
        reads(reader, [10, 20], 3)
        shutil.rmtree(tmp_path / "table")
        made(tmp_path / "table", 20, 3, key="other")
        assert reads(reader, [-20, -20, 20], 3)[-4:-1] == [[(20, -20)], [(20, -20)], []]


def test_a_copy_that_was_restored_and_went_on_is_read(tmp_path: Path) -> None:
    table = made(tmp_path / "table", 10, 3)
    shutil.copytree(tmp_path / "table", tmp_path / "copy")
    more(table, 10, range(3, 5))
    with opened(tmp_path / "table") as reader:
        reads(reader, [13, 33], 5)
        shutil.rmtree(tmp_path / "table")
        shutil.copytree(tmp_path / "copy", tmp_path / "table")
        more(BuiltTable(table.location, FIELDS), 30, range(3, 5))
        with opened(tmp_path / "table") as fresh:
            assert reads(reader, [13, 33], 5) == reads(fresh, [13, 33], 5)
