"""One archive whose key has every type, with the values that break things: stored, found, rewritten, forgotten."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import moment
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader

pytestmark = pytest.mark.usefixtures("spark")
UTC_TIME = pa.timestamp("us", "UTC")
LONG = "long " * 20_000
VALUES: Mapping[str, tuple[str, pa.DataType, tuple[Any, ...]]] = {
    "word": (
        "string",
        pa.string(),
        (
            *("", " ", "'", '"', "`", "\\", "\\'", "a\nb", "\r\n", "\t", "é", "e\u0301", "😀", "\u202e", "\u2028"),
            *(
                "NULL",
                "null",
                "nan",
                "%00",
                "%2F..",
                "../..",
                "${ENV:HOME}",
                "{slot}",
                "$1",
                "--",
                "'; drop table x; --",
            ),
            *("\x1b[2J", "\x7f", "\ufeff", "Ω" * 200, LONG, LONG + "!", "\U0010ffff" * 70, "a\0b"),
        ),
    ),
    "whole": ("bigint", pa.int64(), (0, -1, 2**63 - 1, -(2**63))),
    "small": ("tinyint", pa.int8(), (127, -128)),
    "ratio": ("double", pa.float64(), (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1)),
    "single": ("float", pa.float32(), (math.nan, math.inf, -0.0, 1.5)),
    "exact": (
        "decimal(38,18)",
        pa.decimal128(38, 18),
        (Decimal("99999999999999999999.999999999999999999"), Decimal("-0.000000000000000001"), Decimal(0)),
    ),
    "flag": ("boolean", pa.bool_(), (True, False)),
    "day": ("date", pa.date32(), (date(1, 1, 1), date(9999, 12, 31), date(2000, 2, 29), date(1582, 10, 10))),
    "moment": (
        "timestamp",
        UTC_TIME,
        (
            *(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
            *(datetime(2024, 2, 29, 0, 0, 0, 1, UTC), datetime(2024, 2, 29, 0, 0, 0, 2, UTC)),
            *(datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ),
    ),
    "raw": ("binary", pa.binary(), (b"", b"\0\xff", b"\x80abc", "é".encode())),
}
KEY = tuple(VALUES)
NESTED = "struct<names: array<string>, inner: struct<n: bigint, at: timestamp>>"
NESTED_ARROW = pa.struct(
    [("names", pa.list_(pa.string())), ("inner", pa.struct([("n", pa.int64()), ("at", UTC_TIME)]))]
)
NESTED_VALUES = (
    None,
    {"names": None, "inner": None},
    {"names": [], "inner": {"n": None, "at": None}},
    {"names": ["", None, "a\nb"], "inner": {"n": 2**62, "at": datetime(2024, 2, 29, tzinfo=UTC)}},
)
Row = dict[str, Any]


@dataclass
class AwkwardArchive(SmallArchive):
    @property
    def file(self) -> ArchiveFile:
        file = super().file
        columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in VALUES.items())
        schema = f"{columns}, body bigint, deep {NESTED}, ins timestamp, until timestamp"
        return replace(file, key=KEY, source=replace(file.source, schema=schema))

    def bring(self, slot: int, rows: list[Row]) -> None:
        kinds = {name: kind for name, (_, kind, _) in VALUES.items()}
        kinds |= {"body": pa.int64(), "deep": NESTED_ARROW, "ins": UTC_TIME, "until": UTC_TIME}
        path = self.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(list(kinds.items()))), path)
        update(self.job, [slot], confirmed=EVERYTHING)

    def row(self, body: int, slot: int, life: int, **values: Any) -> Row:
        start_us = self.axis.start_us(slot)
        times = {"ins": moment(start_us + 1), "until": moment(start_us + life * self.axis.interval_us + 2)}
        return {**BASE, **values, "body": body, "deep": NESTED_VALUES[body % 4], **times}


BASE: Row = {
    **{"word": "w", "whole": 7, "small": 7, "ratio": 7.5, "single": 7.5, "exact": Decimal(7), "flag": True},
    **{"day": date(2026, 1, 1), "moment": datetime(2026, 1, 1, tzinfo=UTC), "raw": b"r"},
}


def key_of(row: Row) -> tuple[Any, ...]:
    """A key such that equal keys are equal here: NaN is itself, and there is one zero."""
    values = (row[name] for name in KEY)
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else 0.0 if v == 0 and isinstance(v, float) else v
                 for v in values)  # fmt: skip


def as_text(value: Any) -> str:
    """A key value as it is typed for a forget."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime):
        return f"{value.year:04}{value.strftime('-%m-%d %H:%M:%S.%f')}Z"
    return str(value)


def bodies(archive: AwkwardArchive, key: tuple[Any, ...]) -> list[int]:
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        return sorted(row["body"] for row in reader.probe(key).dicts())


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    """The plain row with each value of each column in turn; some leave early, so that files are rewritten."""
    archive = AwkwardArchive(tmp_path, generation_of())
    made: list[Row] = []
    for name, (_, _, values) in VALUES.items():
        made += [archive.row(len(made) + n, 0, 1 + (len(made) + n) % 3, **{name: one}) for n, one in enumerate(values)]
    random.Random(1).shuffle(made)
    return made


