"""Views for people who read the table without tidewheel: the same rule, as a statement of their own engine.

    duckdb        the files of one version, listed: needs nothing but DuckDB
    duckdb_log    the table, through its own log: needs nothing but DuckDB either, and follows new versions
    duckdb_delta  the table, through DuckDB's delta extension
    spark         the table, through Delta

The last two follow new versions of a live archive as well. By them a historic archive is read as of the end of its
data, which moves with each version, so these views stay at the version they were made for. A view of one version
works until the grace period has passed since its files were replaced.
"""

from __future__ import annotations

from collections.abc import Callable

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.as_of import watermark_end_us
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier, quote_literal
from tidewheel.sql.engine.templates import render
from tidewheel.sql.published.log_view import log_view
from tidewheel.sql.relations import LIVE_EXTRA, LocalFiles, Shape
from tidewheel.storage.snapshot import Snapshot


def published_view(snapshot: Snapshot, dialect: str) -> str:
    """The text of a view over the archive at its own name."""
    if dialect not in DIALECTS:
        raise InvalidInput(f"unknown dialect {dialect}", f"known are {', '.join(sorted(DIALECTS))}")
    heading, statement = DIALECTS[dialect](snapshot)
    comment = f"archive {snapshot.definition.name}, version {snapshot.version}: {heading}"
    return f"-- {' '.join(comment.split())}\n{statement}\n"


def published_name(snapshot: Snapshot) -> str:
    """Return the view's name: the archive's, without a derived archive's dot, which engines take for a schema's."""
    return snapshot.definition.name.replace(".", "_")


def _duckdb(snapshot: Snapshot) -> tuple[str, Sql]:
    """The listed files, with the columns that some of them lack."""
    _refuse_store(snapshot)
    shape, files = Shape.of(snapshot), snapshot.files
    local = LocalFiles(snapshot.location)
    source = shape.stored(local.listed(files) if files else None)
    return "the files of this version; publish it anew after updates", _rendered(
        snapshot, Sql(f"({source})"), _duckdb_as_of(snapshot), quote_identifier
    )


def _refuse_store(snapshot: Snapshot) -> None:
    if not snapshot.location.is_local:
        raise InvalidInput(
            "DuckDB reads object stores through an extension only", "publish the view for duckdb_delta or spark"
        )


def _duckdb_log(snapshot: Snapshot) -> tuple[str, Sql]:
    _refuse_store(snapshot)
    heading = "follows new versions; publish it anew for a new column"
    return heading, log_view(snapshot, quote_identifier(published_name(snapshot)))


def _duckdb_delta(snapshot: Snapshot) -> tuple[str, Sql]:
    path = quote_literal(snapshot.location.delta_uri)
    if snapshot.definition.clock is Clock.DATA:
        heading = "needs DuckDB's delta extension; this version only, publish it anew after updates"
        source = Sql(f"delta_scan({path}, version := {quote_literal(snapshot.version)})")
    else:
        heading = "needs DuckDB's delta extension; follows new versions"
        source = Sql(f"delta_scan({path})")
    return heading, _rendered(snapshot, source, _duckdb_as_of(snapshot), quote_identifier)


def _spark(snapshot: Snapshot) -> tuple[str, Sql]:
    source = Sql(f"delta.{quote_for_spark(snapshot.location.uri)}")
    end_us = _end_us(snapshot)
    end = None if end_us is None else Sql(f"TIMESTAMP '{iso(end_us)}'")
    if snapshot.definition.clock is Clock.DATA:
        pinned = Sql(f"{source} VERSION AS OF {quote_literal(snapshot.version)}")
        heading = "this version only; publish it anew after updates"
        return heading, _rendered(snapshot, pinned, end or Sql("current_timestamp()"), quote_for_spark)
    as_of = Sql("current_timestamp()") if end is None else Sql(f"greatest(current_timestamp(), {end})")
    return "follows new versions", _rendered(snapshot, source, as_of, quote_for_spark)


DIALECTS: dict[str, Callable[[Snapshot], tuple[str, Sql]]] = {
    "duckdb": _duckdb,
    "duckdb_log": _duckdb_log,
    "duckdb_delta": _duckdb_delta,
    "spark": _spark,
}


def quote_for_spark(name: str) -> Sql:
    """A name as Spark quotes it.

    >>> quote_for_spark("a`b")
    '`a``b`'
    """
    return Sql("`" + name.replace("`", "``") + "`")


def _rendered(snapshot: Snapshot, source: Sql, as_of: Sql, quote: Callable[[str], Sql]) -> Sql:
    names = (*Shape.of(snapshot).own, *LIVE_EXTRA)
    return render(
        "published_view",
        view=quote(published_name(snapshot)),
        columns=join(", ", map(quote, names)),
        source=source,
        as_of=as_of,
    )


def _duckdb_as_of(snapshot: Snapshot) -> Sql:
    end_us = _end_us(snapshot)
    if end_us is None:
        return Sql("now()")
    end = Sql(f"make_timestamptz({quote_literal(end_us)})")
    return end if snapshot.definition.clock is Clock.DATA else Sql(f"greatest(now(), {end})")


def _end_us(snapshot: Snapshot) -> int | None:
    return watermark_end_us(snapshot.definition.axis, snapshot.watermark)
