"""Answers as views: of each query that an answers archive is derived by, its columns under their names.

answers.top_talkers   window_start, window_end, the groups and outputs, rows, complete, revision, source_version,
                      slots_late
"""

from __future__ import annotations

from collections.abc import Callable

from tidewheel.local.derived.put import PART
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.local.standing.ask import about_of
from tidewheel.local.standing.stored_queries import stored_queries
from tidewheel.queries.standing.query import TOLD_FIRST, Query
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier, quote_literal
from tidewheel.sql.published.published_views import published_name, published_view, quote_for_spark
from tidewheel.storage.snapshot import Snapshot

SCHEMA = "answers"


def answer_views(answers: Snapshot, source: Sql) -> dict[str, Sql]:
    """A SELECT of each query's answers, by name, from what shows the live rows of the answers archive."""
    return {
        f"{SCHEMA}.{query.name}": _select(answers, query, source, quote_identifier) for query in stored_queries(answers)
    }


def published_answers(answers: Snapshot, dialect: str) -> str:
    """Views for people who read the tables directly: the answers archive, and above it one for each query."""
    quote = quote_for_spark if dialect == "spark" else quote_identifier
    text = published_view(answers, dialect)
    source = quote(published_name(answers))
    statements = [f"CREATE SCHEMA IF NOT EXISTS {SCHEMA};"] + [
        f"CREATE OR REPLACE VIEW {SCHEMA}.{quote(query.name)} AS\n{_select(answers, query, source, quote)};"
        for query in stored_queries(answers)
    ]
    return "\n".join([text, *statements]) + "\n" if len(statements) > 1 else text


def _select(answers: Snapshot, query: Query, source: Sql, quote: Callable[[str], Sql]) -> Sql:
    named = [Sql(f"{quote(stored)} AS {quote(name)}") for name, (stored, _) in answer_columns(query).items()]
    columns = join(", ", [*map(quote, TOLD_FIRST), *named, *map(quote, about_of(answers))])
    return Sql(f"SELECT {columns}\nFROM {source}\nWHERE {quote(PART)} = {quote_literal(query.part)}")
