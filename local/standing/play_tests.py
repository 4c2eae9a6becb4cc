"""`[[query.test]]`: rows in, answers out, played on partials and folds as a refresh does, without an archive.

[[query.test]]
rows = [{at = 2026-11-18T10:01:00Z, src = "a", bytes = 5}]       # columns that are left out are NULL
report = 2026-11-18T10:05:00Z
answers = [{src = "a", bytes = 5}]                               # of the columns that are named
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.slots import iso, micros
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import PartialBuilder
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import assigned, window_of

_KEYS = {"rows", "report", "answers"}


def play_test(query: Query, given: Mapping[str, Any], columns: Mapping[str, str], definition: Definition) -> None:
    """One test of a query; `InvalidInput` tells how the answers differ."""
    rows, report_us, wanted = _checked(query, given, columns)
    found = _answers(query, rows, report_us, columns, definition)
    names = list(dict.fromkeys(name for row in wanted for name in row))
    pairs = [(_plain(row, names) for row in some) for some in (found, wanted)]
    got, true = (sorted(map(repr, some)) for some in pairs)
    if got != true:
        raise InvalidInput(
            f"a test of query {query.name} failed at {iso(report_us)}: answers are {', '.join(got) or 'none'}; "
            f"the test says {', '.join(true) or 'none'}",
            "mend the query or its test",
        )


def _checked(
    query: Query, given: Mapping[str, Any], columns: Mapping[str, str]
) -> tuple[list[Mapping[str, Any]], int, list[Mapping[str, Any]]]:
    if unknown := sorted(given.keys() - _KEYS):
        raise InvalidInput(f"a test of query {query.name} has {unknown[0]}", "it has rows, report and answers")
    report_us = _moment_us(query, "report", given.get("report"))
    if not window_of(query).reports_at(report_us):
        raise InvalidInput(f"query {query.name} has no report at {iso(report_us)}", "name a multiple of its slide")
    rows, answers = (_listed(query, given, key) for key in ("rows", "answers"))
    known = {*columns, "valid_until"}
    if strange := sorted({name for row in rows for name in row} - known):
        raise InvalidInput(f"a test of query {query.name} has the column {strange[0]}", f"known are {', '.join(known)}")
    for row in rows:
        for name in {query.terms.time, "valid_until"} & row.keys():
            _moment_us(query, name, row[name])
    return rows, report_us, answers


def _moment_us(query: Query, name: str, value: Any) -> int:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return micros(value)
    said = f"names no {name}" if value is None else f"has {name} = {value!r}, which is no moment with a zone"
    raise InvalidInput(f"a test of query {query.name} {said}", f"write {name} = 2026-11-18T10:05:00Z, without quotes")


def _listed(query: Query, given: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    listed = given.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InvalidInput(
            f"a test of query {query.name} has {key} = {listed!r}, which is no list of rows",
            f'write {key} = [{{ column = "value" }}, ...]',
        )
    return listed


def _answers(
    query: Query,
    rows: Sequence[Mapping[str, Any]],
    report_us: int,
    columns: Mapping[str, str],
    definition: Definition,
) -> list[dict[str, Any]]:
    axis = definition.axis
    tree = assigned([query], definition.max_lifetime_us).tree(query.name)
    by_slot: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        time = row.get(query.terms.time) if query.terms.time else None
        by_slot.setdefault(axis.slot_of(report_us - 1 if time is None else micros(time)), []).append(row)
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        tables = []
        for slot, some in by_slot.items() or ((axis.slot_of(report_us - 1), ()),):
            given = _table(query, some, columns, definition)
            given = given.append_column("ins_slot", pa.repeat(pa.scalar(slot, pa.int64()), given.num_rows))
            tables.append(PartialBuilder(tree, axis, connection).build(given, -(1 << 62)))
        connection.register("partials", pa.concat_tables(tables))
        folded = Folder(query, tree, axis, connection, "partials").fold([DueReport(report_us, 1.0)])
    return list(folded.to_pylist())


def _table(
    query: Query, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], definition: Definition
) -> pa.Table:
    """The rows of a test as an archive has them; what names no expiry lives long."""
    types = dict(zip(columns, arrow_types_of(list(columns.values())), strict=True))
    table = {name: _column(query, name, [row.get(name) for row in rows], kind) for name, kind in types.items()}
    untils = [row.get("valid_until") for row in rows]
    table["exp_slot"] = pa.array(
        [1 << 40 if until is None else definition.axis.expiration_slot_of(micros(until)) for until in untils],
        pa.int64(),
    )
    return pa.table(table)


def _column(query: Query, name: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"a test of query {query.name} has values of {name} that are not {kind}: {first_line(error)}",
            "write values of the column's type",
        ) from error


def _plain(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A row's values so that 5, 5.0 and Decimal(5) are one."""
    values = {name: row.get(name) for name in names}
    return {
        name: float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
        for name, value in values.items()
    }
