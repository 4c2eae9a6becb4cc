"""The task behind an update that brings the answers of an archive's standing queries up to date.

It is a task of its own: what an update committed stays and shows as done, whatever becomes of the refresh, and a
refresh that fails is retried without the update. There is none where no query file asks the archive.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TriggerRule
from airflow.sdk.exceptions import AirflowSkipException

from tidewheel.dags.tasks.assets import answers_asset, asset_of
from tidewheel.dags.tasks.moved_data import Moved
from tidewheel.dags.tasks.operators import ArchiveOperator, say, skip_without_table
from tidewheel.indexing.core.definition import ArchiveFile

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.bases.operator import BaseOperator

    from tidewheel.archive import Archive
    from tidewheel.indexing.errors import InvalidInput
    from tidewheel.local.standing.outcome import Refreshed


def refresh_behind(
    tasks: Sequence[BaseOperator], path: str, file: ArchiveFile, rule: TriggerRule = TriggerRule.ALL_SUCCESS
) -> None:
    """Refresh after these tasks, if there are queries."""
    if not is_asked(Path(path), file.name):
        return
    nodes = file.queries.nodes
    common: dict[str, Any] = {
        "task_id": "refresh",
        "archive_file": path,
        "trigger_rule": rule,
        "inlets": [asset_of(file)],
        "outlets": [answers_asset(file)],
        # Two at once do no harm, the commit decides, but where both do the same, one of them works for nothing.
        "max_active_tis_per_dag": nodes,
    }
    refresh: Any
    if nodes == 1:
        refresh = RefreshQueries(**common)
    else:
        refresh = RefreshQueries.partial(**common, nodes=nodes).expand(node=list(range(1, nodes + 1)))
    for task in tasks:
        task >> refresh
        if rule is TriggerRule.ALL_DONE:
            # A run is judged by its last tasks: a refresh that goes well must not hide that the others did not.
            task >> EmptyOperator(task_id=f"{task.task_id}_done")


def is_asked(path: Path, name: str) -> bool:
    """Tell whether a query file beside the archive file asks the archive.

    An unreadable file may, and the task tells why.
    """
    return any(_may_ask(file, name) for file in sorted((path.parent / "queries").glob("*.toml")))


def _may_ask(file: Path, name: str) -> bool:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("query")
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        return True
    queries = found if isinstance(found, list) else [found]
    return any(isinstance(one, dict) and one.get("of") == name for one in queries)


class RefreshQueries(ArchiveOperator):
    """Give the answers that are missing, correct those that are stale, erase what was forgotten; else skipped."""

    ui_color = "#e3f0dc"

    def __init__(self, *, node: int = 1, nodes: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.node, self.nodes = node, nodes

    def work(self, archive: Archive, context: Context) -> dict[str, Any]:
        from tidewheel.views.queries import refreshed_view

        skip_without_table(archive)
        done = archive.queries.refreshed(node=(self.node, self.nodes))
        say(self.log, refreshed_view(done, archive.axis, dry_run=False))
        if wrong := self._wrong_here(done):
            raise wrong
        document = done.summary()
        if not (done.due or done.answers_erased):
            raise AirflowSkipException("no answer is new, corrected or erased, so the asset is not announced")
        context["outlet_events"][answers_asset(archive.job.require_file())].extra = document
        self.moved = _moved(done)
        return document

    def _wrong_here(self, done: Refreshed) -> InvalidInput | None:
        """Faults of query files are told by the first of several nodes, what kept a node's own queries by that one."""
        return (done if self.node == 1 else replace(done, misread=None)).wrong


def _moved(done: Refreshed) -> Moved:
    """Answers given and corrected; they rode in one commit."""
    receipt = None if done.answers is None else done.answers.receipt
    if done.answers is None or receipt is None:
        return Moved()
    return Moved(
        rows=sum(one.stored for one in receipt.slots),
        bytes=receipt.bytes_added,
        files=receipt.files_added,
        version=done.answers.version,
    )
