"""An archive as it is looked at: its state, its past, what is wrong with it, what would suit it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tidewheel.derived import row_check
from tidewheel.handle import Handle
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.care import Audited
from tidewheel.indexing.rules.course import Course, course_of
from tidewheel.mishaps import faults_told
from tidewheel.moments import Moment

if TYPE_CHECKING:
    from tidewheel.commits.side_tables.quarantine import Quarantined
    from tidewheel.indexing.core.receipts import Receipt
    from tidewheel.indexing.cost.advisor import Advice, Constraints
    from tidewheel.indexing.cost.forecast import Forecast
    from tidewheel.indexing.rules.changes import Change
    from tidewheel.indexing.rules.status import Status
    from tidewheel.jobs.audit.compare import AuditReport
    from tidewheel.storage.metrics import Samples


class Looking(Handle):
    """Status, history, audit, advice."""

    def status(self, *, listing: bool = True) -> Status:
        """How the archive is: its health, the newest batch, missing slots, the grid, when expired bytes are gone.

        `listing=False` leaves out what only a listing of all its files can tell.
        """
        from tidewheel.commits.status import status
        from tidewheel.following import following_of
        from tidewheel.indexing.rules.health import health_of

        # The job without the file: an archive can be looked at while its file still says something else than the table.
        told = status(replace(self.job, file=None), listing=listing, file=self.file)
        return replace(told, health=health_of(told, following_of(self)))

    def metrics(self) -> str:
        """Return the archive's metrics as OpenMetrics text. Cost: all receipts, one listing."""
        from tidewheel.storage.metrics import openmetrics

        status = self.status()
        return openmetrics(self.snapshot(), status.slots_missing, self.gauges(status))

    def gauges(self, status: Status) -> Samples:
        """Return metrics that the newest version does not hold: what waits for vacuum, the last maintenance, ..."""
        from tidewheel.storage.metrics import looked_at

        return looked_at(status, Counter(one.rule for one in self.quarantined()))

    def audit(self, *, deep: bool | None = None) -> AuditReport:
        """Compare what the ledger says is alive with what is in the files, cell by cell; with `deep`, row by row.

        Unless told, as deep as what is installed allows; `left_out` of the report says what was not looked at. When it
        was and how much was found is noted beside the archive, nothing else is changed.
        """
        from tidewheel.jobs.audit.compare import audit
        from tidewheel.storage.care_notes import note_care

        with faults_told(self.job):
            report = audit(self.job, deep=deep, rows=row_check(self))
        note_care(self.location, Audited(self.now_us(), report.version, len(report.findings), report.deep))
        return report

    def quarantined(self, start: Moment | None = None, end: Moment | None = None) -> list[Quarantined]:
        """The records that were set aside, with the rule they broke: of the slot that starts at a moment, of those of
        [start, end), or all.

        `[one.text or one.record for one in archive.quarantined() if one.rule == "malformed"]`. Only batches that count
        are asked: a slot that was brought again has what its newest batch set aside.
        """
        from tidewheel.commits.side_tables.quarantine import quarantined

        return quarantined(self.job, None if start is None else self.slots(start, end))

    def history(self, limit: int | None = None) -> list[tuple[int, Receipt]]:
        """The versions with their receipts, the newest first."""
        from tidewheel.storage.ledger_store import all_receipts

        newest_first = reversed(list(all_receipts(self.snapshot())))
        return list(islice(newest_first, limit))

    def changes(self, since: int, through: int | None = None) -> list[Change]:
        """Return the changes of each version after `since`, with the reasons, oldest first: batches, cells, the
        watermark.

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

    def course(self, last: int = 200) -> Course:
        """How many records were alive after each of the last commits, and how many of today's will be, slot by slot."""
        from tidewheel.storage.ledger_store import changes_since, ledger_of

        snapshot = self.snapshot()
        changes = changes_since(snapshot, max(-1, snapshot.version - last))
        return course_of(ledger_of(snapshot).cells(), snapshot.watermark, snapshot.definition.axis, changes)

    def forecast(self, updates: int, *, assume_last: int = 0) -> Forecast:
        """Forecast what the next updates expire and rewrite; `assume_last`: batches like the mean of so many slots."""
        from tidewheel.indexing.cost.archive_measures import cells_with_bytes
        from tidewheel.indexing.cost.forecast import forecast
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
        from tidewheel.indexing.cost.archive_measures import workload_of
        from tidewheel.storage.ledger_store import state_of

        received = workload_of(state_of(self.snapshot()), last)
        workload = replace(received, probes=probes, scans=scans, probe_rows=probe_rows)
        return advise(workload, constraints or Constraints())
