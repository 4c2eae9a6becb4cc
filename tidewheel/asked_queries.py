"""An archive's standing queries as they are asked: their answers, what these mean, and where they are stored."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from tidewheel.moments import Moment, moment_us
from tidewheel.queries.standing.query import Query
from tidewheel.read_queries import ReadQueries

if TYPE_CHECKING:
    import pyarrow as pa


class AskedQueries(ReadQueries):
    """The answers of one archive's standing queries."""

    def ask(
        self,
        name: str,
        *,
        at: Moment | None = None,
        last: int | None = 1,
        where: str | None = None,
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> pa.Table:
        """Answers of a query as they are kept: of the last reports, of one moment, or of all reports of [start, end).

        A query is what it was when it was answered last, whatever its file says now (`notice` tells). Of a query that
        counts the living, a moment to come is answered by what is stored now.
        """
        from tidewheel.local.standing.ask import ask

        with self._damage_named():
            between = (_optional_us(start), _optional_us(end))
            return ask(self._archive.job, self.answered(name), _optional_us(at), last, where, between)

    def answered(self, name: str) -> Query:
        """A query as it was when it was answered last; one that never was, as its file says it."""
        from tidewheel.local.standing.stored_queries import answered_query

        return answered_query(self._archive.job, name) or self.query(name)

    def notice(self, name: str) -> str:
        """Tell a reader of a query's answers that query files are wrong, or were changed since.

        Cost: reading the files; where they were touched since the last refresh, understanding them.
        """
        from tidewheel.local.standing.stored_queries import answered_query

        if self._archive.file is None or self.are_untouched():
            return ""
        found, called = self.understood(), shlex.quote(self._archive.called)
        if self.wrong:
            return f"some query files have faults: tidewheel query check {called}"
        if answered_query(self._archive.job, name) in found.queries:
            return ""
        return (
            f"the query files say something else of {name} than when it was answered last, and these are the answers "
            f"to what they said then: tidewheel refresh {called}"
        )

    def as_sql(self, name: str) -> str:
        """Return the query as plain SQL for its newest report."""
        from tidewheel.local.standing.explain import newest_report_us
        from tidewheel.local.standing.plain_sql import as_sql

        query = self.query(name)
        return as_sql(query, self._archive.axis, newest_report_us(self._archive.job, query))

    def stored_columns(self, name: str) -> dict[str, str]:
        """Return the columns of the answers' table that hold a query's groups and outputs, by their names."""
        from tidewheel.local.partials.stored_columns import answer_columns

        return {column: stored for column, (stored, _) in answer_columns(self.query(name)).items()}

    def _damage_named(self) -> AbstractContextManager[None]:
        """Around what reads partials and answers: one that cannot be read is named, with what derives it again."""
        from tidewheel.local.derived.damage import damage_named

        return damage_named(self._archive.job)


def _optional_us(moment: Moment | None) -> int | None:
    return None if moment is None else moment_us(moment)
