"""Fail points: named places before and after every durable step, where a test can make the process die.

`TIDEWHEEL_FAIL_POINT=files_written` raises there, `TIDEWHEEL_FAIL_POINT=files_written:kill` ends the process at
once as SIGKILL would. Unset, a fail point costs one look into the environment.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "TIDEWHEEL_FAIL_POINT"
NAMES = (
    "planned",
    "files_written",
    "migration_half_done",
    "side_tables_written",
    "ready_to_commit",
    "committed",
    "ledger_folded",
    "checkpoint_written",
    "side_tables_swept",
    "vacuum_begun",
    "vacuum_listed",
    "vacuum_half_done",
    "vacuum_data_done",
    "vacuum_folded",
    "vacuum_ledger_joined",
    "vacuum_log_done",
    "vacuum_side_tables_done",
    "partials_committed",
    "answers_committed",
)


class FailPointReached(BaseException):
    """The end of a process at a fail point. Not an Exception: nothing between may handle it by mistake."""


def reach(name: str) -> None:
    """Die here if the environment says so."""
    wanted, _, manner = os.environ.get(VARIABLE, "").partition(":")
    if wanted != name:
        return
    if manner == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise FailPointReached(name)
