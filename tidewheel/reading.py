"""An archive as it is read: by DuckDB; Spark is started by nobody but who asks for its DataFrame.

Every answer is exact as of one moment, the present one unless `as_of` names another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidewheel.derived import names_answers
from tidewheel.handle import Handle
from tidewheel.indexing.extras import needed
from tidewheel.moments import Moment, moment_us

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

    from tidewheel.sql.explanations import Explanation
    from tidewheel.sql.questions import Question
    from tidewheel.sql.results.result import Result


class Reading(Handle):
    """Probe, scan, SQL."""

    def probe(self, *key: Any, as_of: Moment | None = None, columns: Sequence[str] | None = None) -> Result:
        """The live records of one key, one value for each key column or for the first ones.

        `archive.probe("10.0.0.7").dicts()`. Cost: of each run, the one file that may hold the key.
        """
        return self.reader.probe(key, as_of_us=_optional_us(as_of), columns=columns)

    def probe_range(
        self, low: Any = None, high: Any = None, *, as_of: Moment | None = None, columns: Sequence[str] | None = None
    ) -> Result:
        """The live records with a key in [low, high); None is no bound."""
        return self.reader.probe_range(low, high, as_of_us=_optional_us(as_of), columns=columns)

    def scan(
        self, where: str | None = None, *, columns: Sequence[str] | None = None, as_of: Moment | None = None
    ) -> Result:
        """All live records, or those for which an SQL expression holds, as a stream.

        `for batch in archive.scan("bytes > 1000000").batches(): ...`
        """
        return self.reader.scan(where, columns, as_of_us=_optional_us(as_of))

    def sql(self, query: str, *, as_of: Moment | None = None) -> Result:
        """The answer to one SELECT over the view `live`, and over `answers.<query>` of its standing queries."""
        from tidewheel.sql.questions import Query

        return self.ask(Query(query), as_of=as_of)

    def ask(self, question: Question, *, as_of: Moment | None = None, columns: Sequence[str] | None = None) -> Result:
        """The answer to a question of `tidewheel.sql.questions`: what the four methods above are made of."""
        if names_answers(question):
            from tidewheel.sessions import session_with_answers

            return session_with_answers(self, as_of).ask(question, columns)
        return self.reader.ask(question, as_of_us=_optional_us(as_of), columns=columns)

    def explain(
        self, question: Question, *, as_of: Moment | None = None, columns: Sequence[str] | None = None
    ) -> Explanation:
        """Tell what a question opens, and why."""
        if names_answers(question):
            from tidewheel.sessions import session_with_answers

            return session_with_answers(self, as_of).explain(question, columns)
        return self.reader.explain(question, as_of_us=_optional_us(as_of), columns=columns)

    def connect(self, *, as_of: Moment | None = None) -> DuckDBPyConnection:
        """A DuckDB connection of your own with the view `live` and the macros probe and probe_range."""
        return self.reader.connect(as_of_us=_optional_us(as_of))

    def spark(self, session: SparkSession | None = None, *, as_of: Moment | None = None) -> DataFrame:
        """The live records as a DataFrame of Spark, at one version, read through Delta; a filter prunes files.

        The session must know Delta, as that of `tidewheel update` does, which is taken where none is given.
        """
        with needed("for DataFrames of Spark"):
            from tidewheel.jobs.live import live_frame
            from tidewheel.jobs.process.session import open_session

        pinned = self.reader.session(_optional_us(as_of))
        return live_frame(session or open_session(), pinned.only.snapshot, pinned.as_of_us)

    def published_view(self, dialect: str = "duckdb") -> str:
        """A view of the live records for people who read the table directly: duckdb, duckdb_log, duckdb_delta or spark.

        Of the answers of standing queries (NAME.answers), also one for each query.
        """
        from tidewheel.sql.published.published_views import published_view

        snapshot = self.snapshot()
        if not snapshot.definition.derived:
            return published_view(snapshot, dialect)
        from tidewheel.local.standing.views import published_answers

        return published_answers(snapshot, dialect)


def _optional_us(given: Moment | None) -> int | None:
    return None if given is None else moment_us(given)
