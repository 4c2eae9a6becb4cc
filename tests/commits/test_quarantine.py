"""The records that were set aside, as people see them: by the API and by the command."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.cli import main
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import quarantined
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.errors import Damaged
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update

START = "1970-01-01T00:0{}:00Z"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> SmallArchive:
    """Slots 0 to 2: in each a record without an expiry, in slot 1 also one without a key; slot 2 came twice."""
    archive = SmallArchive(tmp_path_factory.mktemp("quarantine"), generation_of()).create()
    batches: list[tuple[int, list[str | None]]] = [(0, ["a"]), (1, ["[red]b", None]), (2, ["old"]), (2, ["new"])]
    for slot, keys in batches:
        write(archive, slot, keys)
        update(archive.job, [slot], confirmed=EVERYTHING)
    return archive


def write(archive: SmallArchive, slot: int, keys: list[str | None]) -> None:
    times = pa.timestamp("us", "UTC")
    start = archive.axis.start_us(slot)
    columns = {
        "key": pa.array([*keys, "fine"], pa.string()),
        "body": pa.array(range(len(keys) + 1), pa.int64()),
        "ins": pa.array([start + 5] * (len(keys) + 1), times),
        "until": pa.array([None] * len(keys) + [start + 150_000_000], times),
    }
    path = archive.folder / "source" / f"{slot}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)


def place(archive: SmallArchive) -> str:
    return str(archive.folder / "table")


def run(*words: str) -> str:
    result = CliRunner().invoke(main, ["quarantine", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_records_come_with_their_rule_from_the_batches_that_count(archive: SmallArchive) -> None:
    found = tidewheel.open(place(archive)).quarantined()
    assert [(one.slot, one.rule, one.record["key"]) for one in found] == [
        (0, "null_expiry", "a"),
        (1, "null_expiry", "[red]b"),
        (1, "null_key", None),
        (2, "null_expiry", "new"),
    ]
    assert {one.text for one in found} == {None}
    assert found[0].record == {"key": "a", "body": 0, "ins": "1970-01-01T00:00:00.000005+00:00", "until": None}
    assert found[0].at == datetime.fromtimestamp(archive.now_us / 1e6, UTC)


def test_those_of_a_slot_or_a_range(archive: SmallArchive) -> None:
    opened = tidewheel.open(place(archive))
    assert [one.slot for one in opened.quarantined(START.format(1))] == [1, 1]
    assert [one.slot for one in opened.quarantined(START.format(0), START.format(2))] == [0, 1, 1]
    assert opened.quarantined(START.format(7)) == []


def test_the_command_counts_them_and_shows_them_as_they_came(archive: SmallArchive) -> None:
    said = run(place(archive), "--limit", "2")
    assert "null_key" in said
    assert '"key": "[red]b"' in said, "nothing in a record is markup"
    assert "and 2 more: --limit 4" in said
    assert '"new"' not in said


def test_the_command_for_machines(archive: SmallArchive) -> None:
    document = json.loads(run(place(archive), "--slot", START.format(1), "--json"))
    assert document["records"] == 2
    assert document["counts"] == [
        {"slot": START.format(1), "rule": "null_expiry", "records": 1},
        {"slot": START.format(1), "rule": "null_key", "records": 1},
    ]
    assert [one["record"]["body"] for one in document["quarantine"]] == [0, 1]


def test_an_archive_that_set_nothing_aside_says_so(tmp_path: Path, spark: Any) -> None:
    archive = SmallArchive(tmp_path, generation_of()).create()
    assert run(place(archive)) == "nothing is in quarantine\n"
    assert json.loads(run(place(archive), "--json")) == {"records": 0, "counts": [], "quarantine": []}


TYPED = {
    "text": (pa.string(), ["a'b", "c"], "'a\\'b'"),
    "binary": (pa.binary(), [b"\xff\xfe", b"ok"], "x'fffe'"),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal("2.50")], "1.25"),
    "day": (pa.date32(), [date(2026, 1, 1), date(2026, 1, 2)], "date'2026-01-01'"),
    "moment": (pa.timestamp("us", "UTC"), [1, 2], "timestamp'1970-01-01T00:00:00.000001Z'"),
    "double": (pa.float64(), [0.1, 2.5], "0.1"),
    "truth": (pa.bool_(), [True, False], "true"),
}


# The second of the keys, of the kinds for which no Spark is started.
BY_THIS_PROCESS = {"text": "c", "day": "2026-01-02", "moment": "1970-01-01T00:00:00.000002Z"}


@pytest.mark.parametrize("kind", TYPED)
def test_a_forget_finds_values_of_any_type_in_quarantine(
    tmp_path: Path, spark: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrow_type, keys, first = TYPED[kind]
    archive = SmallArchive(tmp_path, generation_of())
    archive.write(0, [Record(0, 2, "a", 1), Record(0, 2, "b", 2)])
    path = archive.folder / "source" / "0.parquet"
    nothing = pa.array([None, None], pa.timestamp("us", "UTC"))
    table = pq.read_table(path).set_column(0, "key", pa.array(keys, arrow_type)).set_column(3, "until", nothing)
    pq.write_table(table, path)
    source = replace(archive.file.source, schema="")
    job = replace(archive.job, file=replace(archive.file, source=source))
    create(job, 0)
    update(job, [0])
    assert len(quarantined(job)) == 2
    assert forget(job, where=f"key = {first}").quarantined_forgotten == 1
    assert [one.record["body"] for one in quarantined(job)] == [2]
    if kind in BY_THIS_PROCESS:
        monkeypatch.setenv("TIDEWHEEL_HAND", "local")
        assert forget(job, keys=[(BY_THIS_PROCESS[kind],)]).quarantined_forgotten == 1
        assert quarantined(job) == []


def test_a_damaged_quarantine_is_told_with_the_commands_that_mend_it(archive: SmallArchive, tmp_path: Path) -> None:
    shutil.copytree(archive.folder / "table", tmp_path / "table")
    for file in (tmp_path / "table" / "_tidewheel" / "quarantine").glob("*.parquet"):
        file.write_bytes(b"")
    with pytest.raises(Damaged) as raised:
        tidewheel.open(tmp_path / "table").quarantined()
    place = tmp_path / "table" / "_tidewheel" / "quarantine"
    assert f"mv {place} {place}.damaged && tidewheel backfill ARCHIVE --from 1970-01-01T00:00:00Z --to " in (
        raised.value.remedy
    )
    assert raised.value.remedy.endswith("--to 1970-01-01T00:03:00Z --each 3")
