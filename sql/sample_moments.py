"""Moments in a sample: timestamps, and moments written as text, dates or numbers; how Spark reads each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tidewheel.indexing.archive_file.sample import says_time
from tidewheel.sql.engine.quoting import quote_identifier, quote_literal

# Of people and exports; what Spark reads by itself (2026-11-18T04:00:00Z and its kin) is recognised before.
_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d-%b-%Y", "%d %b %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H%M%S", "T%H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
_FORMATS = tuple(f"{date}{time}" for time in _TIMES for date in _DATES)
_JAVA = {
    "%Y": "yyyy", "%m": "MM", "%d": "dd", "%b": "MMM", "%H": "HH", "%I": "hh", "%M": "mm", "%S": "ss", "%f": "SSSSSS",
    "%p": "a",
}  # fmt: skip
# From the year 2001 to 2103, by the name of Spark's function: the number of one second.
_EPOCHS = {"timestamp_seconds": 1, "timestamp_millis": 1_000, "timestamp_micros": 1_000_000}
_EPOCH_S = (10**9, 42 * 10**8)
_WHOLE = ("bigint", "int", "decimal(20,0)")


@dataclass(frozen=True)
class Moment:
    """How a column is read as a moment: by DuckDB, and by Spark."""

    here: str
    spark: str
    format: str = ""  # of text, as Java writes formats


def java_format(strptime: str) -> str:
    """The format as Spark wants it.

    >>> java_format("%d.%m.%YT%H:%M")
    "dd.MM.yyyy'T'HH:mm"
    """
    return re.sub(r"%[A-Za-z]|[A-Za-z]", lambda sign: _JAVA.get(sign[0], f"'{sign[0]}'"), strptime)


def moments_in(
    connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[tuple[str, str]]
) -> dict[str, Moment]:
    """The columns that hold moments. Cost: one pass over text and numbers; dates count where there is nothing else."""
    plain = {name: Moment(quote_identifier(name), name) for name, kind in columns if kind == "timestamp"}
    found = plain | _texts(connection, source, columns) | _epochs(connection, source, columns)
    if found:
        return found
    return {
        name: Moment(f"CAST({quote_identifier(name)} AS TIMESTAMP)", f"cast({name} as timestamp)")
        for name, kind in columns
        if kind == "date"
    }


def format_option(columns: Sequence[tuple[str, str]], moments: Mapping[str, Moment]) -> str:
    """The one format of all moments, which Spark can be told as an option; "" where they differ."""
    formats = {moment.format for moment in moments.values() if moment.format}
    is_alone = len(formats) == 1 and not any(kind == "timestamp" for _, kind in columns)
    return formats.pop() if is_alone else ""


def _texts(connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[tuple[str, str]]) -> dict[str, Moment]:
    texts = [name for name, kind in columns if kind == "string"]
    readings = [(name, form, _read(name, form)) for name in texts for form in _FORMATS]
    if not readings:
        return {}
    counts = ", ".join(f"count({quote_identifier(name)}) - count({read})" for name, _, read in readings)
    filled = ", ".join(f"count({quote_identifier(name)})" for name in texts)
    row = connection.execute(f"SELECT {filled}, {counts} FROM {source}").fetchone() or ()
    there, failed = dict(zip(texts, row, strict=False)), row[len(texts) :]
    found: dict[str, Moment] = {}
    for (name, form, read), failures in zip(readings, failed, strict=True):
        if there[name] and not failures and name not in found:
            java = java_format(form)
            found[name] = Moment(read, f"to_timestamp({name}, {quote_literal(java)})", java)
    return found


def _read(name: str, form: str) -> str:
    return f"try_strptime({quote_identifier(name)}, {quote_literal(form)})"


def _epochs(
    connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[tuple[str, str]]
) -> dict[str, Moment]:
    numbers = [name for name, kind in columns if kind in _WHOLE and says_time(name)]
    if not numbers:
        return {}
    bounds = ", ".join(f"min({column}), max({column})" for column in map(quote_identifier, numbers))
    row = connection.execute(f"SELECT {bounds} FROM {source}").fetchone() or ()
    found = {}
    for at, name in enumerate(numbers):
        least, most = row[2 * at : 2 * at + 2]
        for function, each in _EPOCHS.items():
            if least is not None and _EPOCH_S[0] * each <= least and most <= _EPOCH_S[1] * each:
                here = f"make_timestamp(CAST({quote_identifier(name)} AS BIGINT) * {1_000_000 // each})"
                found[name] = Moment(here, f"{function}({name})")
    return found
