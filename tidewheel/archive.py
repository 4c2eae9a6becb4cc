"""An archive in Python: `tidewheel.open` and the methods of what it gives.

    archive = tidewheel.open("netflow")
    archive.update("2026-11-18T10:00Z")                              # one slot: Spark computes, one commit
    archive.probe("10.0.0.7", columns=["bytes"]).rows()              # one key: DuckDB, milliseconds
    archive.scan("bytes > 1000000").arrow()                          # all live records that match
    archive.sql("select plan, count(*) from live group by plan").dicts()

Each method hands on to the room that does the work; nothing heavy is imported before it is needed, so reading
never starts Spark. Moments are ISO text with a zone, dates (midnight UTC), or datetimes with a zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidewheel.derived import names_answers, refuse_derived, row_check
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.guards import guard_count
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.slots import TimeAxis, count_of, gaps_of, gaps_within, range_members
from tidewheel.indexing.errors import InvalidInput
from tidewheel.moments import Moment, moment_us
from tidewheel.resolve import Target, archives_folder, resolve

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.attempt import Outcome
    from tidewheel.commits.forget import Forgotten
    from tidewheel.commits.quarantine import Quarantined
    from tidewheel.commits.undo import Undone
    from tidewheel.commits.vacuum_report import VacuumReport
    from tidewheel.indexing.core.guards import Confirmations
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.receipts import Receipt
    from tidewheel.indexing.core.state import TableState
    from tidewheel.indexing.cost.advisor import Advice, Constraints
    from tidewheel.indexing.cost.forecast import Forecast
    from tidewheel.indexing.rules.changes import Change
    from tidewheel.indexing.rules.status import Status
    from tidewheel.jobs.audit.compare import AuditReport
    from tidewheel.sql.explanations import Explanation
    from tidewheel.sql.questions import Question
    from tidewheel.sql.reader import Reader
    from tidewheel.sql.results import Result
    from tidewheel.standing import StandingQueries
    from tidewheel.storage.location import Location
    from tidewheel.storage.snapshot import Snapshot


def open(name: str | Path, *, progress: Callable[[str], None] | None = None) -> Archive:
    """The archive of a name (archives/<name>.toml), of an archive file's path, or of a table's path.

    Nothing is read yet but the archive file. `progress` is called with a few words at each step of long work.
    """
    return Archive(resolve(name), progress=progress)


class Archive:
    """One archive: read it, bring batches into it, look after it."""

    def __init__(
        self,
        target: Target,
        *,
        clock: Callable[[], int] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.path = target.path
        self.file = target.file
        self.source = target.source
        self.called = target.called if target.file or target.source else ""
        self.folder = target.folder or archives_folder()
        self._clock = clock
        self._progress = progress

    def __repr__(self) -> str:
        return f"<Archive {self.file.name if self.file else ''} at {self.path}>"

    # Reading: DuckDB only. Every answer is exact as of one moment, the present one unless `as_of` names another.

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
        """What a question opens, and why."""
        if names_answers(question):
            from tidewheel.sessions import session_with_answers

            return session_with_answers(self, as_of).explain(question, columns)
        return self.reader.explain(question, as_of_us=_optional_us(as_of), columns=columns)

    def connect(self, *, as_of: Moment | None = None) -> DuckDBPyConnection:
        """A DuckDB connection of your own with the view `live` and the macros probe and probe_range."""
        return self.reader.connect(as_of_us=_optional_us(as_of))

    def published_view(self, dialect: str = "duckdb") -> str:
        """A view of the live records for people who read the table directly: duckdb, duckdb_delta or spark.

        Of the answers of standing queries (NAME.answers), also one for each query.
        """
        from tidewheel.sql.views import published_view

        snapshot = self.snapshot()
        if not snapshot.definition.derived:
            return published_view(snapshot, dialect)
        from tidewheel.local.standing.views import published_answers

        return published_answers(snapshot, dialect)

    # Writing: each is one commit, of Spark's work.

    def create(self, example: Moment | None = None) -> Snapshot:
        """Create the empty archive; `example` names a slot to learn the columns from, if the file has no schema."""
        from tidewheel.jobs.create import create

        refuse_derived(self, "init")
        return create(self.job, None if example is None else self.slots(example)[0])

    def update(
        self,
        start: Moment,
        end: Moment | None = None,
        *,
        dry_run: bool = False,
        allow_future: bool = False,
        allow_jump: bool = False,
        allow_shrink: bool = False,
        allow_many: bool = False,
        on_plan: Callable[[TableState, Plan], None] | None = None,
    ) -> Outcome:
        """Bring in the batch of the slot that starts at `start`, or of all slots of [start, end), in one commit.

        A slot that comes again is replaced. `archive.update("2026-11-18T10:00Z").receipt`
        `on_plan` is told of the plan before it is carried out, and of the next one if somebody else was first.
        """
        refuse_derived(self, "update")
        confirmed = _confirmations(allow_future, allow_jump, allow_shrink, allow_many)
        return self._update(self.slots(start, end), confirmed, dry_run, on_plan)

    def backfill(
        self,
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        missing: bool = False,
        each: int = 1,
        newest_first: bool = False,
        on_commit: Callable[[Outcome], None] = lambda outcome: None,
        allow_future: bool = False,
        allow_jump: bool = False,
        allow_shrink: bool = False,
        allow_many: bool = False,
    ) -> list[Outcome]:
        """Update the slots of [start, end), `each` so many in a commit; with `missing`, only those not applied.

        What is committed stays when a later commit fails; with `missing`, a second call goes on from there.
        """
        refuse_derived(self, "backfill")
        confirmed = _confirmations(allow_future, allow_jump, allow_shrink, allow_many)
        slots = self.slots_to_fill(start, end, missing=missing, allow_many=allow_many)
        outcomes = []
        for group in groups(slots, each, newest_first=newest_first):
            outcomes.append(self._update(group, confirmed, dry_run=False))
            on_commit(outcomes[-1])
        return outcomes

    def expire(
        self,
        through: Moment | None = None,
        *,
        dry_run: bool = False,
        allow_future: bool = False,
        allow_jump: bool = False,
    ) -> Outcome:
        """Carry out expiry through the slot that starts at `through`, without a batch.

        Without it, through the last complete slot by the wall clock.
        """
        from tidewheel.commits.expire import expire

        refuse_derived(self, "expire")
        confirmed = _confirmations(allow_future, allow_jump)
        slot = self._last_complete_slot() if through is None else self.slots(through)[0]
        return expire(self.job, slot, confirmed=confirmed, dry_run=dry_run)

    def migrate(self, generation: Generation | None = None, *, rebuild: bool = False, dry_run: bool = False) -> Outcome:
        """Move to another layout, that of the archive file unless one is given.

        New batches go there, what is stored expires where it is; with `rebuild`, everything moves at once,
        if only the table is known into the layout that it has.
        """
        from tidewheel.commits.migrate import migrate

        refuse_derived(self, "migrate")
        if generation is None:
            # All in the layout that it has can be made anew without a file.
            same = rebuild and self.file is None
            generation = self.snapshot().definition.current if same else self.job.require_file().generation
        return migrate(self.job, generation, relocate=rebuild, dry_run=dry_run)

    def forget(self, keys: Iterable[Sequence[Any]] = (), *, where: str = "", dry_run: bool = False) -> Forgotten:
        """Remove the records of keys, each a sequence of values, or those that an SQL predicate selects, for good.

        A value is one of its column's type, or its text as on the command line. `found_nothing` of the answer says
        that there was no such record.
        """
        from tidewheel.commits.forget import forget

        refuse_derived(self, "forget")
        return forget(self.job, keys=keys, where=where, dry_run=dry_run)

    def undo(self, to_version: int | None = None, *, dry_run: bool = False) -> Undone:
        """Go back to an earlier version, the one before the last operation unless another is named."""
        from tidewheel.commits.undo import undo

        refuse_derived(self, "undo")
        return undo(self.job, to_version=to_version, dry_run=dry_run)

    def vacuum(self, *, dry_run: bool = False) -> VacuumReport:
        """Delete the files that left the archive longer ago than the grace period."""
        from tidewheel.commits.vacuum import vacuum

        return vacuum(self.job, dry_run=dry_run)

    # Looking.

    def status(self) -> Status:
        """Watermark, lag, missing slots, the grid of sub-indices, and when bytes that expire now are gone."""
        from tidewheel.commits.status import status

        # Without the file: an archive can be looked at while its file still says something else than the table.
        return status(replace(self.job, file=None))

    def audit(self, *, deep: bool = True) -> AuditReport:
        """Compare what the ledger says is alive with what is in the files, cell by cell; with `deep`, row by row."""
        from tidewheel.jobs.audit.compare import audit

        return audit(self.job, deep=deep, rows=row_check(self))

    def quarantined(self, start: Moment | None = None, end: Moment | None = None) -> list[Quarantined]:
        """The records that were set aside, with the rule they broke: of the slot that starts at a moment, of those of
        [start, end), or all.

        `[one.text or one.record for one in archive.quarantined() if one.rule == "malformed"]`. Only batches that count
        are asked: a slot that was brought again has what its newest batch set aside.
        """
        from tidewheel.commits.quarantine import quarantined

        return quarantined(self.job, None if start is None else self.slots(start, end))

    def history(self, limit: int | None = None) -> list[tuple[int, Receipt]]:
        """The versions with their receipts, the newest first."""
        from tidewheel.storage.ledger_store import all_receipts

        newest_first = reversed(list(all_receipts(self.snapshot())))
        return list(islice(newest_first, limit))

    def changes(self, since: int, through: int | None = None) -> list[Change]:
        """What each version after `since` brought and took, and why, oldest first: batches, cells, the watermark.

        `since=-1` tells everything from the beginning. Cost: receipts only.
        """
        from tidewheel.storage.ledger_store import changes_since

        snapshot = self.snapshot()
        if not -1 <= since <= snapshot.version:
            raise InvalidInput(
                f"there is no version {since}: the archive is at version {snapshot.version}",
                "give a version that `tidewheel history` lists, or -1 for the beginning",
            )
        return [one for one in changes_since(snapshot, since) if through is None or one.version <= through]

    def forecast(self, updates: int, *, assume_last: int = 0) -> Forecast:
        """What the next updates will expire and rewrite; with `assume_last`, batches like the mean of so many slots."""
        from tidewheel.indexing.cost.forecast import forecast
        from tidewheel.measures import cells_with_bytes
        from tidewheel.storage.ledger_store import state_of

        state = state_of(self.snapshot())
        if state.watermark is None:
            raise InvalidInput("nothing was applied yet, so there is nothing to forecast", "update the archive first")
        return forecast(cells_with_bytes(state), state.watermark, updates, assume_last)

    def advise(
        self,
        *,
        last: int = 36,
        probes: float = 0,
        scans: float = 0,
        probe_rows: float = 1,
        constraints: Constraints | None = None,
    ) -> Advice:
        """The layouts that suit what arrived in the last slots, for so many reads an update, cheapest first.

        `probe_rows`: how many records a probe answers.
        """
        from tidewheel.indexing.cost.advisor import Constraints, advise
        from tidewheel.measures import workload_of
        from tidewheel.storage.ledger_store import state_of

        received = workload_of(state_of(self.snapshot()), last)
        workload = replace(received, probes=probes, scans=scans, probe_rows=probe_rows)
        return advise(workload, constraints or Constraints())

    # What the others are made of.

    def slots(self, start: Moment, end: Moment | None = None) -> range:
        """The slot that starts at a moment, or the slots of [start, end)."""
        axis = self.axis
        start_us = moment_us(start)
        return axis.slots_between(start_us, start_us + axis.interval_us if end is None else moment_us(end))

    def slots_to_fill(
        self,
        start: Moment | None = None,
        end: Moment | None = None,
        *,
        missing: bool = False,
        allow_many: bool = False,
    ) -> Sequence[int]:
        """The slots that a backfill brings: a range, or what was never applied, within the range if one is given."""
        ranged = None if start is None or end is None else self.slots(start, end)
        if missing:
            gaps = self._gaps(ranged)
            guard_count(count_of(gaps), allow_many=allow_many)
            return list(range_members(gaps))
        if ranged is None:
            raise InvalidInput("a backfill needs a range, or --missing", "give --from and --to")
        guard_count(len(ranged), allow_many=allow_many)
        return ranged

    def _gaps(self, within: range | None) -> Sequence[tuple[int, int]]:
        from tidewheel.storage.ledger_store import ledger_of

        ledger = ledger_of(self.snapshot())
        if within is not None:
            return gaps_within(ledger.applied, within)
        return gaps_of(ledger.applied, -1 if ledger.watermark is None else ledger.watermark)

    @cached_property
    def queries(self) -> StandingQueries:
        """The standing queries of the archive: `archive.queries.refresh()`, `archive.queries.ask("top_talkers")`."""
        from tidewheel.standing import StandingQueries

        return StandingQueries(self)

    @cached_property
    def axis(self) -> TimeAxis:
        return self.file.axis if self.file else self.snapshot().definition.axis

    @cached_property
    def location(self) -> Location:
        from tidewheel.storage.location import Location

        return Location.of(self.path)

    @cached_property
    def job(self) -> ArchiveJob:
        """The archive as the jobs take it."""
        progress = self._progress or (lambda step: None)
        return archive_job(self.location, self.file, clock=self.now_us, progress=progress, called=self.called)

    @cached_property
    def reader(self) -> Reader:
        """The open handle that reads go through; it follows the newest version."""
        from tidewheel.sql.reader import Reader

        return Reader.open(self.location, now_us=self.now_us)

    def snapshot(self) -> Snapshot:
        """The newest version of the table."""
        from tidewheel.storage.snapshot import open_snapshot

        return open_snapshot(self.location)

    def now_us(self) -> int:
        if self._clock is not None:
            return self._clock()
        from tidewheel.commits.clock import now_us

        return now_us()

    def _update(
        self,
        slots: Sequence[int],
        confirmed: Confirmations,
        dry_run: bool,
        on_plan: Callable[[TableState, Plan], None] | None = None,
    ) -> Outcome:
        from tidewheel.jobs.update import update

        job = replace(self.job, planned=on_plan) if on_plan else self.job
        return update(job, slots, confirmed=confirmed, dry_run=dry_run)

    def _last_complete_slot(self) -> int:
        """By the wall clock; an archive of historic data has no present to go by."""
        definition = self.snapshot().definition
        if definition.clock is Clock.DATA:
            raise InvalidInput(
                f"archive {definition.name} keeps historic data, so there is no present to expire through",
                "name the last slot whose expiry to carry out: --through",
            )
        return self.axis.slot_of(self.now_us()) - 1


def groups(slots: Sequence[int], each: int, *, newest_first: bool = False) -> Iterator[Sequence[int]]:
    """Slots in groups of a size, in order or from the newest back.

    >>> list(groups([1, 2, 3], 2)), list(groups([1, 2, 3], 2, newest_first=True))
    ([[1, 2], [3]], [[3, 2], [1]])
    """
    if each < 1:
        raise InvalidInput(f"{each} slots in a commit are not possible", "give 1 or more")
    ordered = sorted(slots, reverse=newest_first)
    for first in range(0, len(ordered), each):
        yield ordered[first : first + each]


def _optional_us(given: Moment | None) -> int | None:
    return None if given is None else moment_us(given)


def _confirmations(
    allow_future: bool, allow_jump: bool, allow_shrink: bool = False, allow_many: bool = False
) -> Confirmations:
    from tidewheel.indexing.core.guards import Confirmations

    return Confirmations(allow_future, allow_jump, allow_shrink, allow_many)
