"""Processes below a process, and the end of one of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def kill_one_spark(ancestor: int) -> bool:
    """End the Java process of a running update at once; False if none runs now."""
    for pid, command in processes_below(ancestor).items():
        if "java" in command and "SparkSubmit" in command:
            os.kill(pid, signal.SIGKILL)
            return True
    return False


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
