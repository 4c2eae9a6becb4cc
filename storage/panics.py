"""Panics of delta-rs, as a flipped bit in a checkpoint causes them. Python gets a panic as no Exception at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError

from tidewheel.indexing.printable import one_line


@contextmanager
def panics_told() -> Iterator[None]:
    """Around what opens a table: a panic is an error like any other that delta-rs raises."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DeltaError(f"delta-rs panics: {one_line(str(error))}") from error