def test_every_type_of_key(tmp_path: Path, rows: list[Row]) -> None:
    archive = AwkwardArchive(tmp_path, generation_of("round_robin", 1, 1, span=4)).create()
    archive.bring(0, rows)
    archive.bring(0, rows)
    archive.bring(1, [archive.row(1000, 1, 3)])
    alive = [*(row for row in rows if row["until"] > moment(archive.axis.end_us(1))), archive.row(1000, 1, 3)]
    assert len(alive) < len(rows), "files were rewritten"
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for row in alive:
        by_key.setdefault(key_of(row), []).append(row["body"])
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        assert Counter(row["body"] for row in reader.scan().dicts()) == Counter(row["body"] for row in alive)
        found = {row["body"]: row for row in reader.scan().dicts()}
    for row in alive:
        assert key_of(found[row["body"]]) == key_of(row)
        assert found[row["body"]]["deep"] == row["deep"]
        assert bodies(archive, tuple(row[name] for name in KEY)) == sorted(by_key[key_of(row)]), row
    assert audit(archive.job, deep=True).findings == ()
    print(f"{len(rows)} values of {len(KEY)} types")
    check_forget(archive, alive)


def check_forget(archive: AwkwardArchive, alive: list[Row]) -> None:
    """Half of them are forgotten by key; exactly those are gone, also after a replay."""
    # What cannot be typed as an argument cannot be forgotten by one.
    typed = [row for row in alive if row["raw"] in (b"r", b"", "é".encode()) and "\0" not in row["word"]]
    gone = typed[::2]
    # Neighbours that a careless digest would take for one: a microsecond apart, and two texts that begin alike.
    twins = [row for row in alive if row["moment"].year == 2024 or row["word"].startswith("long")]
    gone = [row for row in gone if row not in twins] + twins[:1]
    forget(archive.job, keys=[tuple(as_text(row[name]) for name in KEY) for row in gone])
    keys_gone = {key_of(row) for row in gone}
    left = Counter(row["body"] for row in alive if key_of(row) not in keys_gone)
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        assert Counter(row["body"] for row in reader.scan().dicts()) == left
    archive.bring(1, [archive.row(1000, 1, 3)])
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        assert Counter(row["body"] for row in reader.scan().dicts()) == left


def test_moments_that_no_calendar_can_say_are_judged_like_any_other(tmp_path: Path) -> None:
    """PostgreSQL's infinity arrives as a year beyond 9999; it must not end a run with an error nobody understands."""
    archive = SmallArchive(tmp_path, generation_of()).create()
    table = archive.table_of([])
    beyond = [2**63 - 1, 253_402_300_800_000_000, -(2**63), -62_135_596_800_000_001]
    columns = {
        "key": [f"k{n}" for n in range(8)],
        "body": list(range(8)),
        "ins": [1] * 4 + beyond,
        "until": beyond + [archive.axis.start_us(2)] * 4,
    }
    # By way of numbers: Python has no such dates.
    numbers = {name: pa.array(values) for name, values in columns.items()}
    arrays = [numbers[field.name].cast(field.type) for field in table.schema]
    path = archive.folder / "source" / "0.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, schema=table.schema), path)
    receipt = update(archive.job, [0], confirmed=EVERYTHING).receipt
    assert receipt is not None
    quarantine = QUARANTINE.open(archive.job.location)
    assert quarantine is not None
    kept = [json.loads(row["record"]) for row in pa.table(quarantine.to_pyarrow_table()).to_pylist()]
    assert receipt.slots[0].rows_in == 8
    assert receipt.slots[0].quarantined == len(kept)
    assert {one["key"] for one in kept} >= {"k0", "k1", "k4", "k5"}
    assert "+294247-01-10T04:00:54.775807Z" in {one["until"] for one in kept}


@pytest.mark.nightly
def test_a_thousand_columns(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(1_000)]
    archive = SmallArchive(tmp_path, generation_of())
    file = archive.file
    schema = f"{file.source.schema}, {', '.join(f'{name} bigint' for name in names)}"
    job = replace(archive.job, file=replace(file, source=replace(file.source, schema=schema)))
    create(job)
    for slot in range(3):
        rows = [archive_row(archive, slot, n) | dict.fromkeys(names, n) for n in range(50)]
        path = archive.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)
        update(job, [slot], confirmed=EVERYTHING)
    with Reader.open(job.location, now_us=lambda: 0) as reader:
        found = list(reader.scan(columns=["body", "c0", "c999"]).dicts())
    assert Counter(row["body"] for row in found) == Counter(range(50))
    assert all(row["c0"] == row["c999"] == row["body"] for row in found)
    assert audit(job, deep=True).findings == ()


def archive_row(archive: SmallArchive, slot: int, body: int) -> Row:
    start_us = archive.axis.start_us(slot)
    until = moment(start_us + 2 * archive.axis.interval_us)
    return {"key": f"k{body % 7}", "body": body, "ins": moment(start_us + 1), "until": until}
