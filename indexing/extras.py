"""Optional packages: the extra of tidewheel that brings each, and the error that names the command.

`pip install tidewheel` reads; whoever writes, schedules or draws installs more. A face that needs more says so where it
imports it:

    with needed("to update an archive"):
        from tidewheel.jobs.update import update
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidewheel.indexing.errors import NotInstalled

# By extra, the names under which Python imports what it brings; tests/house/test_packaging.py holds them against
# pyproject.toml.
EXTRAS = {
    "spark": ("pyspark", "py4j", "delta"),
    "airflow": ("airflow",),
    "kafka": ("confluent_kafka",),
    "frames": ("pandas", "polars"),
    "lineage": ("openlineage",),
    "plots": ("matplotlib",),
    "sketches": ("datasketches",),
    "solver": ("highspy",),
}


def install_command(extra: str) -> str:
    """
    >>> install_command("spark")
    "pip install 'tidewheel[spark]'"
    """
    return f"pip install 'tidewheel[{extra}]'"


def not_installed(error: ModuleNotFoundError, wanted: str, state: str = "Nothing was changed") -> NotInstalled | None:
    """Return the error to raise for a failed import; None unless a package is missing.

    >>> print(not_installed(ModuleNotFoundError(name="pyspark.sql"), "to update an archive"))
    the Python package pyspark is needed to update an archive, and is not installed. Nothing was changed
      what to do: run: pip install 'tidewheel[spark]'
    """
    package = (error.name or "").partition(".")[0]
    if not package or package == "tidewheel":
        return None
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    command = "pip install tidewheel" if extra is None else install_command(extra)
    message = f"the Python package {package} is needed {wanted}, and is not installed. {state}"
    return NotInstalled(message, f"run: {command}", package=package)


@contextmanager
def needed(wanted: str) -> Iterator[None]:
    """Wrap imports that need an extra: raise NotInstalled in place of ModuleNotFoundError."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = not_installed(error, wanted)
        if missing is None:
            raise
        raise missing from error
