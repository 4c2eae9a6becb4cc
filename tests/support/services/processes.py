"""Processes below a process, and the end of one of them."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path


def kill_one_spark(ancestor: int, age_max_s: float = math.inf) -> bool:
    """End the Java process of a running update at once; False if none runs now, or none that is so young."""
    for pid, command in processes_below(ancestor).items():
        if "java" in command and "SparkSubmit" in command and _age_s(pid) <= age_max_s:
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def _age_s(pid: int) -> float:
    """How long a process has been there; one that has just gone is of any age."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return math.inf
    started_s = int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s


def processes_below(ancestor: int) -> dict[int, str]:
    """The command lines of a process's descendants."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                commands[int(entry.name)] = (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: commands[pid] for pid in found - {ancestor}}
