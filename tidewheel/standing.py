"""An archive's standing queries: read from files, checked, refreshed, asked.

archive.queries.check()                          # the queries of archives/queries/*.toml that ask this archive
archive.queries.refresh()                        # partials and answers brought up to date
archive.queries.ask("top_talkers", last=12)      # answers as they are kept
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidewheel.asked_queries import AskedQueries
from tidewheel.derived import refuse_derived
from tidewheel.indexing.errors import InvalidInput
from tidewheel.moments import Moment
from tidewheel.queries.standing.query import Query, QueryText
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.query_files import FOLDER, may_ask

if TYPE_CHECKING:
    from tidewheel.local.standing.explain import Explained, Standing
    from tidewheel.local.standing.outcome import Refreshed
    from tidewheel.local.standing.refresh import Refresh
    from tidewheel.plans import Asked, PoolPlan
    from tidewheel.queries.planning.known import Known
    from tidewheel.queries.scheduling.schedule_forecast import Scheduled
    from tidewheel.queries.scheduling.what_if import WhatIf


class StandingQueries(AskedQueries):
    """The standing queries of one archive."""

    def refresh(
        self,
        *,
        dry_run: bool = False,
        allow_many: bool = False,
        budget_s: float | None = None,
        node: tuple[int, int] = (1, 1),
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> Refreshed:
        """Bring partials and answers up to date. Only what is stale is recomputed.

        The query files are read once, at the beginning. Very many answers at once need `allow_many`. With a budget,
        nothing begins after so many seconds: the oldest comes first, and the result says what is left. Faults of some
        queries are raised at the end, when the others have their answers. `node` is (2, 4) for the second of four
        nodes that refresh side by side, each its share of the trees. With `start`, the partials of the slot that
        starts there, or of all slots of [start, end), are recomputed even if not stale, and the answers over them.
        """
        done = self.refreshed(
            dry_run=dry_run, allow_many=allow_many, budget_s=budget_s, node=node, start=start, end=end
        )
        if done.wrong:
            raise done.wrong
        return done

    def refreshed(
        self,
        *,
        dry_run: bool = False,
        allow_many: bool = False,
        budget_s: float | None = None,
        node: tuple[int, int] = (1, 1),
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> Refreshed:
        """Refresh, but report faults of queries in the result instead of raising them."""
        from tidewheel.local.standing.refresh import Refresh, guard_refresh

        refuse_derived(self._archive, "refresh")
        if start is not None and budget_s is not None:
            raise InvalidInput(
                "a repair of slots takes no budget: the next refresh would begin it anew", "leave one out"
            )
        again = range(0) if start is None else self._archive.slots(start, end)
        with self._damage_named():
            found, job = self._standing(), self._archive.job
            queries = list(found.queries)
            self._refuse_to_lose(queries)
            refresh = Refresh(
                job, queries, planner=self._planner, node=node, budget_s=budget_s, files=found.files, again=again
            )
            if dry_run:
                return replace(refresh.compare(), misread=self.wrong)
            guard_refresh(refresh.job, queries, allow_many=allow_many)
            return replace(refresh.run(), misread=self.wrong)

    def slots_losing(self, slots: Iterable[int]) -> list[int]:
        """The slots, of those in which a predicate finds records, of which answers would not be complete any more."""
        from tidewheel.local.partials.lost_rows import slots_losing

        with self._damage_named():
            return slots_losing(self._archive.job, slots)

    def observe(self) -> None:
        """Before a batch comes: what of it is not stored is kept, where queries ask that were not answered yet."""
        from tidewheel.storage.ledger_store import ledger_of

        archive = self._archive
        if archive.file is None or not may_ask(archive.folder, archive.file.name):
            return
        if not ledger_of(archive.snapshot()).horizon:
            # Only now: nearly no update needs it, and it takes a second to import.
            from tidewheel.local.standing.derive import observe_for

            observe_for(archive.job, self.understood().queries)

    def _refuse_to_lose(self, queries: list[Query]) -> None:
        """A query whose file is gone loses its answers; by a table's place alone nobody knows where the files lie."""
        from tidewheel.local.standing.stored_queries import answered_queries

        if self._archive.file is not None:
            return
        lost = sorted({one.name for one in answered_queries(self._archive.job)} - {one.name for one in queries})
        if lost:
            raise InvalidInput(
                f"no query file in {self._archive.folder / FOLDER} tells of {', '.join(lost)}, whose answers a refresh "
                "would delete. Nothing was changed",
                "refresh the archive by its name or the path of its archive file, beside which its query files lie",
            )

    def standing(self) -> list[Standing]:
        """The queries with how far their answers reach."""
        from tidewheel.local.standing.explain import standing

        with self._damage_named():
            return standing(self._archive.job, list(self._standing().queries), self._archive.axis)

    def explain(self, name: str, *, technique: str = "", shared: bool = False) -> Explained:
        """A query's tree, what is kept for it, what is covered, why it would be redone, what techniques would cost.

        `technique` asks of one, and refuses one that would get the query wrong; `shared` of one state for all windows
        of the query's tree.
        """
        from tidewheel.local.standing.explain import explained

        with self._damage_named():
            queries = list(self._standing().queries)
            return explained(self._archive.job, queries, name, technique, shared=shared, planner=self._planner)

    def plan(self, asked: Asked | None = None, *, rate_per_s: float | None = None) -> list[PoolPlan]:
        """Return which queries would share partials, what that costs, and what other planners make of it."""
        from tidewheel.plans import Asked, planned

        queries = list(self.understood().queries)
        return planned(queries, self._known(queries, rate_per_s), asked or Asked()) if queries else []

    def schedule(self, *, budget_s: float | None = None, rate_per_s: float | None = None) -> Scheduled | None:
        """Forecast every scheduler with so many seconds of work per slot; None without queries."""
        from tidewheel.queries.scheduling.schedule_forecast import scheduled

        queries = list(self.understood().queries)
        if not queries:
            return None
        assignment = self._refresh_of(queries).assignment()
        return scheduled(assignment, queries, self._known(queries, rate_per_s), budget_s)

    def what_if(self, path: Path, *, budget_s: float | None = None, rate_per_s: float | None = None) -> WhatIf:
        """Forecast the queries of a file beside those that are there; nothing is registered."""
        from tidewheel.local.derived.batch_reader import reader_of
        from tidewheel.queries.scheduling.schedule_forecast import scheduled
        from tidewheel.queries.scheduling.what_if import Stored, WhatIf, newcomer

        present = list(self.understood().queries)
        new = self._compiled(self._new_texts(path, {one.name for one in present})).sound()
        queries = [*present, *new]
        refresh, known = self._refresh_of(queries), self._known(queries, rate_per_s)
        assignment = refresh.assignment()
        after = scheduled(assignment, queries, known, budget_s)
        before = scheduled(self._refresh_of(present).assignment(), present, known, budget_s) if present else None
        reader, axis = reader_of(self._archive.job), self._archive.axis
        stored = Stored(
            refresh.kept, axis, reader.snapshot.definition.max_lifetime_us, refresh.present_us(reader), reader.is_whole
        )
        newcomers = tuple(newcomer(one, present, assignment, stored, after) for one in new)
        return WhatIf(newcomers, before, after)

    def _new_texts(self, path: Path, taken: set[str]) -> list[QueryText]:
        name = self._archive_name
        try:
            texts = list(parse_query_file(path.read_text(encoding="utf-8"), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the query file {path} cannot be read: {error}", "check the file") from error
        others = sorted({text.of for text in texts} - {name})
        if others:
            raise InvalidInput(f"{path} asks {', '.join(others)}, not {name}", f'write of = "{name}"')
        twice = sorted(taken & {text.name for text in texts})
        if twice:
            raise InvalidInput(f"archive {name} has a query {twice[0]} already", "give it another name in the file")
        return texts

    def _refresh_of(self, queries: list[Query]) -> Refresh:
        from tidewheel.local.standing.refresh import Refresh

        return Refresh(self._archive.job, queries, planner=self._planner)

    def _known(self, queries: list[Query], rate_per_s: float | None) -> Known:
        from tidewheel.local.standing.statistics import known_of

        return known_of(self._archive.job, queries, Fraction(rate_per_s) / 1_000_000 if rate_per_s else None)

    def test(self) -> dict[str, int]:
        """Play the tests that the query files hold; by query, how many there were."""
        from tidewheel.local.standing.play_tests import play_test
        from tidewheel.sql.engine.column_types import duckdb_type

        snapshot = self._archive.snapshot()
        columns = {column.name: str(duckdb_type(column.type)) for column in snapshot.columns}
        tests = {text.name: text.tests for text in self.texts()}
        for query in self.understood().queries:
            for given in tests[query.name]:
                play_test(query, given, columns, snapshot.definition)
        if self.wrong:
            raise self.wrong
        return {name: len(given) for name, given in tests.items() if given}

    def new(self, name: str, *, replace: bool = False) -> Path:
        """Write a query file to begin with; one that is there is only written over with `replace`."""
        from tidewheel.queries.standing.query_draft import new_query_file
        from tidewheel.storage.location import Location

        path = self._archive.folder / FOLDER / f"{name}.toml"
        snapshot = self._archive.snapshot()
        text = new_query_file(name, snapshot.definition, [column.name for column in snapshot.columns])
        taken = {one.name: one.file_name for one in self.texts()}
        if taken.get(name, str(path)) != str(path):
            raise InvalidInput(
                f"archive {self._archive_name} has a query {name} already, in {taken[name]}",
                "choose another name: of two queries with one name both would be at fault",
            )
        if path.exists() and not replace:
            raise InvalidInput(f"there is a file {path} already", "choose another name, or write over it with --yes")
        Location.of(str(path.parent)).write_bytes(str(path), text.encode())
        return path

    @property
    def _planner(self) -> str:
        file = self._archive.file
        return file.queries.planner if file else ""

    def to_json(self) -> list[dict[str, Any]]:
        """The queries for machines."""
        return [query.to_json() for query in self.check()]
