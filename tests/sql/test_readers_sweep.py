"""Type of key × value × reader × predicate: no reader passes a row by, and none gives one that does not belong.

Each reader is compared with itself over rows in memory, and with Python where floating point is not compared.
The readers of other environments come from PyPI; without it the nightly part is skipped, unless
TIDEWHEEL_REQUIRE_READERS is set.
"""

from __future__ import annotations

import os
import subprocess
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from tests.old_archives.contents import KEY_KINDS
from tests.readers.ask import READERS, Answer, Asked, Question, answers, by_duckdb, sql_condition
from tests.support.reader_sweep import Environment, Swept, asked_elsewhere, swept
from tidewheel.jobs.data import write
from tidewheel.sql.reader import Reader
from tidewheel.storage.statistics_columns import PROPERTY

pytestmark = pytest.mark.usefixtures("spark")
BY_DEFAULT = ("string", "binary", "double")
HERE = ("ours", "duckdb_files", "duckdb_view", "duckdb_log_view", "deltalake_dataset")
DUCKDB = ("duckdb_files", "duckdb_view", "duckdb_log_view")
DELTALAKE = ("deltalake_dataset", "deltalake_pandas")
ELSEWHERE = (
    Environment("duckdb_1_4", ("duckdb<1.5", "pyarrow", "pytz"), DUCKDB),
    Environment(
        "duckdb_1_5_5",
        ("duckdb==1.5.5", "duckdb-extension-delta==1.5.5", "pyarrow", "pytz"),
        (*DUCKDB, "duckdb_delta", "duckdb_delta_view"),
    ),
    Environment("duckdb_1_5_6", ("duckdb==1.5.6", "pyarrow", "pytz"), DUCKDB),
    Environment("deltalake_1_0_2", ("deltalake==1.0.2", "pyarrow", "pandas<3"), DELTALAKE),
    Environment("deltalake_1_4_2", ("deltalake==1.4.2", "pyarrow", "pandas<3"), DELTALAKE),
    Environment(
        "deltalake_1_6_6",
        ("deltalake==1.6.6", "pyarrow", "pandas<3", "polars", "datafusion"),
        (*DELTALAKE, "deltalake_datafusion", "polars_native", "polars_pyarrow"),
    ),
)
# Who loses rows by a Bloom filter of bytes or floating point; of truth values DataFusion does.
LOSING = {"duckdb_1_5_5 duckdb_files", "duckdb_1_5_5 duckdb_view", "duckdb_1_5_6 duckdb_files"}
DATAFUSION = "deltalake_1_6_6 deltalake_datafusion"


def ours(asked: Asked) -> tuple[Answer, Answer]:
    """Probes for what a probe can ask, and the connection with the view `live` for the rest."""
    reader = Reader.open(asked.table, now_us=lambda: 0)

    def answer(question: Question) -> Any:
        args = question["args"]
        if question["column"] == "key" and question["op"] == "=":
            return [(row["body"],) for row in reader.probe((args[0],)).dicts()]
        if question["column"] == "g":
            question = {"column": "body", "op": ">", "args": [1 << 40]}  # not shown
        condition = sql_condition(question, ["?"] * len(question["args"]))
        return reader.connect().execute(f"select body from live where {condition}", question["args"]).fetchall()

    _, in_memory = by_duckdb(asked, f"read_parquet({asked.files}, hive_partitioning = true)")
    return answer, lambda question: [] if question["column"] == "g" else in_memory(question)


READERS["ours"] = ours


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_the_readers_of_this_environment(tmp_path: Path, name: str) -> None:
    one = swept(name, tmp_path)
    assert wrong_here(one) == []
    print(f"{len(one.questions)} questions, {len(HERE)} readers")


def wrong_here(one: Swept) -> list[str]:
    return [f"{reader}: {fault}" for reader in HERE for fault in one.wrong(answers(reader, Asked(one.folder)))]


def test_statistics_that_are_promised_and_missing_are_found(tmp_path: Path) -> None:
    """What archives had before: every column was said to have statistics."""
    one = swept("string", tmp_path, more_keys=20)
    assert wrong_here(one) == []
    promise_all(one)
    faults = wrong_here(one)
    assert {fault.split(":")[0] for fault in faults} == {"deltalake_dataset"}
    assert [fault for fault in faults if "word = ['UA']: 0 rows" in fault]


