"""The base of all tasks on an archive: it opens the archive, and errors keep their kind.

fix the input, refused, damaged, not installed   fails at once, a retry would only fail again
conflict, superseded, outcome unknown            retried with backoff; every try plans on the newest version
unavailable, anything else (Spark killed)        retried with backoff; what was not committed never happened
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.sdk.bases.operator import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from tidewheel.dags.tasks.moved_data import Moved, lineage_of
from tidewheel.dags.tasks.run_forms import refuse_unknown_keys
from tidewheel.dags.tasks.wording import lines_of
from tidewheel.indexing.errors import Damaged, InvalidInput, NotInstalled, TidewheelError

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from tidewheel.archive import Archive

T = TypeVar("T")
FINAL = (InvalidInput, Damaged, NotInstalled)
RETRIES: dict[str, Any] = {
    "retries": 4,
    # The first delay is Airflow's own [core] default_task_retry_delay.
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=15),
}


class ArchiveOperator(BaseOperator):
    """A task on the archive of one archive file."""

    ui_color = "#dbe9f6"

    def __init__(self, *, archive_file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.archive_file = archive_file
        self.moved: Moved | None = None

    def execute(self, context: Context) -> Any:
        from tidewheel.jobs.process.quick_start import kept

        with kept(os.environ):
            return self.guarded(context, lambda: self.work(self.opened(), context))

    def guarded(self, context: Context, work: Callable[[], T]) -> T:
        """Do it, if the run was asked for nothing else; what a retry cannot mend ends the task at once."""
        return guarded(self, self.archive_file, context, work)

    def work(self, archive: Archive, context: Context) -> Any:
        """Carry out the task; the result is its XCom."""
        raise NotImplementedError

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        return lineage_of(self.inlets, self.outlets, None)

    def get_openlineage_facets_on_complete(self, _: Any) -> OperatorLineage[Any, Any]:
        return lineage_of(self.inlets, self.outlets, self.moved)

    def opened(self) -> Archive:
        from tidewheel.archive import open

        return open(self.archive_file, progress=lambda step: self.log.info("%s", step))


def guarded(task: BaseOperator, archive_file: str, context: Context, work: Callable[[], T]) -> T:
    """The same for a task of any kind."""
    try:
        refuse_unknown_keys(context)
        return work()
    except TidewheelError as error:
        said = lines_of(error, archive_file)
        for line in said:
            task.log.error("%s", line)
        if not isinstance(error, FINAL):
            raise
        # Without the chain of what it came from: the page shows all of that, and the remedy far below.
        raise AirflowFailException("\n".join(said)) from None


def skip_without_table(archive: Archive) -> None:
    """End the task as skipped while the first update has not created the table yet."""
    from tidewheel.storage.snapshot import open_snapshot

    try:
        open_snapshot(archive.location)
    except InvalidInput as error:
        if archive.location.has_log():
            raise
        raise AirflowSkipException(f"{error.message}; the first update creates it") from error


def say(log: logging.Logger | Any, *views: Any) -> None:
    """Put what the command line would show into the task's log, a line at a time."""
    from io import StringIO

    from rich.console import Console

    page = StringIO()
    console = Console(file=page, width=140, highlight=False)
    for view in views:
        console.print(view)
    for line in page.getvalue().splitlines():
        log.info("%s", line.rstrip())
