"""What people start by hand, as DAGs with a form: `<archive>__backfill`, `<archive>__migrate`, `<archive>__forget`.

Each has one task, named as the operation. The parameters are checked by Airflow before the run exists.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from tidewheel.dags.operators import RETRIES, ArchiveOperator, say
from tidewheel.dags.quick_start import use_quick_compiler
from tidewheel.dags.receipts import small_receipt, write_metrics
from tidewheel.dags.updating import CONFIRMATIONS
from tidewheel.indexing.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.key_text import keys_in, whole_key

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidewheel.archive import Archive
    from tidewheel.commits.attempt import Outcome

SLOTS_PER_COMMIT = 24
_MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$"


def operation_dags(path: str, file: ArchiveFile, common: dict[str, Any]) -> list[DAG]:
    """The three of one archive."""
    return [_dag(path, file, common, *one) for one in (_BACKFILL, _MIGRATE, _FORGET)]


class Backfill(ArchiveOperator):
    """Bring a range of slots in one Spark session, many of them in each commit."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any]:
        params = context["params"]
        slots = archive.slots_to_fill(params["start"], params["end"], missing=params["missing_only"])
        each = params["slots_per_commit"]
        self.log.info("%s slots to bring, %s in each commit", len(slots), each)
        use_quick_compiler(os.environ, _rows_expected(archive, len(slots), -(-len(slots) // each)))
        done: list[Outcome] = []

        def committed(outcome: Outcome) -> None:
            done.append(outcome)
            self._say(archive, outcome)

        archive.backfill(
            params["start"],
            params["end"],
            missing=params["missing_only"],
            each=each,
            newest_first=params["newest_first"],
            on_commit=committed,
            **{name: params[name] for name in CONFIRMATIONS},
        )
        write_metrics(archive, self.log)
        return {"slots": len(slots), "commits": len(done), "version": done[-1].version if done else None}

    def _say(self, archive: Archive, outcome: Outcome) -> None:
        from tidewheel.views.outcomes import outcome_view

        say(self.log, outcome_view(outcome, archive.axis))


def _rows_expected(archive: Archive, slots: int, commits: int) -> int:
    """What a backfill will read at most: batches like the largest known, and all that is stored, in every commit."""
    from tidewheel.storage.ledger_store import ledger_of

    ledger = ledger_of(archive.snapshot())
    stored = sum(cell.rows for cell in ledger.cells().values())
    return slots * max((record.rows_in for record in ledger.records.values()), default=0) + commits * stored


class Migrate(ArchiveOperator):
    """Move the archive to the layout that its file describes."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any] | None:
        params = context["params"]
        return _told(self, archive, archive.migrate(rebuild=params["rebuild"], dry_run=params["dry_run"]))


class Forget(ArchiveOperator):
    """Remove records for good, and keep them out of everything that comes later."""

    def work(self, archive: Archive, context: Context) -> dict[str, Any] | None:
        params = context["params"]
        columns = archive.snapshot().definition.key
        keys = _keys_in(params["keys_file"], columns) if params["keys_file"] else []
        outcome = archive.forget(keys, where=params["where"], dry_run=params["dry_run"])
        return _told(self, archive, outcome)


def _told(task: ArchiveOperator, archive: Archive, outcome: Outcome) -> dict[str, Any] | None:
    from tidewheel.views.outcomes import outcome_view

    say(task.log, outcome_view(outcome, archive.axis))
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


def _flag(description: str, default: bool = False) -> Param:
    return Param(default, type="boolean", description=description)


def _moment(description: str) -> Param:
    # The format makes the form show a calendar; that it holds is checked by the pattern.
    return Param(type="string", format="date-time", pattern=_MOMENT, description=description)


def confirmation_params() -> dict[str, Param]:
    """What an update takes as its run's configuration."""
    said = {
        "allow_shrink": "Confirm batches with far fewer records than those they replace.",
        "allow_jump": "Confirm a jump that expires all that is stored.",
        "allow_future": "Confirm slots that have not ended yet.",
    }
    return {name: _flag(said[name]) for name in CONFIRMATIONS}


_BACKFILL = (
    "backfill",
    Backfill,
    {
        "start": _moment("The first slot, by its start."),
        "end": _moment("The end of the range, itself not in it."),
        "slots_per_commit": Param(
            SLOTS_PER_COMMIT, type="integer", minimum=1, maximum=10_000, description="Slots in one commit."
        ),
        "newest_first": _flag("Begin with the latest slot."),
        "missing_only": _flag("Leave out slots that were applied before; this also resumes a stopped backfill."),
        **confirmation_params(),
    },
    "Bring a range of slots again, many in each commit. A slot that was applied before is replaced by what the "
    "source holds now; with `missing_only` it is left out.",
)
_MIGRATE = (
    "migrate",
    Migrate,
    {
        "rebuild": _flag("Rewrite everything now; otherwise what is stored expires where it is."),
        "dry_run": _flag("Only log the plan, change nothing."),
    },
    "Change `[layout]` in the archive file first; updates refuse to run until this has run.",
)
_FORGET = (
    "forget",
    Forget,
    {
        "keys_file": Param(
            "", type="string", description="A file that the worker can read, one key a line (several columns: CSV)."
        ),
        "where": Param("", type="string", description="Or an SQL predicate over the archive's columns."),
        "dry_run": _flag("Only log the plan, change nothing.", default=True),
    },
    "Keys are read from a file, because Airflow keeps the parameters of every run: what must be forgotten must not be "
    "written there. A predicate is kept; use one only if it says nothing that must be forgotten.",
)


def _dag(
    path: str,
    file: ArchiveFile,
    common: dict[str, Any],
    name: str,
    operator: type[ArchiveOperator],
    params: dict[str, Param],
    doc: str,
) -> DAG:
    pool = {"pool": file.schedule.pool} if file.schedule.pool else {}
    with DAG(
        f"{file.name}__{name}",
        schedule=None,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        max_active_runs=1,
        params=params,
        description=f"{name.capitalize()} the archive {file.name}",
        doc_md=f"{operator.__doc__}\n\n{doc}",
        default_args=RETRIES,
        **common,
    ) as dag:
        operator(task_id=name, archive_file=path, **pool)
    return dag
