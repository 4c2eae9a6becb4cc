"""The end of programs and of all that they started, also of processes with their own session, as Airflow's tasks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection
from contextlib import suppress
from typing import Any


def stop_trees(processes: Collection[subprocess.Popen[bytes]], within_s: float) -> list[str]:
    """Ask groups of processes to end, wait so long, and kill the rest of their trees; return the killed ones' names."""
    import psutil  # type: ignore[import-untyped]

    # Before they end: a child whose parent is gone belongs to nobody that could be asked for it.
    known = _below(processes)
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    _, left = psutil.wait_procs(known, within_s)
    left = [*dict.fromkeys([*left, *_below(processes)])]
    killed = []
    for one in left:
        with suppress(psutil.NoSuchProcess):
            killed.append(one.name())
            one.kill()
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return killed


def _below(processes: Collection[subprocess.Popen[bytes]]) -> list[Any]:
    """Return the processes that are still there, and all below them."""
    import psutil

    found: list[Any] = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(process.pid)
            found += [top, *top.children(recursive=True)]
    return found
