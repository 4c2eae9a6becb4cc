"""Files that Spark writes have no bounds of floating point: pyarrow finds no NaN where they have."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tidewheel.jobs.data.write import bounds_options

ROWS = [("a", 1.0, [1.0], {"k": 2.0}, (3.0,)), ("b", math.nan, [math.nan], {"k": math.nan}, (math.nan,))]
COLUMNS = "k string, x double, many array<double>, by map<string, float>, deep struct<y: float>"


def test_nan_is_found_by_pyarrow(tmp_path: Path, spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS * 21, COLUMNS).coalesce(1)
    place = tmp_path / "files"
    frame.write.options(**bounds_options(frame.schema)).parquet(str(place))
    assert ds.dataset(place).count_rows(filter=pc.field("x").isin([math.nan])) == 21
    (file,) = place.glob("*.parquet")
    group = pq.ParquetFile(file).metadata.row_group(0)
    bounded = {
        column.path_in_schema: column.statistics is not None and column.statistics.has_min_max
        for column in (group.column(at) for at in range(group.num_columns))
    }
    assert bounded == {
        "k": True, "x": False, "many.list.element": False, "by.key_value.key": True, "by.key_value.value": False,
        "deep.y": False,
    }  # fmt: skip
