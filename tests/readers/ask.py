"""Ask a table questions with one reader, in whatever environment has it: `python ask.py READER FOLDER`.

It stands alone: the environments of other readers have none of this project. FOLDER holds `questions.json` and
`values.parquet`, the values of the key that questions name by number. For each question the bodies of the rows found
are printed, and beside them those that the same reader finds by the same condition when all rows lie in memory: what
it means by = and < is its own affair, which rows it passes by on its way is not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Question = dict[str, Any]
Answer = Callable[[Question], Any]


class Asked:
    """The questions about one table."""

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / "questions.json").read_text())
        self.table, self.files, self.views = told["table"], told["files"], told["views"]
        self.questions: list[Question] = told["questions"]
        column = pq.read_table(folder / "values.parquet").column("key")
        self.type: pa.DataType = column.type
        self.values = column.to_pylist()
        for question in self.questions:
            if question["column"] == "key":
                question["args"] = [self.values[at] for at in question["args"]]

    def type_of(self, question: Question) -> pa.DataType:
        kinds = {"key": self.type, "g": pa.int32(), "word": pa.string(), "body": pa.int64()}
        return kinds[question["column"]]


# DuckDB: over the files, over the published views, over the extension.


def by_duckdb(asked: Asked, source: str, setup: str = "") -> tuple[Answer, Answer]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.execute(setup)
    connection.execute(f"create table everything as select * from {source}")

    def over(relation: str) -> Answer:
        def answer(question: Question) -> Any:
            condition = sql_condition(question, ["?"] * len(question["args"]))
            return connection.execute(f"select body from {relation} where {condition}", question["args"]).fetchall()

        return answer

    return over(source), over("everything")


def duckdb_files(asked: Asked) -> tuple[Answer, Answer]:
    return by_duckdb(asked, f"read_parquet({asked.files}, hive_partitioning = true)")


def duckdb_view(asked: Asked) -> tuple[Answer, Answer]:
    return by_duckdb(asked, '"small"', asked.views["duckdb"])


def duckdb_delta(asked: Asked) -> tuple[Answer, Answer]:
    return by_duckdb(asked, f"delta_scan('{asked.table}')", _delta_extension())


def duckdb_delta_view(asked: Asked) -> tuple[Answer, Answer]:
    return by_duckdb(asked, '"small"', f"{_delta_extension()}; {asked.views['duckdb_delta']}")


def duckdb_log_view(asked: Asked) -> tuple[Answer, Answer]:
    return by_duckdb(asked, '"small"', asked.views["duckdb_log"])


def _delta_extension() -> str:
    import duckdb_extension_delta

    [extension] = Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension")
    return f"load '{extension}'"


# deltalake: pyarrow's dataset, pandas, DataFusion.


def deltalake_dataset(asked: Asked) -> tuple[Answer, Answer]:
    from deltalake import DeltaTable

    table = DeltaTable(asked.table)
    rows = table.to_pyarrow_dataset().to_table()
    return (
        lambda question: _bodies(table.to_pyarrow_dataset().to_table(filter=arrow_condition(asked, question))),
        lambda question: _bodies(rows.filter(arrow_condition(asked, question))),
    )


def deltalake_pandas(asked: Asked) -> tuple[Answer, Answer]:
    from deltalake import DeltaTable

    table = DeltaTable(asked.table)
    rows = table.to_pyarrow_dataset().to_table()

    def answer(question: Question) -> Any:
        name, args = question["column"], question["args"]
        filters = {
            "in": [(name, "in", args)],
            "range": [(name, ">=", args[0]), (name, "<", args[-1])] if args else [],
        }.get(question["op"], [(name, question["op"], *args)])
        return [(body,) for body in table.to_pandas(filters=filters, columns=["body"])["body"]]

    return answer, lambda question: _bodies(rows.filter(arrow_condition(asked, question)))


def deltalake_datafusion(asked: Asked) -> tuple[Answer, Answer]:
    import datafusion
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(asked.table)
    session = datafusion.SessionContext()
    session.from_arrow(table.to_pyarrow_dataset().to_table(), name="t")

    def sql(question: Question) -> str:
        literals = [datafusion_literal(value, asked.type_of(question)) for value in question["args"]]
        return f"select body from t where {sql_condition(question, literals)}"

    def answer(question: Question) -> Any:
        found = QueryBuilder().register("t", table).execute(sql(question)).read_all()
        return _bodies(pa.table(found))

    return answer, lambda question: _bodies(session.sql(sql(question)).to_arrow_table())


# Polars: its own reader, and by way of pyarrow.


def polars_native(asked: Asked) -> tuple[Answer, Answer]:
    import polars as pl

    rows = pl.scan_delta(asked.table).collect()
    return _over_polars(asked, lambda: pl.scan_delta(asked.table)), _over_polars(asked, rows.lazy)


def polars_pyarrow(asked: Asked) -> tuple[Answer, Answer]:
    import polars as pl
    import pyarrow.dataset as ds

    rows = ds.dataset(pl.scan_delta(asked.table, use_pyarrow=True).collect().to_arrow())
    return (
        _over_polars(asked, lambda: pl.scan_delta(asked.table, use_pyarrow=True)),
        _over_polars(asked, lambda: pl.scan_pyarrow_dataset(rows)),
    )


def _over_polars(asked: Asked, frame: Callable[[], Any]) -> Answer:
    return lambda question: frame().filter(polars_condition(asked, question)).select("body").collect().rows()


# Conditions, as each takes them.


def sql_condition(question: Question, literals: list[str]) -> str:
    name = question["column"]
    if question["op"] == "in":
        return f"{name} in ({', '.join(literals)})"
    if question["op"] == "range":
        return f"{name} >= {literals[0]} and {name} < {literals[1]}"
    return f"{name} {question['op']} {literals[0]}"


def arrow_condition(asked: Asked, question: Question) -> Any:
    import pyarrow.compute as pc

    kind = asked.type_of(question)
    field, args = pc.field(question["column"]), [pa.scalar(value, kind) for value in question["args"]]
    if question["op"] == "in":
        return field.isin(pa.array(question["args"], kind))
    if question["op"] == "range":
        return (field >= args[0]) & (field < args[1])
    return {"=": field == args[0], ">": field > args[0], "<": field < args[0]}[question["op"]]


def polars_condition(asked: Asked, question: Question) -> Any:
    import polars as pl

    kind = asked.type_of(question)
    column = pl.col(question["column"])
    values = pl.from_arrow(pa.array(question["args"], kind))
    args = [pl.lit(values.slice(at, 1)).first() for at in range(len(values))]
    if question["op"] == "in":
        return column.is_in(values.implode())
    if question["op"] == "range":
        return (column >= args[0]) & (column < args[1])
    return {"=": column == args[0], ">": column > args[0], "<": column < args[0]}[question["op"]]


def datafusion_literal(value: Any, kind: pa.DataType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"arrow_cast(X'{value.hex()}', 'Binary')"
    if isinstance(value, datetime):
        return f"arrow_cast('{_moment(value)}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    if isinstance(value, date):
        return f"cast('{value.isoformat()}' as date)"
    if isinstance(value, Decimal):
        return f"arrow_cast('{value:f}', 'Decimal128({kind.precision}, {kind.scale})')"
    if isinstance(value, float):
        return f"arrow_cast('{value!r}', '{'Float32' if kind == pa.float32() else 'Float64'}')"
    if isinstance(value, int):
        return f"arrow_cast('{value}', '{str(kind).capitalize()}')"
    return "'" + value.replace("'", "''") + "'"


def _moment(value: datetime) -> str:
    return f"{value.year:04}{value.strftime('-%m-%dT%H:%M:%S.%f')}Z"


def _bodies(rows: pa.Table) -> list[tuple[int]]:
    return [(body,) for body in rows.column("body").to_pylist()]


READERS = {
    one.__name__: one
    for one in (
        duckdb_files,
        duckdb_view,
        duckdb_delta,
        duckdb_delta_view,
        duckdb_log_view,
        deltalake_dataset,
        deltalake_pandas,
        deltalake_datafusion,
        polars_native,
        polars_pyarrow,
    )
}


def answers(reader: str, asked: Asked) -> list[dict[str, Any]]:
    """For each question the bodies found, those in memory, or the error."""
    from_table, in_memory = READERS[reader](asked)
    return [_answered(reader, from_table, in_memory, question) for question in asked.questions]


def _answered(reader: str, from_table: Answer, in_memory: Answer, question: Question) -> dict[str, Any]:
    if question["column"] == "g" and "_view" in reader:
        return {"found": [], "in_memory": []}  # views show the columns that people put in
    try:
        found, whole = (sorted(body for (body,) in way(question)) for way in (from_table, in_memory))
    except BaseException as error:  # what a reader's panic is
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    return {"found": found, "in_memory": whole}


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    (folder / f"{sys.argv[3]}.json").write_text(json.dumps(answers(sys.argv[1], Asked(folder))))
