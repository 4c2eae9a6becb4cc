"""A sample of a stream, one file or a folder of them: its columns, how many records, how long they live. By DuckDB."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb

from tidewheel.indexing.archive_file.sample import Life, Sample, SampleColumn, archive_names, counted_life, spark_name
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.sql.engine.connections import open_connection
from tidewheel.sql.engine.quoting import quote_identifier, quote_list
from tidewheel.sql.sample_moments import Moment, format_option, java_format, moments_in

_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}
_ENDINGS = {"parquet": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json"}
_SPARK_TYPES = {
    "VARCHAR": "string", "BIGINT": "bigint", "INTEGER": "int", "SMALLINT": "smallint", "TINYINT": "tinyint",
    "UTINYINT": "smallint", "USMALLINT": "int", "UINTEGER": "bigint", "FLOAT": "float", "DOUBLE": "double",
    "BOOLEAN": "boolean", "BLOB": "binary", "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP_MS": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIMESTAMPTZ_NS": "timestamp", "UBIGINT": "decimal(20,0)", "UUID": "string", "JSON": "string",
}  # fmt: skip


def read_sample(path: Path, shown: str) -> Sample:
    """Read the sample in two passes; `shown` is its name in the archive file."""
    files, connection = _files(path), open_connection()
    try:
        sample = _sample(connection, files, shown)
    except duckdb.Error as error:
        raise InvalidInput(
            f"the sample {path} cannot be read: {first_line(error)}",
            "give a Parquet file, or CSV or JSON in UTF-8",
        ) from error
    if not sample.rows:
        raise InvalidInput(f"the sample {path} holds no records", "give a file that holds some")
    return sample


def _sample(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], shown: str) -> Sample:
    form = _format(files[0])
    is_of_pandas = form == "csv" and _first_line(files[0]).startswith((",", ";", "\t"))
    source = f"{_READERS[form]}({quote_list(map(str, files))}{', header = true' if is_of_pandas else ''})"
    types = connection.execute(f"SELECT * FROM {source} LIMIT 0").description or []
    names = archive_names(str(name) for name, *_ in types)
    columns = [(names[str(name)], _spark_type(kind)) for name, kind, *_ in types]
    source = _renamed(source, types, names)
    moments = moments_in(connection, source, columns)
    options = _options(connection, files, form, is_of_pandas=is_of_pandas)
    if form != "parquet" and (told := format_option(columns, moments)):
        options["timestampFormat"] = told
        columns, moments = _read_as_moments(columns, moments)
    rows, found = _looked_at(connection, source, columns, moments)
    lives = tuple(_lives(connection, source, found, moments))
    renames = {old: new for old, new in names.items() if old != new}
    return Sample(shown, form, rows, sum(map(os.path.getsize, files)), found, lives, renames, options)


def _read_as_moments(
    columns: Sequence[tuple[str, str]], moments: Mapping[str, Moment]
) -> tuple[list[tuple[str, str]], dict[str, Moment]]:
    """Return the columns and moments for a Spark that was told the format of texts, and so reads moments."""
    formatted = {name for name, one in moments.items() if one.format}
    told = {name: replace(one, spark=name) if name in formatted else one for name, one in moments.items()}
    return [(name, "timestamp" if name in formatted else kind) for name, kind in columns], told


def _renamed(source: str, types: Sequence[Any], names: Mapping[str, str]) -> str:
    taken = [(_taken(str(name), kind), quote_identifier(names[str(name)])) for name, kind, *_ in types]
    renamed = ", ".join(f"{column} AS {called}" for column, called in taken)
    return f"(SELECT {renamed} FROM {source})"


def _options(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], form: str, *, is_of_pandas: bool
) -> dict[str, str]:
    """Return the options that Spark needs to read these files."""
    options = _csv_options(connection, files) if form == "csv" else {}
    # DuckDB may take a header whose first cell is empty, as pandas writes it, for a record.
    options |= {"header": "true"} if is_of_pandas else {}
    return options | ({"multiLine": "true"} if form == "json" and _spans_lines(files[0]) else {})


def _looked_at(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[tuple[str, str]],
    moments: Mapping[str, Moment],
) -> tuple[int, tuple[SampleColumn, ...]]:
    """Count the records, and look at every column, in one pass."""
    rows, *figures = connection.execute(f"SELECT {_figures(columns, moments)} FROM {source}").fetchone() or (0,)
    return rows, tuple(
        replace(SampleColumn(name, kind, *figures[at * 4 : at * 4 + 4]), moment=_spark_moment(moments, name))
        for at, (name, kind) in enumerate(columns)
    )


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith((".", "_")))
        if files:
            return files
        raise InvalidInput(f"the folder {path} holds no files", "give a file, or a folder that holds a batch")
    if path.is_file():
        return [path]
    raise InvalidInput(f"there is no file {path}", "give the path of a Parquet, CSV or JSON file")


def _format(path: Path) -> str:
    for ending in reversed(path.name.lower().split(".")[1:]):
        if ending in _ENDINGS:
            return _ENDINGS[ending]
    raise InvalidInput(
        f"the name of {path} does not say what it is", f"give a file whose name ends in {', '.join(_ENDINGS)}"
    )


def _taken(name: str, kind: Any) -> str:
    """A column as it is looked at: of moments with a zone and nanoseconds, as pandas writes them, the microseconds."""
    column = quote_identifier(name)
    return f"CAST({column} AS TIMESTAMPTZ)" if str(kind) == "TIMESTAMPTZ_NS" else column


def _spark_type(kind: Any) -> str:
    """Return Spark's name for a type of DuckDB's, whose parts it has as `children`; "" if Spark has none."""
    if kind.id == "list":
        inner = _spark_type(kind.children[0][1])
        return f"array<{inner}>" if inner else ""
    if kind.id == "struct":
        inner_types = {name: _spark_type(child) for name, child in kind.children}
        told = ", ".join(f"{spark_name(name)}: {inner}" for name, inner in inner_types.items())
        return f"struct<{told}>" if all(inner_types.values()) else ""
    return str(kind).lower() if kind.id == "decimal" else _SPARK_TYPES.get(str(kind), "")


def _spark_moment(moments: Mapping[str, Moment], name: str) -> str:
    return moments[name].spark if name in moments else ""


def _csv_options(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> dict[str, str]:
    """How the first file is written, as Spark has to be told."""
    sniffed = "SELECT Delimiter, HasHeader, DateFormat, TimestampFormat FROM sniff_csv($file)"
    row = connection.execute(sniffed, {"file": str(files[0])}).fetchone() or (",", True, "", "")
    delimiter, has_header, *formats = row
    told = {name: java_format(form) for name, form in zip(("dateFormat", "timestampFormat"), formats, strict=True)
            if form and not form.startswith("%Y-%m-%d")}  # fmt: skip
    return {"header": str(has_header).lower(), **({"sep": delimiter} if delimiter != "," else {}), **told}


def _spans_lines(path: Path) -> bool:
    """Tell whether a JSON record spans several lines, which Spark has to be told."""
    try:
        json.loads(_first_line(path))
    except ValueError:
        return True
    return False


def _first_line(path: Path) -> str:
    """The first line that holds something; of what this process cannot unpack, none."""
    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as lines:
        return next((line for line in lines if line.strip()), b"").decode(errors="replace")


def _figures(columns: Sequence[tuple[str, str]], moments: Mapping[str, Moment]) -> str:
    """Return SQL for each column: the number of NULLs and of distinct values, and the first and last of moments."""
    wanted = ["count(*)"]
    for name, kind in columns:
        column = quote_identifier(name)
        bounds = [f"epoch_us({each}({moments[name].here}))" if name in moments else "NULL" for each in ("min", "max")]
        # What nests has no approximate count.
        distinct = f"approx_count_distinct({column})" if kind and "<" not in kind else "0"
        wanted += [f"count(*) - count({column})", distinct, *bounds]
    return ", ".join(wanted)


def _lives(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[SampleColumn],
    moments: Mapping[str, Moment],
) -> list[Life]:
    """How long records live by each pair of moments, and by numbers that say how long they are kept."""
    spans = {
        (begins, moments[ends].spark): f"epoch_us({moments[ends].here}) - epoch_us({moments[begins].here})"
        for begins, ends in permutations(moments, 2)
    }
    for column in columns:
        if counted := counted_life(column):
            added, each_us = counted
            for begins in moments:
                ends = f"{moments[begins].spark} + {added}"
                spans[begins, ends] = f"{quote_identifier(column.name)}::DOUBLE * {each_us}"
    if not spans:
        return []
    figures = [
        f"count(*) FILTER ({span} > 0) / count(*), avg({span}) FILTER ({span} > 0), max({span})"
        for span in spans.values()
    ]
    told = iter(connection.execute(f"SELECT {', '.join(figures)} FROM {source}").fetchone() or ())
    return [Life(*names, next(told), int(next(told) or 0), int(next(told) or 0)) for names in spans]
