"""Statements of derived archives as SQL, and the records that they read as tables of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from tidewheel.queries.derivations.forms import (
    AsOf,
    Distinct,
    ExceptAll,
    Exists,
    Form,
    Join,
    LeftJoin,
    Map,
    NotExists,
    Ranked,
    Source,
    UnionAll,
    Where,
    forms_of,
)
from tidewheel.queries.derivations.records import Record, Tombstone, Version
from tidewheel.queries.derivations.windows import Newest, Within
from tidewheel.sql.derivations.sources import Relation
from tidewheel.sql.engine.quoting import Sql, quote_identifier

AHEAD = 10  # of every source here


def moment(units: int) -> str:
    """A unit of the model is a minute."""
    return f"(TIMESTAMP '2026-01-01' + INTERVAL '{units} minutes')"


def with_ahead(form: Form) -> Form:
    """Return a statement whose windows take as much ahead as its archives."""
    made: dict[str, Any] = {}
    for name, value in vars(form).items():
        if isinstance(value, Form):
            made[name] = with_ahead(value)
        elif isinstance(value, Within):
            made[name] = replace(value, ahead=AHEAD, internal=False)
        else:
            made[name] = value
    return type(form)(**made)


def can_be_said(form: Form) -> bool:
    """Tell whether a statement has SQL here: the left of an as-of join must show the time of a source."""
    return all(_is_plain(one.left) and _is_plain(one.right) for one in forms_of(form) if isinstance(one, AsOf))


def _is_plain(form: Form) -> bool:
    return isinstance(form, Source) or (isinstance(form, Where) and _is_plain(form.input))


def width(form: Form) -> int:
    """Count the columns of a statement."""
    if isinstance(form, Source):
        return 2
    if isinstance(form, Map):
        return len(form.columns)
    if isinstance(form, Ranked):
        return width(form.input) + form.shows_number
    if isinstance(form, Join | AsOf | LeftJoin):
        return width(form.left) + width(form.right)
    return width(form.inputs[0])


def sql_of(form: Form) -> str:
    """Return a statement as a user writes it, with columns c0, c1, ..."""
    if isinstance(form, Source):
        return f"select x.c0, x.c1 from {_leaf(form)} as x"
    if isinstance(form, Where):
        return f"select * from ({sql_of(form.input)}) as x where {_condition(form)}"
    if isinstance(form, Map):
        columns = ", ".join(f"x.c{column} as c{place}" for place, column in enumerate(form.columns))
        return f"select {columns} from ({sql_of(form.input)}) as x"
    if isinstance(form, UnionAll):
        return f"({sql_of(form.left)}) union all ({sql_of(form.right)})"
    if isinstance(form, ExceptAll):
        return f"({sql_of(form.left)}) except all ({sql_of(form.right)})"
    if isinstance(form, Distinct):
        return f"select distinct {_columns('x', width(form.input))} from ({sql_of(form.input)}) as x"
    if isinstance(form, Exists | NotExists):
        word = "exists" if isinstance(form, Exists) else "not exists"
        inner = f"select 1 from ({sql_of(form.right)}) as r where r.c0 = l.c0"
        return f"select * from ({sql_of(form.left)}) as l where {word} ({inner})"
    if isinstance(form, Ranked):
        return _ranked(form)
    return _joined(form)


def _leaf(form: Source) -> str:
    window = form.window
    if isinstance(window, Within):
        return f"within({form.name}, interval {window.length} minute)"
    if isinstance(window, Newest):
        return f"newest({form.name}, {window.rows}" + (", per => c0)" if window.per else ")")
    return form.name


def _condition(form: Where) -> str:
    return f"c{form.condition.column} {form.condition.word} {form.condition.value}"


def _columns(alias: str, many: int, first: int = 0) -> str:
    return ", ".join(f"{alias}.c{column} as c{column + first}" for column in range(many))


def _ranked(form: Ranked) -> str:
    order = f"row_number() over (partition by x.c{form.per[0]} order by x.c{form.by} desc)"
    many = width(form.input)
    number = f", {order} as c{many}" if form.shows_number else ""
    return f"select {_columns('x', many)}{number} from ({sql_of(form.input)}) as x qualify {order} <= {form.most}"


def _joined(form: Form) -> str:
    assert isinstance(form, Join | AsOf | LeftJoin)
    many = width(form.left)
    columns = f"{_columns('l', many)}, {_columns('r', width(form.right), many)}"
    if isinstance(form, AsOf):
        left, right = _timed(form.left), _timed(form.right)
        return f"select {columns} from ({left}) as l asof join ({right}) as r on l.c0 = r.c0 and r.t < l.t"
    word = "left join" if isinstance(form, LeftJoin) else "join"
    return f"select {columns} from ({sql_of(form.left)}) as l {word} ({sql_of(form.right)}) as r on l.c0 = r.c0"


def _timed(form: Form) -> str:
    """Return a source's rows with their time."""
    if isinstance(form, Where):
        return f"select * from ({_timed(form.input)}) as x where {_condition(form)}"
    assert isinstance(form, Source)
    return f"select x.c0, x.c1, x.t from {_leaf(form)} as x"


def relations(
    connection: duckdb.DuckDBPyConnection, versions: Mapping[str, Version], stones: Mapping[str, Sequence[Tombstone]]
) -> dict[str, Relation]:
    """Fill a table for each source with the records of its version that no tombstone covers."""
    found = {}
    for name, version in versions.items():
        table = quote_identifier(f"records of {name}")
        connection.execute(
            f"CREATE OR REPLACE TABLE {table} (c0 BIGINT, c1 BIGINT, t TIMESTAMP, _until TIMESTAMP, _place BIGINT,"
            " _time TIMESTAMP, _end TIMESTAMP, _hash BIGINT)"
        )
        records = version.alive(-(10**6), stones.get(name, ()))
        rows = [_values(version, slot, record) for slot, record in records]
        if rows:
            connection.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")
        ahead = Sql(f"INTERVAL {AHEAD} MINUTE")
        found[name] = Relation(name, Sql(f"SELECT * FROM {table}"), ("c0", "c1", "t"), ahead)
    return found


def _values(version: Version, slot: int, record: Record) -> str:
    time = "NULL" if record.time is None else moment(record.time)
    c0, c1 = record.values
    end, place = moment(version.axis.end(slot)), version.axis.place(slot)
    return f"({c0}, {c1}, {time}, {moment(record.until)}, {place}, {time}, {end}, {record.row_hash})"
