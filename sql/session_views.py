"""The views and macros that other people's SQL finds in a session."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from tidewheel.sql.engine.quoting import Sql, join, quote_identifier
from tidewheel.sql.engine.templates import render
from tidewheel.sql.keys.key_conditions import KeyColumn

ALONE = "live"  # the one archive of a session, whatever its name


def create_view(connection: duckdb.DuckDBPyConnection, name: str, select: Sql) -> None:
    """A view under a name, or under schema.name."""
    schema, _, plain = name.rpartition(".")
    if schema:
        quoted = quote_identifier(schema)
        connection.execute(render("session_schema_view", schema=quoted, view=quote_identifier(plain), select=select))
    else:
        connection.execute(render("session_view", view=quote_identifier(plain), select=select))


def create_probe_macros(connection: duckdb.DuckDBPyConnection, key: Sequence[KeyColumn]) -> None:
    """probe(k1, …) and probe_range(low, high) over the view `live`."""
    forms = []
    for length in range(1, len(key) + 1):
        names = [Sql(f"probe_key_{i}") for i in range(1, length + 1)]
        terms = (Sql(f"{c.name} = {n}") for c, n in zip(key, names, strict=False))
        forms.append(render("probe_macro_form", arguments=join(", ", names), condition=join(" AND ", terms)))
    connection.execute(render("probe_macro", forms=join(", ", forms)))
    connection.execute(render("probe_range_macro", column=key[0].name))
