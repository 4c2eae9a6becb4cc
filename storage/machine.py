"""What the operating system refused, told apart from damage: the archive is not at fault, and stays as it was."""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput, NotInstalled, TidewheelError

# Words of the system, of Java, Arrow and delta-rs → what it means, what to do, and the kind of error.
_FAULTS: tuple[tuple[tuple[str, ...], str, str, type[TidewheelError]], ...] = (
    (
        # The second is what every later try in the same Java says. First of all, for its text also names a file.
        ("UnsatisfiedLinkError", "Could not initialize class com.github.luben.zstd", "failed to map segment"),
        "a library that Java brings cannot be loaded",
        "Java unpacks it into its temporary folder, which may be mounted with noexec: name another, on this machine "
        "SPARK_LOCAL_DIRS=/folder, on the workers of a cluster JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/folder",
        NotInstalled,
    ),
    (
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full",
        "free space (tidewheel vacuum removes what is no longer needed), then run the command again",
        InvalidInput,
    ),
    (
        ("Permission denied", "Read-only file system", "Mkdirs failed"),
        "the system does not allow it",
        "give this user the right to read and write there, then run the command again",
        InvalidInput,
    ),
    (
        ("Too many open files",),
        "too many files are open",
        "raise the limit (ulimit -n 4096), then run the command again",
        InvalidInput,
    ),
    (
        ("Cannot allocate memory", "bad_alloc", "OutOfMemoryError", "Java heap space", "MemoryError",
         "malloc of size", "realloc of size", "Out of Memory", "failed to allocate", "INVALID_DRIVER_MEMORY",
         "INVALID_EXECUTOR_MEMORY"),
        "the memory is not enough",
        "bring fewer slots in one commit, give Spark more (SPARK_DRIVER_MEMORY=4g), or lift the limit of this process",
        InvalidInput,
    ),
)  # fmt: skip


def machine_fault(
    text: str, doing: str, said: str = "", *, state: str = "Nothing was changed"
) -> TidewheelError | None:
    """The error to raise if a text speaks of a fault of the machine, else None; `said` is its gist.

    >>> print(machine_fault("IOError: Too many open files (os error 24)", "while reading a.json").message)
    too many files are open while reading a.json (IOError: Too many open files (os error 24)). Nothing was changed
    """
    said = said or " ".join(text.split())[:300]
    for signs, what, remedy, kind in _FAULTS:
        if any(sign in text for sign in signs):
            return kind(f"{what} {doing} ({said}). {state}", remedy)
    return None
