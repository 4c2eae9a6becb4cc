"""Six kinds of error, told apart by what the caller should do next.

Every message says what failed, with which values, and in what state the data is; `remedy` is the next
command or change. `exit_code` is what the command line returns for the kind.
"""

from __future__ import annotations

import re
from typing import Any

from tidewheel.indexing.printable import printable_lines

# What a remedy calls an archive of which only the table's place is known; whoever tells it knows the name.
PLACEHOLDER = re.compile(r"(?<=\s)ARCHIVE\b")


class TidewheelError(Exception):
    """The base of all errors that tidewheel raises on purpose."""

    kind = "error"
    exit_code = 1

    def __init__(self, message: str, remedy: str = "", **values: Any) -> None:
        self.message = printable_lines(message)
        self.remedy = printable_lines(remedy)
        super().__init__(f"{self.message}\n  what to do: {self.remedy}" if remedy else self.message)
        self.values = values


class InvalidInput(TidewheelError, ValueError):
    """Fix the input: nothing was changed, and trying again without a change fails again."""

    kind = "invalid_input"
    exit_code = 2


class Refused(InvalidInput):
    """A guard said no: the operation is possible, but needs an explicit confirmation."""

    kind = "refused"
    exit_code = 3


class NewerFormat(InvalidInput):
    """A newer program wrote the archive: nothing is wrong with it, and this program must not touch it."""


class Conflict(TidewheelError, RuntimeError):
    """Refresh and retry: somebody else changed the archive first."""

    kind = "conflict"
    exit_code = 4


class Superseded(Conflict):
    """A newer batch of the same slot was committed while this attempt ran; its data wins."""

    kind = "superseded"


class OutcomeUnknown(TidewheelError, RuntimeError):
    """The commit may or may not have happened: look before doing anything else."""

    kind = "outcome_unknown"
    exit_code = 5


class Damaged(TidewheelError, RuntimeError):
    """The archive does not hold what it must hold: stop, audit, restore."""

    kind = "damaged"
    exit_code = 6


class NotInstalled(TidewheelError, RuntimeError):
    """Something this command needs is not on the machine."""

    kind = "not_installed"
    exit_code = 7


class Unavailable(TidewheelError, RuntimeError):
    """Try again: something that is needed has ended or does not answer; what was not committed never happened."""

    kind = "unavailable"
    exit_code = 8
