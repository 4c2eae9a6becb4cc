"""Results as files: what is read back is what was found, and nothing found is an empty file with columns."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Field
from deltalake.schema import ArrayType, PrimitiveType, StructType

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.reader import Reader
from tidewheel.sql.results.writers import write_result
from tidewheel.views.rows import rows_document

FIELDS = [
    column("key", "string"),
    column("count", "long"),
    column("price", "decimal(20,2)"),
    column("ratio", "double"),
    column("day", "date"),
    column("at", "timestamp"),
    column("raw", "binary"),
    column("flag", "boolean"),
    Field("tags", ArrayType(PrimitiveType("string"), contains_null=True)),
    Field("place", StructType([column("x", "long"), column("name", "string")])),
]
ROWS = [
    {"key": "", "count": 2**63 - 1, "price": Decimal("123456789012345678.90"), "ratio": 0.1, "raw": b"\x00\xff"},
    {"key": 'a,"b"\nc', "ratio": float("nan"), "day": date(2020, 2, 29), "tags": ["x", None, "é"]},
    {"key": "é", "at": datetime(2020, 1, 1, 0, 0, 0, 1, UTC), "flag": True, "place": {"x": 1, "name": None}},
]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    table = BuiltTable.create(tmp_path_factory.mktemp("written"), FIELDS, ["key"], classes=(1, 1))
    table.append([table.row(0, 9 * HOUR_US, **row) for row in ROWS], watermark=0)
    with Reader.open(table.location, now_us=lambda: 0) as reader:
        yield reader


def written(result, form):
    sink = io.BytesIO()
    count = write_result(result, form, sink)
    return count, sink.getvalue()


def test_csv(reader):
    count, content = written(reader.scan(), "csv")
    lines = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert count == len(lines) == 3
    assert [line["key"] for line in lines] == ["", 'a,"b"\nc', "é"]
    assert [lines[0][name] for name in ("count", "price", "raw", "day")] == [
        str(2**63 - 1),
        "123456789012345678.90",
        "0x00ff",
        "",
    ]
    assert [lines[1][name] for name in ("ratio", "day", "tags")] == ["nan", "2020-02-29", '["x", null, "é"]']
    assert [lines[2][name] for name in ("at", "flag", "place")] == [
        "2020-01-01 00:00:00.000001Z",
        "true",
        '{"x": 1, "name": null}',
    ]


def test_csv_tells_null_from_empty_text(reader):
    _, content = written(reader.sql("select '' as a, NULL as b, NULL::varchar as c"), "csv")
    assert content == b'"a","b","c"\n"",,\n'


def test_json(reader):
    count, content = written(reader.scan(), "json")
    rows = json.loads(content)
    assert count == len(rows) == 3
    assert len(content.splitlines()) == 5
    assert rows[0] == {
        "key": "",
        "count": 2**63 - 1,
        "price": "123456789012345678.90",
        "ratio": 0.1,
        "raw": "0x00ff",
        "day": None,
        "at": None,
        "flag": None,
        "tags": None,
        "place": None,
    }
    assert (rows[1]["ratio"], rows[1]["day"], rows[1]["tags"]) == ("NaN", "2020-02-29", ["x", None, "é"])
    assert (rows[2]["at"], rows[2]["place"]) == ("2020-01-01T00:00:00.000001Z", {"x": 1, "name": None})


INTERVALS = (
    "5 minutes",
    "1 month 3 days 2.5 seconds",
    "-14 months",
    "0 days",
    "1 year -3 days 100 hours",
    "-1 microsecond",
)


@pytest.mark.parametrize("interval", INTERVALS)
def test_intervals_are_written_as_duckdb_writes_and_reads_them(reader, interval):
    query = (
        f"select interval '{interval}' as i, [interval '{interval}'] as l, cast(interval '{interval}' as varchar) as t"
    )
    for row in (json.loads(written(reader.sql(query), "json")[1])[0], rows_document(reader.sql(query))["rows"][0]):
        assert row["i"] == row["t"]
        assert row["l"] == [row["t"]]
    assert reader.sql(f"select interval '{row['i']}' = interval '{interval}'").rows() == [(True,)]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_parquet_and_arrow_keep_types(reader, form):
    expected = reader.scan(columns=[field.name for field in FIELDS if field.name != "ratio"]).arrow()
    _, content = written(reader.scan(columns=expected.column_names), form)
    source = io.BytesIO(content)
    table = pq.read_table(source) if form == "parquet" else pa.ipc.open_stream(source).read_all()
    assert table.to_pylist() == expected.to_pylist()
    assert table.schema.field("price").type == pa.decimal128(20, 2)
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
def test_nothing_found_is_an_empty_file(reader, form):
    count, content = written(reader.probe("nobody", columns=["key", "count"]), form)
    assert count == 0
    shown = {
        "csv": lambda: content == b'"key","count"\n',
        "json": lambda: json.loads(content) == [],
        "parquet": lambda: pq.read_table(io.BytesIO(content)).column_names == ["key", "count"],
        "arrow": lambda: pa.ipc.open_stream(content).read_all().column_names == ["key", "count"],
    }
    assert shown[form]()


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_equal_names_are_refused_where_one_would_vanish(reader, form):
    with pytest.raises(InvalidInput, match="two columns have the name a"):
        written(reader.sql("select 1 as a, 2 as a"), form)


def test_an_unknown_form_is_refused(reader):
    with pytest.raises(InvalidInput, match="known are arrow, csv, json, parquet"):
        written(reader.scan(), "xml")


def test_a_whole_result_can_be_asked_twice(reader):
    for result in (reader.probe("é"), reader.scan("key = 'é'")):
        assert result.arrow().num_rows == 1
        assert result.dicts()[0]["place"] == {"x": 1, "name": None}
        assert len(list(result)) == len(result.rows()) == 1