def promise_all(one: Swept) -> None:
    table = DeltaTable(one.archive.job.location.delta_uri)
    names = [field.name for field in table.schema().fields]
    table.alter.set_table_properties({PROPERTY: ",".join(names)})
    one.write()


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The Python of each environment."""
    folder = tmp_path_factory.mktemp("environments")
    try:
        return {one.name: one.made(folder) for one in ELSEWHERE}
    except subprocess.CalledProcessError as error:
        if os.environ.get("TIDEWHEEL_REQUIRE_READERS"):
            raise
        pytest.skip(f"NOT SWEPT: the readers of other environments cannot be had from PyPI here: {error}")


@pytest.mark.nightly
@pytest.mark.parametrize("name", KEY_KINDS)
def test_all_readers(tmp_path: Path, spark: SparkSession, pythons: dict[str, Path], name: str) -> None:
    one = swept(name, tmp_path)
    faults = wrong_here(one) + wrong_elsewhere(one, pythons) + wrong_in_spark(one, spark)
    assert faults == []


def wrong_elsewhere(one: Swept, pythons: dict[str, Path]) -> list[str]:
    return [
        f"{environment.name} {reader}: {fault}"
        for environment in ELSEWHERE
        for reader in environment.readers
        for fault in one.wrong(asked_elsewhere(pythons[environment.name], reader, one))
    ]


def wrong_in_spark(one: Swept, spark: SparkSession) -> list[str]:
    """Spark over the table, and over the published view."""
    asked = Asked(one.folder)
    table = spark.read.format("delta").load(asked.table)
    spark.sql(asked.views["spark"].replace("OR REPLACE VIEW", "OR REPLACE TEMPORARY VIEW"))
    rows = table.localCheckpoint()  # by way of Python the years 1 and 9999 would not pass
    faults = []
    for name, frame in (("table", table), ("view", spark.table("small"))):
        found: list[Any] = []
        for question in asked.questions:
            if name == "view" and question["column"] == "g":
                found.append({"found": [], "in_memory": []})
                continue
            both = [frame.where(spark_condition(question)), rows.where(spark_condition(question))]
            bodies = [sorted(row["body"] for row in one_frame.select("body").collect()) for one_frame in both]
            found.append(dict(zip(("found", "in_memory"), bodies, strict=True)))
        faults += [f"spark {name}: {fault}" for fault in one.wrong(found)]
    return faults


def spark_condition(question: Question) -> Column:
    column, args = F.col(question["column"]), [spark_literal(value) for value in question["args"]]
    if question["op"] == "in":
        return column.isin(*args)
    if question["op"] == "range":
        return (column >= args[0]) & (column < args[1])
    return {"=": column == args[0], ">": column > args[0], "<": column < args[0]}[question["op"]]


def spark_literal(value: Any) -> Column:
    if isinstance(value, date):
        return F.lit(value.isoformat()).cast("timestamp" if isinstance(value, datetime) else "date")
    return F.lit(value)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "readers"),
    [("binary", LOSING), ("double", LOSING), ("float", {DATAFUSION}), ("boolean", {DATAFUSION})],
)
def test_bloom_filters_that_lose_rows_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pythons: dict[str, Path], name: str, readers: set[str]
) -> None:
    """What archives had before: DuckDB 1.5 passes rows by, where ours and DuckDB 2.0 do not.

    Asked with a DOUBLE for a FLOAT it does not look at the filter; DataFusion does, and loses a zero.
    """
    monkeypatch.setattr(write, "BinaryType", type(None))
    monkeypatch.setattr(write, "BooleanType", type(None))
    monkeypatch.setattr(write, "FloatType", type(None))
    monkeypatch.setattr(write, "DoubleType", type(None))
    one = swept(name, tmp_path)
    assert wrong_here(one) == []
    assert {fault.split(":")[0] for fault in wrong_elsewhere(one, pythons)} >= readers


@pytest.mark.nightly
def test_missing_statistics_are_found_in_every_deltalake(tmp_path: Path, pythons: dict[str, Path]) -> None:
    one = swept("long", tmp_path, more_keys=20)
    promise_all(one)
    readers = {fault.split(":")[0] for fault in wrong_elsewhere(one, pythons)}
    named = ("deltalake_1_0_2", "deltalake_1_4_2", "deltalake_1_6_6")
    assert readers >= {f"{name} {reader}" for name in named for reader in DELTALAKE}
    assert "deltalake_1_6_6 polars_pyarrow" in readers


def test_the_duckdb_here_is_the_newest_of_the_sweep() -> None:
    assert duckdb.__version__.startswith("2.0.")
