"""Failures after a commit: the commit stands, and the error says so, whatever it was.

The kinds of `indexing/errors.py` stay, for their exit codes. Any other error is the store's or another process's: the
rest of the work can be tried again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidewheel.indexing.errors import TidewheelError, Unavailable
from tidewheel.indexing.printable import one_line

_UNCHANGED = "Nothing was changed"
SAID_MAX = 500


@contextmanager
def standing_commit(stands: str, left: str) -> Iterator[None]:
    """Add to any error raised here what was committed (`stands`), and what of the operation is `left`.

    >>> try:
    ...     with standing_commit("version 7 stands", "the quarantine is not swept yet"):
    ...         raise ConnectionError("no answer")
    ... except Unavailable as error:
    ...     print(error.message)
    version 7 stands; the quarantine is not swept yet (ConnectionError: no answer)
    """
    try:
        yield
    except TidewheelError as error:
        said = error.message.replace(f". {_UNCHANGED}", "").replace(_UNCHANGED, "")
        remedy = f"{error.remedy}; the command goes on from there" if error.remedy else "run the command again"
        raise type(error)(f"{stands}; {left} ({said})", remedy, **error.values) from error
    except Exception as error:
        said = f"{type(error).__name__}: {one_line(str(error))[:SAID_MAX]}"
        raise Unavailable(f"{stands}; {left} ({said})", "run the command again") from error
