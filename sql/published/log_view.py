"""A view that follows new versions by plain DuckDB, without an extension: SQL over the table's own log.

It needs a checkpoint to begin with, and a file to learn the columns from. What is missing then, an entry of the log or
a data file, makes the query fail rather than give other rows; so does a vacuum that deletes a file between DuckDB's
look at the folder and its look at the file.
"""

from __future__ import annotations

import re

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier, quote_literal
from tidewheel.sql.engine.templates import render
from tidewheel.sql.relations import LIVE_EXTRA, Shape
from tidewheel.storage.location import LOG_FOLDER, Location
from tidewheel.storage.log_files import list_log
from tidewheel.storage.snapshot import WATERMARK_ID, WATERMARK_OFFSET, Snapshot

_VERSION = "[0-9]" * 20
_PATTERN_SIGNS = re.compile(r"([*?\[])")
# The column of file names that DuckDB adds: with a blank, as no column of an archive file has one.
_FILE = "file read"


def log_view(snapshot: Snapshot, view: Sql) -> Sql:
    """The statement that makes the view; refused as long as there is nothing to begin with."""
    location, name = snapshot.location, snapshot.definition.name
    if not snapshot.files:
        raise InvalidInput(
            f"the archive {name} has no records yet, and this view learns its columns from a file", "bring a batch in"
        )
    if not list_log(location).checkpoints:
        raise InvalidInput(
            f"the log of the archive {name} has no checkpoint yet, with which this view begins; vacuum writes one",
            location.command("vacuum"),
        )
    shape, axis = Shape.of(snapshot), snapshot.definition.axis
    files = _pattern(location, "run-*/layout=[0-9]*/g=*/e=*/*.parquet")
    return render(
        "log_view",
        view=view,
        columns=join(", ", map(quote_identifier, (*shape.own, *LIVE_EXTRA))),
        checkpoints=_pattern(location, f"{LOG_FOLDER}/{_VERSION}.checkpoint.parquet"),
        entries=_pattern(location, f"{LOG_FOLDER}/{_VERSION}.json"),
        watermark_id=quote_literal(WATERMARK_ID),
        broken=quote_literal(f"an entry of the log is missing: {location.command('audit')}"),
        root=quote_literal(location.child("")),
        missing=quote_literal("a file that the log names is missing: "),
        as_of=_AS_OF[snapshot.definition.clock],
        epoch_us=quote_literal(axis.epoch_us),
        interval_us=quote_literal(axis.interval_us),
        offset=quote_literal(WATERMARK_OFFSET - 1),  # the end of the slot
        files=files,
        stored=shape.stored(_read(files)),
    )


def _read(files: Sql) -> Sql:
    """Return a subquery for the live rows of the files that the log names, among all files that lie there."""
    name = quote_identifier(_FILE)
    options = f"hive_partitioning = false, union_by_name = true, filename = {quote_literal(_FILE)}"
    condition = f"there.{name} = alive.file AND there.valid_until > alive.as_of"
    return Sql(f"(SELECT there.* FROM alive JOIN read_parquet({files}, {options}) AS there ON {condition})")


def _pattern(location: Location, below: str) -> Sql:
    """A pattern of DuckDB's below a root in which nothing is one."""
    return quote_literal(_PATTERN_SIGNS.sub(r"[\1]", location.child("")) + below)


_AS_OF = {
    Clock.WALL: Sql("greatest(now(), ended)"),
    Clock.DATA: Sql("coalesce(ended, now())"),
}
