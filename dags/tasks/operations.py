"""Operations that people start by hand on a whole archive: `<archive>__maintenance` with `operation` migrate or forget.

They share the DAG of the maintenance, since neither may run beside it and both are rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param
from airflow.sdk.bases.branch import BranchMixIn

from tidewheel.dags.tasks.operators import ArchiveOperator, say
from tidewheel.dags.tasks.reporting import small_receipt, write_metrics
from tidewheel.dags.tasks.run_forms import flag
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.key_text import keys_in, whole_key

if TYPE_CHECKING:
    from airflow.sdk import Context
    from rich.console import RenderableType

    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome

MAINTAIN, MIGRATE, FORGET = "maintain", "migrate", "forget"
# Which fields of the form belong to which operation; `dry_run` to both.
_OF_MIGRATE, _OF_FORGET = ("rebuild",), ("keys_file", "where")


def operations_form() -> dict[str, Param]:
    """Return the form of a maintenance run; unchanged, the run maintains."""
    return {
        "operation": Param(
            MAINTAIN,
            type="string",
            enum=[MAINTAIN, MIGRATE, FORGET],
            description="maintain: expire, vacuum, audit, watch. migrate: to the [layout] that the archive file has "
            "now; updates refuse to run until then. forget: remove records for good.",
        ),
        "dry_run": flag("Of migrate and forget: only log the plan, change nothing.", default=True),
        "rebuild": flag("Of migrate: rewrite everything now; otherwise what is stored expires where it is."),
        "keys_file": Param(
            "",
            type="string",
            description="Of forget: a file that the worker can read, with a key on each line; a key of several "
            "columns is a line of CSV. Not the keys themselves, because Airflow keeps what runs are given.",
        ),
        "where": Param("", type="string", description="Or an SQL predicate over the columns; Airflow keeps it."),
    }


class ChooseOperation(ArchiveOperator, BranchMixIn):
    """Let only the tasks of the run's operation run."""

    inherits_from_skipmixin = True

    def execute(self, context: Context) -> Any:
        chosen = self.guarded(context, lambda: chosen_operation(context["params"]))
        return self.do_branch(context, {MAINTAIN: "expire"}.get(chosen, chosen))


def chosen_operation(params: Any) -> str:
    """Return the operation that a run asks for. Fields of another operation show that something else was meant."""
    chosen = str(params["operation"])
    others = {MAINTAIN: _OF_MIGRATE + _OF_FORGET, MIGRATE: _OF_FORGET, FORGET: _OF_MIGRATE}[chosen]
    if wrong := [name for name in others if params[name]]:
        meant = MIGRATE if wrong[0] in _OF_MIGRATE else FORGET
        raise InvalidInput(
            f"{' and '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not for operation = {chosen}. "
            "Nothing was changed",
            f"trigger it again with operation = {meant}, or without {wrong[0]}",
        )
    return chosen


class Migrate(ArchiveOperator):
    """Move the archive to the layout that its file describes."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any] | None:
        params = context["params"]
        outcome = archive.migrate(rebuild=params["rebuild"], dry_run=params["dry_run"])

        from tidewheel.views.outcomes import outcome_view

        return _told(self, archive, outcome, outcome_view(outcome, archive.axis))


class Forget(ArchiveOperator):
    """Remove records for good, and keep them out of everything that comes later."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any] | None:
        params = context["params"]
        columns = archive.snapshot().definition.key
        keys = _keys_in(params["keys_file"], columns) if params["keys_file"] else []
        outcome = archive.forget(keys, where=params["where"], dry_run=params["dry_run"])

        from tidewheel.views.outcomes import forgotten_view

        return _told(self, archive, outcome, forgotten_view(outcome, archive.axis, dry_run=params["dry_run"]))


def _told(task: ArchiveOperator, archive: Archive, outcome: Outcome, view: RenderableType) -> dict[str, Any] | None:
    say(task.log, view)
    if outcome.receipt is None:
        return None
    write_metrics(archive, task.log)
    return small_receipt(outcome.version, outcome.receipt, archive.axis)


def _keys_in(path: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """One key a line, written as on the command line."""
    try:
        with open(path, encoding="utf-8") as file:
            listed = keys_in(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the keys cannot be read: {error}. Nothing was changed", "check keys_file") from error
    return [whole_key(text, columns) for text in listed]
