"""Content that can be read and is still wrong: a flipped bit in a name or a number leaves valid JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidewheel.indexing.errors import Damaged, NewerFormat
from tidewheel.indexing.printable import one_line


@contextmanager
def understood(what: str, remedy: str) -> Iterator[None]:
    """Wrap the making of values from JSON: whatever error it raises, the file is damaged; a newer format is not."""
    try:
        yield
    except NewerFormat:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        said = f"{type(error).__name__}: {one_line(str(error))}"
        raise Damaged(f"{what} is not what was written ({said})", remedy) from error
