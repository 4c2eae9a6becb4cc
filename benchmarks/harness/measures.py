"""What is measured beside time: memory of the processes, bytes on disk, and files put out of the page cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000


def resident_bytes(pid: int | None = None) -> int:
    """The resident memory of a process, this one by default; 0 where /proc does not tell."""
    try:
        pages = Path(f"/proc/{pid or os.getpid()}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def java_resident_bytes(spark: Any) -> int:
    """The resident memory of Spark's JVM."""
    return resident_bytes(int(spark._jvm.java.lang.ProcessHandle.current().pid()))


def java_heap_bytes(spark: Any) -> int:
    """What is in use on the JVM's heap after a collection: resident memory only ever grows to the heap's bound."""
    spark._jvm.java.lang.System.gc()
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def written_by_process() -> int:
    """Bytes that this process has passed to write calls so far; 0 where /proc does not tell."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return int(dict(line.split(": ") for line in lines)["wchar"])


def sizes_below(folder: Path) -> dict[str, int]:
    """Every file below a folder with its size."""
    return {entry.path: entry.stat().st_size for entry in _files(str(folder))}


def put_out_of_cache(paths: Iterable[str]) -> bool:
    """Drop files from the page cache, and no others; whether the system let us."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(descriptor)  # what is not on the disk yet cannot be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    return True


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                yield entry
