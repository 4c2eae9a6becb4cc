"""Rows ordered by several columns are ordered by one whole number: as Arrow sorts them, which is the judge."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tidewheel.queries.kernels import packing
from tidewheel.queries.kernels.packing import packed
from tidewheel.queries.kernels.winners import WINNER_FIRST, selected

SEED = 20261119
MOMENT = datetime(2026, 11, 19, tzinfo=UTC)


def moment(chance: random.Random) -> datetime:
    return MOMENT + timedelta(microseconds=chance.randint(0, 10 ** chance.randint(1, 15)))


def real(chance: random.Random) -> float:
    return chance.choice([0.0, -0.0, float("inf"), float("-inf"), 5e-324, chance.gauss(0, 1)])


COLUMNS: dict[str, tuple[Any, Any]] = {
    "few": (pa.int64(), lambda chance: chance.randint(-3, 3)),
    "wide": (pa.int64(), lambda chance: chance.choice([-(2**63), 2**63 - 1, 0, chance.randint(-(2**62), 2**62)])),
    "short": (pa.int16(), lambda chance: chance.randint(-(2**15), 2**15 - 1)),
    "unsigned": (pa.uint64(), lambda chance: chance.choice([0, 2**64 - 1, 5])),
    "moment": (pa.timestamp("us", "UTC"), moment),
    "day": (pa.date32(), lambda chance: (MOMENT + timedelta(days=chance.randint(0, 9))).date()),
    "truth": (pa.bool_(), lambda chance: chance.random() < 0.5),
    "float": (pa.float64(), real),
    "single": (pa.float32(), lambda chance: chance.choice([0.5, -1.0, 3.0])),
    "text": (pa.string(), lambda chance: chance.choice(["", "a", "b", "é", "zz"])),
    "decimal": (pa.decimal128(38, 2), lambda chance: Decimal(chance.randint(-500, 500)) / 100),
    "nothing": (pa.int64(), lambda chance: None),
}


def drawn(chance: random.Random, kind: str, rows: int, nulls: float = 0.2) -> pa.Array:
    arrow, draw = COLUMNS[kind]
    return pa.array([None if chance.random() < nulls else draw(chance) for _ in range(rows)], arrow)


def winner(columns: dict[str, pa.Array], order: Any, rows: slice) -> Any:
    """As Arrow sorts; of -0.0 and 0.0, which it takes for equal, the one that packing prefers."""
    table = pa.table({name: one[rows] for name, one in columns.items()})
    return table["value"][pc.sort_indices(table, sort_keys=list(order))[0].as_py()].as_py()


@pytest.mark.parametrize("bits_max", [63, 14], ids=["distances", "ranks"])
@pytest.mark.parametrize("name", ["arg_max", "arg_min", "first", "last", "max", "min"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_the_row_that_comes_first(name: str, kind: str, bits_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(f"{SEED} {name} {kind}")
    monkeypatch.setattr(packing, "BITS_MAX", bits_max)
    order = WINNER_FIRST[name]
    for rows in (1, 3, 16):
        for by in ("few", "float", "wide", "moment"):
            columns = {
                "value": drawn(chance, kind, rows),
                "by": drawn(chance, by, rows),
                "at": drawn(chance, "few", rows),
            }
            columns = {column: columns[column] for column, _ in order}
            found = packed(columns, order)
            assert found is not None, (rows, by)
            for low in range(rows):
                best = found.values(found.numbers[low:].max(keepdims=True))
                assert best.type == columns["value"].type
                assert best[0].as_py() == winner(columns, order, slice(low, rows)), (rows, by, low)


@pytest.mark.parametrize("why", ["nan", "too many values"])
def test_what_cannot_be_packed_is_sorted(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BITS_MAX", 63 if why == "nan" else 5)
    by = [2.0, float("nan"), 7.0, 7.0] if why == "nan" else [2.0, 1.0, 7.0, 7.0]
    columns = {"value": pa.array(["a", "b", "c", "d"]), "by": pa.array(by), "at": pa.array([1, 2, 4, 3])}
    assert packed(columns, WINNER_FIRST["arg_max"]) is None
    spans = np.array([0, 0, 2]), np.array([1, 2, 4])
    assert selected("arg_max", columns, *spans).to_pylist() == ["a", "a", "c"]


def test_zeros_of_either_sign_tie_but_are_told_as_they_are() -> None:
    columns = {"value": pa.array([1.0, 2.0, -0.0]), "by": pa.array([0.0, -0.0, -1.0]), "at": pa.array([5, 6, 7])}
    whole, lone = (np.array([0, 2]), np.array([3, 3])), 1
    found = selected("arg_max", columns, *whole)
    assert found.to_pylist() == [2.0, 0.0]
    assert np.signbit(found[lone].as_py())
