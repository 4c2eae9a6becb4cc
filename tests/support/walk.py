"""Which files of the product an operation passes, in the order in which each is first entered: seen, not read."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def walk() -> Iterator[list[str]]:
    """The files whose functions are called meanwhile, in this thread and in those that it starts.

    What runs while a module is imported is no step of the operation: it is left out.
    """
    files: list[str] = []
    places: dict[str, str] = {}

    def enter(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        name = frame.f_code.co_filename
        place = places.get(name)
        if place is None:
            place = places[name] = _place(name)
        if place and place not in files and _is_function(frame) and not _is_importing(frame):
            files.append(place)

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _place(name: str) -> str:
    """The file as in the source tree, jobs/update.py; nothing for files of others."""
    path = Path(name)
    if not path.is_absolute() or not path.exists():
        return ""
    path = path.resolve()
    if not path.is_relative_to(ROOT) or path.is_relative_to(ROOT / "tests") or path.is_relative_to(ROOT / ".venv"):
        return ""
    return path.relative_to(ROOT).as_posix()


def _is_function(frame: FrameType) -> bool:
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _place(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
