"""Stream archives in Delta tables in which every record has its own expiry.

    import tidewheel

    archive = tidewheel.open("netflow")          # archives/netflow.toml, or a path to such a file, or to a table
    archive.probe("10.0.0.7").dicts()            # the live records of one key, in milliseconds, without Spark

Importing this package loads nothing heavy; DuckDB and Spark come in when a method needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidewheel.archive import Archive, open
    from tidewheel.sessions import session

__all__ = ["Archive", "__version__", "open", "session"]


def __getattr__(name: str) -> Any:
    """Load an export of the package on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tidewheel")
    if name == "session":
        from tidewheel.sessions import session

        return session
    if name in __all__:
        from tidewheel import archive

        return getattr(archive, name)
    raise AttributeError(f"module 'tidewheel' has no attribute {name!r}, it offers {', '.join(__all__)}")
