"""Content that can be read and is not what was written: a flipped bit in a name or a number leaves a text of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidewheel.indexing.errors import Damaged, NewerFormat
from tidewheel.indexing.printable import one_line


@contextmanager
def understood(what: str, remedy: str) -> Iterator[None]:
    """Around what makes values of JSON: the file is damaged if that fails, by a guard of the values as well.

    A newer format alone is no damage.
    """
    try:
        yield
    except NewerFormat:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        said = f"{type(error).__name__}: {one_line(str(error))}"
        raise Damaged(f"{what} is not what was written ({said})", remedy) from error
