"""What the old archives hold: for each type of key an archive, with the batches that it was fed, and what is alive.

Fifteen archives meet every layout with every strategy, and every type of key. Each has a past: a range, single
slots, a quarantined record, one that was dead on arrival, a forgotten key, a migration, a corrected slot, a folded
ledger with a checkpoint, and half of them a vacuum.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

SPAN = 6
INTERVAL = timedelta(minutes=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UTC_TIME = pa.timestamp("us", "UTC")
KINDS = ("round_robin", "chronological", "wave_by_insertion", "wave_by_expiration", "randomized")
STRATEGIES = ("rebuild", "no_rebuild", "expire_rebuild")
# Slots 0 to 9 were applied, 7 twice; the batches of the next ones lie ready.
SLOT_LAST = 9
SLOT_CORRECTED = 7
SLOTS_READY = (10, 11, 12)
Row = dict[str, Any]


@dataclass(frozen=True)
class KeyKind:
    """A type that a key may have. The first of its values was forgotten."""

    spark: str
    arrow: pa.DataType
    values: tuple[Any, ...]
    forgotten: str  # the first value, as it was typed for the forget


KEY_KINDS: Mapping[str, KeyKind] = {
    "string": KeyKind("string", pa.string(), ("gone", "", "it's", "é", "é\u0301", "\U0010ffff" * 70, "a\nb"), "gone"),
    "int": KeyKind("int", pa.int32(), (7, 0, -1, 2**31 - 1, -(2**31)), "7"),
    "long": KeyKind("bigint", pa.int64(), (7, 0, -1, 2**63 - 1, -(2**63)), "7"),
    "short": KeyKind("smallint", pa.int16(), (7, 0, -1, 2**15 - 1, -(2**15)), "7"),
    "byte": KeyKind("tinyint", pa.int8(), (7, 0, -1, 127, -128), "7"),
    "date": KeyKind(
        "date", pa.date32(),
        (date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)), "2024-02-29",
    ),
    "timestamp": KeyKind(
        "timestamp", UTC_TIME,
        (datetime(2024, 2, 29, 0, 0, 0, 1, UTC), datetime(2024, 2, 29, 0, 0, 0, 2, UTC), datetime(1, 1, 1, tzinfo=UTC),
         datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        "2024-02-29T00:00:00.000001Z",
    ),
    "binary": KeyKind("binary", pa.binary(), (b"gone", b"", b"\xff\xfe", b"\0\1", b"\x80abc", b"plain"), "gone"),
    "float": KeyKind("float", pa.float32(), (0.5, 0.0, -0.0, math.nan, math.inf, -math.inf, 1.5), "0.5"),
    "double": KeyKind(
        "double", pa.float64(), (0.1, 0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -1.7976931348623157e308), "0.1",
    ),
    "decimal": KeyKind(
        "decimal(38,18)", pa.decimal128(38, 18),
        (Decimal("7.5"), Decimal("99999999999999999999.999999999999999999"), Decimal("-1e-18"), Decimal(0)), "7.5",
    ),
    "boolean": KeyKind("boolean", pa.bool_(), (True, False), "true"),
}  # fmt: skip


@dataclass(frozen=True)
class OldArchive:
    """One of the fifteen: its number decides its layout and its strategy, so that all pairs occur."""

    number: int
    name: str
    key: tuple[KeyKind, ...]

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("key",) if len(self.key) == 1 else tuple(f"key{n}" for n in range(len(self.key)))

    @property
    def schema(self) -> pa.Schema:
        keys = list(zip(self.key_columns, (one.arrow for one in self.key), strict=True))
        return pa.schema([*keys, ("body", pa.int64()), ("word", pa.string()), ("ins", UTC_TIME), ("until", UTC_TIME)])

    @property
    def schema_text(self) -> str:
        keys = zip(self.key_columns, (one.spark for one in self.key), strict=True)
        return ", ".join([*(f"{n} {t}" for n, t in keys), "body bigint, word string, ins timestamp, until timestamp"])

    @property
    def relocates(self) -> bool:
        """Whether its migration moved everything at once."""
        return self.number % 2 == 1

    @property
    def forgotten_text(self) -> tuple[str, ...]:
        return tuple(one.forgotten for one in self.key)

    def rows(self, slot: int, edition: int = 0) -> list[Row]:
        """The batch of a slot, with records that live long, short and not at all, and one that has no expiry."""
        chance = random.Random(f"{self.name}:{slot}:{edition}")
        keys = self._keys(chance)
        rows = [self._row(slot, n, key, chance.randint(0, SPAN - 1)) for n, key in enumerate(keys)]
        if slot == 1:
            rows[0]["until"] = None
        return rows

    def _keys(self, chance: random.Random) -> list[tuple[Any, ...]]:
        """Every value at least once, each with another of the other columns."""
        rows = max(6, *(len(one.values) for one in self.key))
        columns = [[one.values[n % len(one.values)] for n in range(rows)] for one in self.key]
        for column in columns[1:]:
            chance.shuffle(column)
        return [*zip(*columns, strict=True), tuple(one.values[0] for one in self.key)]

    def _row(self, slot: int, number: int, key: tuple[Any, ...], life: int) -> Row:
        start = EPOCH + slot * INTERVAL
        times = {"ins": start + timedelta(microseconds=1), "until": start + life * INTERVAL + timedelta(seconds=2)}
        named = dict(zip(self.key_columns, key, strict=True))
        return {**named, "body": slot * 100 + number, "word": "ab"[number % 2] + str(slot % 3), **times}

    def is_forgotten(self, row: Row) -> bool:
        return all(row[column] == kind.values[0] for column, kind in zip(self.key_columns, self.key, strict=True))

    def alive(self, batches: Mapping[int, Iterable[Row]], watermark: int, forgotten_through: int) -> list[Row]:
        """What a reader sees at the end of the watermark's slot, by the definition."""
        end = EPOCH + (watermark + 1) * INTERVAL
        return [
            row | {"ins_slot": slot}
            for slot, rows in batches.items()
            for row in rows
            if row["until"] and row["until"] > end and not (slot <= forgotten_through and self.is_forgotten(row))
        ]


def _old_archives() -> Iterable[OldArchive]:
    for number, (name, kind) in enumerate(KEY_KINDS.items()):
        yield OldArchive(number, name, (kind,))
    yield OldArchive(12, "string_long", (KEY_KINDS["string"], KEY_KINDS["long"]))
    yield OldArchive(13, "binary_double", (KEY_KINDS["binary"], KEY_KINDS["double"]))
    yield OldArchive(14, "long_date_boolean", (KEY_KINDS["long"], KEY_KINDS["date"], KEY_KINDS["boolean"]))


OLD_ARCHIVES = {one.name: one for one in _old_archives()}
