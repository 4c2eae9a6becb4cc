"""Errors from below that no room foresaw, reworded with a remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.extras import not_installed
from tidewheel.indexing.printable import printable

if TYPE_CHECKING:
    from tidewheel.commits.archive import ArchiveJob

STATE = "What the history shows as committed stays"


class Unexpected(TidewheelError):
    """A fault of this program."""

    kind = "unexpected"
    exit_code = 70


def told_of(error: Exception, archive: str) -> TidewheelError:
    """The error to tell of, whatever was raised while somebody worked on this archive."""
    if isinstance(error, TidewheelError):
        return error
    told = _not_installed(error) or _spark_lost(error) or _refused_by_machine(error, archive)
    return told or _damaged(error, archive) or _unexpected(error)


@contextmanager
def faults_told(job: ArchiveJob) -> Iterator[None]:
    """Tell of a Java that has ended and of a file that cannot be read as of that, in Python as on the command line."""
    try:
        yield
    except TidewheelError:
        raise
    except Exception as error:
        told = _spark_lost(error) or _damage(error, job)
        if told is None:
            raise
        raise told from error


def _refused_by_machine(error: Exception, archive: str) -> TidewheelError | None:
    """No handles, no memory, no space, no right."""
    if not isinstance(error, OSError | MemoryError):
        return None
    from tidewheel.storage.machine import machine_fault

    doing = f"while working on {archive or 'the archive'}"
    return machine_fault(f"{type(error).__name__}: {error}", doing, state=STATE)


def _not_installed(error: Exception) -> TidewheelError | None:
    """A package that the command needs and this environment does not have."""
    return not_installed(error, "for this command", STATE) if isinstance(error, ModuleNotFoundError) else None


def _spark_lost(error: Exception) -> TidewheelError | None:
    """Whatever fails after the Java process behind Spark has ended fails for that."""
    if "pyspark" not in sys.modules:
        return None
    from tidewheel.jobs.process.java import spark_lost

    return spark_lost(error, STATE)


def _damaged(error: Exception, archive: str) -> TidewheelError | None:
    """The same where only the archive's name is known."""
    import tidewheel.archive

    try:
        return _damage(error, tidewheel.archive.open(archive).job) if archive else None
    except TidewheelError:  # there is no such archive: what failed first is told
        return None


def _damage(error: Exception, job: ArchiveJob) -> TidewheelError | None:
    """A file of the archive that cannot be read, where reading files is what failed. Cost: a look at all of them."""
    from tidewheel.storage.decoding import READ_ERRORS

    if not isinstance(error, READ_ERRORS):
        return None
    from tidewheel.local.derived.damage import damage_behind

    try:
        return damage_behind(error, job)
    except Exception as another:  # what failed first is told
        return another if isinstance(another, TidewheelError) else None


def _unexpected(error: Exception) -> TidewheelError:
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {printable(lines[0])}" if lines else type(error).__name__
    return Unexpected(f"this should not have happened: {said}", "run with --debug for the traceback")
