"""Bring data in, and let it leave: init, update, backfill, expire."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tidewheel.commands.common import (
    ALLOW_FUTURE,
    ALLOW_JUMP,
    ALLOW_MANY,
    ALLOW_SET_ASIDE,
    ALLOW_SHRINK,
    ARCHIVE,
    DRY_RUN,
    MOMENT,
    command,
    opened,
)
from tidewheel.commands.refresh_after import NO_REFRESH, show_followed
from tidewheel.derived import refuse_derived
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.indexing.printable import counted
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.state import TableState


@command
@ARCHIVE
@click.option("--slot", type=MOMENT, help="A slot with data to learn the columns from, if the file names none.")
def init(output: Output, archive: str, slot: str | None) -> None:
    """Create an empty archive as its file describes it.

    The columns are those of [source] schema, or those of the slot named.

    \b
    Examples:
      tidewheel init netflow --slot 2026-11-18T04:00Z
    """
    from tidewheel.views.definitions import definition_view

    with opened(output, archive, "starting Spark") as opened_archive:
        snapshot = opened_archive.create(slot)
    document = {"path": opened_archive.path, "version": snapshot.version, "definition": snapshot.definition.to_json()}
    output.show(document, lambda: definition_view(opened_archive.path, snapshot.definition))


@command
@ARCHIVE
@click.option("--slot", type=MOMENT, help="The slot that starts then.")
@click.option("--from", "start", type=MOMENT, help="The first slot of a range.")
@click.option("--to", "end", type=MOMENT, help="The end of the range, itself not in it.")
@DRY_RUN
@NO_REFRESH
@ALLOW_FUTURE
@ALLOW_JUMP
@ALLOW_SHRINK
@ALLOW_SET_ASIDE
@ALLOW_MANY
def update(
    output: Output,
    archive: str,
    slot: str | None,
    start: str | None,
    end: str | None,
    dry_run: bool,
    no_refresh: bool,
    **confirmed: Any,
) -> None:
    """Bring the batch of a slot, or of a range of slots, into the archive in one commit.

    What has expired by the end of the slot leaves in the same commit. A slot that comes again is replaced.

    Then the answers of standing queries follow, if query files ask the archive, as `tidewheel refresh` would bring
    them. Whatever becomes of them, the update is done and ends with 0: what keeps a query from its answers is told
    with the remedy, under "refresh" of the JSON as well, and the next refresh tries again.

    \b
    Examples:
      tidewheel update netflow --slot 2026-11-18T04:00Z
      tidewheel update netflow --from 2026-11-18T04:05Z --to 2026-11-18T04:30Z
      tidewheel update netflow --slot 2026-11-18T04:30Z --dry-run
    """
    from tidewheel.jobs.process.quick_start import kept

    with opened(output, archive, "starting Spark") as opened_archive, kept(os.environ):
        refuse_derived(opened_archive, "update")
        first, last = _range_of(opened_archive, slot, start, end)
        outcome = opened_archive.update(first, last, dry_run=dry_run, on_plan=start_quickly, **confirmed)
    _show(output, opened_archive, outcome, follows=not (dry_run or no_refresh))


@command
@ARCHIVE
@click.option("--from", "start", type=MOMENT, help="The first slot.")
@click.option("--to", "end", type=MOMENT, help="The end of the range, itself not in it.")
@click.option("--missing", is_flag=True, help="Only slots that were never applied; alone, all gaps of the status.")
@click.option("--each", default=1, show_default=True, metavar="N", help="Slots in one commit.")
@click.option("--newest-first", is_flag=True, help="Begin with the latest slot.")
@NO_REFRESH
@ALLOW_FUTURE
@ALLOW_JUMP
@ALLOW_SHRINK
@ALLOW_SET_ASIDE
@ALLOW_MANY
def backfill(
    output: Output, archive: str, start: str | None, end: str | None, missing: bool, each: int, newest_first: bool,
    no_refresh: bool, **confirmed: bool,
) -> None:  # fmt: skip
    """Update many slots, some in each commit, so that it can be stopped and resumed.

    Slots that were applied before are replaced; with --missing they are left out. What is committed stays
    when it is stopped, and the message says how to go on. Answers of standing queries follow once at the end, as
    after an update.

    \b
    Examples:
      tidewheel backfill netflow --from 2026-11-18T04:30Z --to 2026-11-18T05:00Z --each 3
      tidewheel backfill netflow --from 2026-11-18T04:30Z --to 2026-11-18T05:30Z --missing --newest-first --each 3
      tidewheel backfill netflow --missing
    """
    from tidewheel.archive import open

    opened_archive = open(archive)
    refuse_derived(opened_archive, "backfill")
    slots = opened_archive.slots_to_fill(start, end, missing=missing, allow_many=confirmed["allow_many"])
    outcomes: list[Outcome] = []
    with output.counting(counted(len(slots), "slot"), -(-len(slots) // max(each, 1))) as advance:

        def committed(outcome: Outcome) -> None:
            outcomes.append(outcome)
            advance()

        try:
            opened_archive.backfill(
                start, end, missing=missing, each=each, newest_first=newest_first, on_commit=committed, **confirmed
            )
        except (TidewheelError, KeyboardInterrupt):
            output.notice(_way_on(opened_archive, outcomes, slots, missing=missing))
            raise
    _show_backfill(output, opened_archive, outcomes, follows=bool(outcomes) and not no_refresh)


@command
@ARCHIVE
@click.option("--through", type=MOMENT, help="The last slot to expire, by its start.  [default: the last complete one]")
@DRY_RUN
@NO_REFRESH
@ALLOW_FUTURE
@ALLOW_JUMP
def expire(
    output: Output, archive: str, through: str | None, dry_run: bool, no_refresh: bool, **confirmed: bool
) -> None:
    """Remove what has expired, without a batch, for times when no data comes.

    Answers of standing queries follow, as after an update.

    \b
    Examples:
      tidewheel expire netflow --through 2026-11-18T05:30Z --dry-run
      tidewheel expire netflow --through 2026-11-18T05:30Z
    """
    with opened(output, archive, "looking for what has expired") as opened_archive:
        outcome = opened_archive.expire(through, dry_run=dry_run, **confirmed)
    _show(output, opened_archive, outcome, follows=not (dry_run or no_refresh))


def start_quickly(state: TableState, plan: Plan) -> None:
    """A process of one update: where it is small, most of its time would go into compiling code that runs once."""
    from tidewheel.indexing.core.file_sizes import rows_expected
    from tidewheel.jobs.process.quick_start import use_quick_compiler

    use_quick_compiler(os.environ, rows_expected(state, plan))


def _range_of(archive: Archive, slot: str | None, start: str | None, end: str | None) -> tuple[str, str | None]:
    if slot is not None and start is None and end is None:
        return slot, None
    if slot is None and start is not None and end is not None:
        return start, end
    raise InvalidInput("an update needs a slot or a range", f"give --slot, or --from and --to{_next_slot(archive)}")


def _next_slot(archive: Archive) -> str:
    """The slot that most likely comes next, if there is one."""
    try:
        watermark = archive.snapshot().watermark
    except TidewheelError:
        return ""
    return "" if watermark is None else f"; the next one is --slot {archive.axis.name(watermark + 1)}"


def _way_on(archive: Archive, outcomes: list[Outcome], slots: Sequence[int], *, missing: bool) -> str:
    """How far a backfill came, and how to do the rest."""
    rest = set(slots).difference(slot for outcome in outcomes for slot in outcome.plan.slots)
    done = f"{len(slots) - len(rest)} of {len(slots)} slots were brought in and stay"
    if missing or not rest:
        return f"{done}; the same command goes on from there"
    first, after = archive.axis.name(min(rest)), archive.axis.name(max(rest) + 1)
    return f"{done}; go on with --from {first} --to {after}"


def _show(output: Output, archive: Archive, outcome: Outcome, *, follows: bool) -> None:
    from tidewheel.views.outcomes import outcome_document, outcome_view

    _warn_of_set_aside(output, [outcome])
    show_followed(output, archive, outcome_document(outcome), lambda: outcome_view(outcome, archive.axis), follows)


def _warn_of_set_aside(output: Output, outcomes: Sequence[Outcome]) -> None:
    from tidewheel.indexing.core.guards import set_aside_text

    receipts = [one for outcome in outcomes if outcome.receipt for one in outcome.receipt.slots if one.quarantined]
    if receipts:
        output.warn(f"set aside: {set_aside_text(receipts)}; see them: tidewheel quarantine {output.archive}")


def _show_backfill(output: Output, archive: Archive, outcomes: list[Outcome], *, follows: bool) -> None:
    from tidewheel.views.outcomes import backfill_view, outcome_document

    _warn_of_set_aside(output, outcomes)
    document = {"commits": [outcome_document(one) for one in outcomes]}
    show_followed(output, archive, document, lambda: backfill_view(outcomes, archive.axis), follows)
