"""Arrow tables reach Spark whole, in whatever pieces they come; nobody else hands one over."""

from __future__ import annotations

import ast
import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.support.import_faults import sources_in
from tests.support.import_rules import TREES
from tidewheel.jobs.data.arrow_frames import NUMBER, numbered_frame

PIECES = [[], [0], [0, 0, 4], [2, 0, 4], [4, 0], [0, 3, 0, 0, 1, 0], [1, 1]]
SCHEMA = pa.schema([("v", pa.int64()), ("x", pa.float64()), ("k", pa.string())])


def in_pieces(lengths: list[int]) -> pa.Table:
    values = iter(range(sum(lengths)))
    rows = [[{"v": (one := next(values)), "x": one / 7, "k": str(one)} for _ in range(length)] for length in lengths]
    return pa.Table.from_batches([pa.RecordBatch.from_pylist(some, SCHEMA) for some in rows], SCHEMA)


@pytest.mark.parametrize("lengths", PIECES, ids=str)
def test_every_row_arrives(lengths: list[int], spark: SparkSession) -> None:
    rows = in_pieces(lengths)
    frame = numbered_frame(spark, rows).select(NUMBER, *SCHEMA.names)
    arrived = sorted((tuple(row) for row in frame.collect()), key=lambda row: row[0])
    assert arrived == [(one["v"], *one.values()) for one in rows.to_pylist()]


def test_columns_in_pieces_of_different_lengths_arrive(spark: SparkSession) -> None:
    chance = random.Random(7)
    for _ in range(5):
        cuts = [[chance.randrange(3) for _ in range(4)] for _ in range(2)]
        whole = min(map(sum, cuts))
        columns = [
            pa.chunked_array([*([0] * length for length in lengths), []], pa.int64()).slice(0, whole)
            for lengths in cuts
        ]
        rows = pa.table(columns, ["a", "b"])
        assert numbered_frame(spark, rows).count() == whole, cuts


def test_nobody_else_hands_a_table_to_spark() -> None:
    """Lists are the only other thing that anybody makes frames of."""
    found = []
    for source in (one for folder in TREES for one in sources_in(folder)):
        for call in (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "createDataFrame":
                is_list = bool(call.args) and (
                    isinstance(call.args[0], ast.List | ast.ListComp)
                    or (isinstance(call.args[0], ast.Call) and ast.unparse(call.args[0].func) == "list")
                )
                if not is_list:
                    found.append(source.path)
    assert found == ["jobs/data/arrow_frames.py"]
