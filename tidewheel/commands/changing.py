"""Change what is there: migrate, forget, undo, vacuum."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidewheel.commands.common import ARCHIVE, DRY_RUN, YES, command, opened
from tidewheel.commands.refresh_after import NO_REFRESH, show_followed
from tidewheel.derived import refuse_derived
from tidewheel.indexing.core.layouts import MEBIBYTE, Generation, LayoutKind, Strategy
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.indexing.key_text import keys_in, whole_key
from tidewheel.indexing.printable import counted
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome
    from tidewheel.commits.operations.forget import Forgotten

SLOTS_SHOWN = 3


@command
@ARCHIVE
@click.option("--kind", type=click.Choice([one.value for one in LayoutKind]), help="How slots are given classes.")
@click.option("--insertion-classes", type=int, metavar="G", help="Rows of the grid.")
@click.option("--expiration-classes", type=int, metavar="E", help="Columns of the grid.")
@click.option("--strategy", type=click.Choice([one.value for one in Strategy]), help="What an update rewrites.")
@click.option("--dead-share-max", type=float, metavar="SHARE", help="Dead share at which a sub-index is rewritten.")
@click.option("--runs-max", type=int, metavar="N", help="Runs beyond which young ones of a sub-index are joined.")
@click.option("--target-file-mb", type=int, metavar="MB", help="Size at which a file is split by key.")
@click.option(
    "--run-both/--stop-and-rebuild",
    "run_both",
    default=True,
    show_default=True,
    help="Let what is stored expire where it is, or move it all now.",
)
@DRY_RUN
def migrate(output: Output, archive: str, run_both: bool, dry_run: bool, **layout: Any) -> None:
    """Move an archive to another layout or strategy, in one commit; reads see one table throughout.

    Without options for the layout, the new one is that of the archive file. With them, everything not named
    stays as it is; change the archive file as well, or the next update will refuse it.

    \b
    Examples:
      tidewheel migrate netflow --expiration-classes 6 --dry-run
      tidewheel migrate netflow --expiration-classes 6 --run-both
      tidewheel migrate netflow --stop-and-rebuild
    """  # fmt: skip
    given = {name: value for name, value in layout.items() if value is not None}
    with opened(output, archive, "looking at the archive") as opened_archive:
        generation = _changed(opened_archive.snapshot().definition.current, dict(given)) if given else None
        outcome = opened_archive.migrate(generation, rebuild=not run_both, dry_run=dry_run)
    _show(output, opened_archive, outcome)
    if given and not dry_run and opened_archive.file is not None:
        lines = ", ".join(f"{name} = {value}" for name, value in given.items())
        output.notice(f"now change [layout] in the archive file as well: {lines}")


@command
@ARCHIVE
@click.option("--key", "keys", multiple=True, metavar="K", help="A key, written as for probe. Repeatable.")
@click.option(
    "--keys-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A file with a key on each line; a key of several columns is a line of CSV.",
)
@click.option("--where", default="", metavar="SQL", help="A Spark SQL predicate over the columns.")
@DRY_RUN
@NO_REFRESH
@YES
def forget(
    output: Output,
    archive: str,
    keys: tuple[str, ...],
    keys_file: Path | None,
    where: str,
    dry_run: bool,
    no_refresh: bool,
    yes: bool,
) -> None:
    """Remove the records of some keys, or those a predicate selects, and keep them out for good.

    Later batches, replays and backfills of the slots applied so far are filtered by it. The bytes are gone
    once vacuum has passed the grace period. Answers of standing queries follow, as after an update.

    \b
    Examples:
      tidewheel forget netflow --key 10.0.0.7 --dry-run
      tidewheel forget netflow --key 10.0.0.7 --key 10.0.0.8 --yes
      tidewheel forget netflow --where "customer = 'c017' and dst_port = 25" --yes
    """  # fmt: skip
    listed = _listed_keys(keys_file) if keys_file else []
    with opened(output, archive, "looking at the archive") as opened_archive:
        refuse_derived(opened_archive, "forget")
        columns = opened_archive.snapshot().definition.key
        wanted = [whole_key(text, columns) for text in (*keys, *listed)]
    if where and not (dry_run or yes):
        with opened(output, archive, "looking for the records") as opened_archive:
            _tell_losses(output, opened_archive, opened_archive.forget(where=where, dry_run=True))
    if not dry_run:
        what = counted(len(wanted), "key") if wanted else f"all records where {where}"
        output.confirm(f"Forget {what} in archive {archive}, for good?", yes)
    with opened(output, archive, "looking for the records") as opened_archive:
        outcome = opened_archive.forget(wanted, where=where, dry_run=dry_run)
    if dry_run:
        _tell_losses(output, opened_archive, outcome)

    from tidewheel.views.outcomes import forgotten_document, forgotten_view

    show_followed(
        output,
        opened_archive,
        forgotten_document(outcome),
        lambda: forgotten_view(outcome, opened_archive.axis, dry_run=dry_run),
        not (dry_run or no_refresh),
    )
    if outcome.found_nothing:
        output.warn(f"NOTHING FOUND: archive {archive} stores no such record; check what you named")


def _tell_losses(output: Output, archive: Archive, outcome: Forgotten) -> None:
    """Tell which slots answers would lose to a predicate, before it is confirmed."""
    try:
        slots = archive.queries.slots_losing(outcome.slots_found)
    except TidewheelError as error:  # damaged partials keep nobody from forgetting
        output.warn(f"what answers would lose cannot be told: {error.message}")
        return
    if slots:
        shown = ", ".join(archive.axis.name(slot) for slot in slots[:SLOTS_SHOWN])
        more = f" and {len(slots) - SLOTS_SHOWN} more" if len(slots) > SLOTS_SHOWN else ""
        output.warn(
            f"answers that count {counted(len(slots), 'slot')} ({shown}{more}) will not be complete any more: the "
            "other records of these slots have left the archive, so nothing of them can be counted again"
        )


@command
@ARCHIVE
@click.option(
    "--to",
    "--to-version",
    "version",
    type=int,
    metavar="VERSION",
    help="The version to go back to.  [default: one back]",
)
@DRY_RUN
@NO_REFRESH
@YES
def undo(output: Output, archive: str, version: int | None, dry_run: bool, no_refresh: bool, yes: bool) -> None:
    """Bring back an earlier version, as a new one; possible while its files are within the grace period.

    Answers of standing queries follow, as after an update.

    \b
    Examples:
      tidewheel undo netflow --dry-run
      tidewheel undo netflow --yes
    """
    with opened(output, archive, "looking at the archive") as opened_archive:
        refuse_derived(opened_archive, "undo")
    if not dry_run:
        back = "the version before the last" if version is None else f"version {version}"
        output.confirm(f"Take archive {archive} back to {back}?", yes)
    with opened(output, archive, "going back") as opened_archive:
        undone = opened_archive.undo(version, dry_run=dry_run)

    from tidewheel.views.outcomes import outcome_document, undone_view

    document = {**outcome_document(undone), "to_version": undone.to_version, "files_restored": len(undone.restored)}
    view = partial(undone_view, undone, opened_archive.axis)
    show_followed(output, opened_archive, document, view, not (dry_run or no_refresh))


@command
@ARCHIVE
@DRY_RUN
def vacuum(output: Output, archive: str, dry_run: bool) -> None:
    """Delete the files that left the archive longer ago than its grace period, and what failed attempts left.

    \b
    Examples:
      tidewheel vacuum netflow --dry-run
      tidewheel vacuum netflow
    """
    with opened(output, archive, "looking for files that nothing needs") as opened_archive:
        report = opened_archive.vacuum(dry_run=dry_run)

    from tidewheel.views.vacuums import vacuum_view

    output.show(report.to_json(), lambda: vacuum_view(report))


def _changed(current: Generation, given: dict[str, Any]) -> Generation:
    """The generation with the options given in place of its own values."""
    if "strategy" in given:
        given["strategy"] = Strategy(given["strategy"])
    if "target_file_mb" in given:
        given["target_file_bytes"] = given.pop("target_file_mb") * MEBIBYTE
    if "kind" in given:
        given["kind"] = LayoutKind(given["kind"])
    layout_fields = ("kind", "insertion_classes", "expiration_classes")
    layout = replace(current.layout, **{name: given.pop(name) for name in layout_fields if name in given})
    return replace(current, layout=layout, **given)


def _listed_keys(path: Path) -> list[str]:
    try:
        return keys_in(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"the keys in {path} cannot be read: {error}. Nothing was changed", "write them as UTF-8, one on each line"
        ) from error


def _show(output: Output, archive: Archive, outcome: Outcome) -> None:
    from tidewheel.views.outcomes import outcome_document, outcome_view

    output.show(outcome_document(outcome), lambda: outcome_view(outcome, archive.axis))
