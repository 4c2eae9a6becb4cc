"""DuckDB connections as this room uses them: in memory, UTC, nothing loaded from anywhere, footers cached."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from weakref import WeakSet

import duckdb

from tidewheel.sql.engine.quoting import quote_list, quote_literal
from tidewheel.sql.engine.templates import render

# On which other people's statements run.
ANSWERING: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()


def interrupt_all() -> None:
    """End whatever is being answered; for who hears Ctrl-C in another thread."""
    for connection in list(ANSWERING):
        with suppress(duckdb.Error):  # one that is closed answers nothing
            connection.interrupt()


def open_connection() -> duckdb.DuckDBPyConnection:
    """A connection for this room's own statements."""
    connection = duckdb.connect(":memory:")
    connection.execute(render("settings", spill_folder=quote_literal(_spill_folder())))
    return connection


def open_sandbox(paths: Iterable[str]) -> duckdb.DuckDBPyConnection:
    """A connection for other people's SQL: it can open these files, no others, and cannot be talked out of it.

    DuckDB would let it overwrite these files as well; `sql.guard` lets no statement pass that writes.
    """
    connection = open_connection()
    connection.execute(render("sandbox", paths=quote_list(paths)))
    return connection


@cache
def _spill_folder() -> str:
    """Create the folder that large sorts and joins overflow to: for this user only, deleted with this process."""
    folder = tempfile.mkdtemp(prefix="tidewheel-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
