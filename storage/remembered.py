"""The content of files that never change, kept in this process under their listed size and time.

A log entry or a ledger file is written once. One that is damaged or replaced all the same has another size or another
time of its last change, and is read again.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from tidewheel.storage.location import ListedFile, Location

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The values used last, under their keys; safe among threads."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._count_max:
                self._values.popitem(last=False)


def told_of(location: Location, paths: Sequence[str]) -> list[ListedFile | None]:
    """Return the listing of some files; None for one that is not there. Cost: a look at each."""
    if not location.is_local:
        infos = location.filesystem.get_file_info(list(paths))
        return [ListedFile(one.path, one.size or 0, one.mtime_ns or 0) if one.is_file else None for one in infos]
    return [_told(path) for path in paths]


def _told(path: str) -> ListedFile | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return ListedFile(path, found.st_size, found.st_mtime_ns)
