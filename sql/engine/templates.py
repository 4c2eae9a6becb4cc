"""The statements of this room lie in .sql files beside it; values come in as `Sql` only."""

from __future__ import annotations

from functools import cache
from importlib import resources

from tidewheel.sql.engine.quoting import Sql


def render(name: str, **parts: Sql) -> Sql:
    """The statement in `<name>.sql` with its {placeholders} filled."""
    return Sql(_template(name).format(**parts))


@cache
def _template(name: str) -> str:
    lines = (resources.files(__package__) / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    # The comments are for people who read the file; statements are parsed anew for every probe.
    return "\n".join(line for line in lines if not line.startswith("--"))
