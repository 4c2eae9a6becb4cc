"""The alarm of an archive that promises freshness: called by Airflow when a run misses its deadline.

It says how far the archive really lags, in the log of the callback and in the metrics, and calls what
$TIDEWHEEL_ALERT names: "package.module:function", a function of one dictionary that pages somebody.
"""

from __future__ import annotations

import logging
import os
from importlib import import_module
from typing import Any

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.rules.freshness import freshness_of

LOG = logging.getLogger(__name__)
ALERT_VARIABLE = "TIDEWHEEL_ALERT"


def freshness_missed(archive_file: str, context: dict[str, Any]) -> None:
    """Tell that a run is late; stay quiet when the archive is fresh all the same (a run of the past)."""
    from tidewheel.archive import open

    archive = open(archive_file)
    file = archive.job.require_file()
    bound_us, now_us = file.schedule.freshness_us or 0, archive.now_us()
    through_us = _applied_through_us(archive)
    late_us = None if through_us is None else now_us - through_us
    if through_us is not None and not freshness_of(file, through_us, through_us, now_us).is_over:
        LOG.info("archive %s is fresh: applied through %s", file.name, iso(through_us))
        return
    run_id = context.get("dag_run", {}).get("dag_run_id", "")
    lag = "nothing was applied yet" if late_us is None else f"it lags {duration_text(late_us - late_us % 1_000_000)}"
    message = f"archive {file.name} is not fresh: {lag}, promised are {duration_text(bound_us)}; late run: {run_id}"
    LOG.error(message)
    alert = {"archive": file.name, "message": message, "run_id": run_id, "late_us": late_us, "bound_us": bound_us}
    if named := os.environ.get(ALERT_VARIABLE):
        module, _, function = named.partition(":")
        getattr(import_module(module), function)(alert)


def _applied_through_us(archive: Any) -> int | None:
    """The end of the newest slot that was applied."""
    from tidewheel.storage.ledger_store import ledger_of

    try:
        applied = ledger_of(archive.snapshot()).applied
    except Exception as error:
        LOG.warning("the archive cannot be opened: %s", error)
        return None
    return archive.axis.end_us(max(last for _, last in applied)) if applied else None
