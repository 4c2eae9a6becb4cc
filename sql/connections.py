"""DuckDB connections as this room uses them: in memory, UTC, nothing loaded from anywhere, footers cached."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from tidewheel.sql.quoting import quote_list
from tidewheel.sql.templates import render


def open_connection() -> duckdb.DuckDBPyConnection:
    """A connection for this room's own statements."""
    connection = duckdb.connect(":memory:")
    connection.execute(render("settings"))
    return connection


def open_sandbox(paths: Iterable[str]) -> duckdb.DuckDBPyConnection:
    """A connection for other people's SQL: it can open these files, no others, and cannot be talked out of it."""
    connection = open_connection()
    connection.execute(render("sandbox", paths=quote_list(paths)))
    return connection
