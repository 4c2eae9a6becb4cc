"""A query file to begin with: valid as it stands, and it says what else there is."""

from __future__ import annotations

from collections.abc import Sequence

from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.toml.kinds import NAME
from tidewheel.queries.standing.query_fields import REFERENCE


def new_query_file(name: str, archive: Definition, columns: Sequence[str]) -> str:
    """The text of the file."""
    NAME.check(name)
    slide = duration_text(archive.axis.interval_us)
    window = duration_text(12 * archive.axis.interval_us)
    return f"""\
# A standing query over the archive {archive.name}. Every key is explained in {REFERENCE}.
# Columns: {", ".join(columns)}
[query]
name = "{name}"
of = "{archive.name}"
select = "count(*) as records"
group_by = ["{archive.key[0]}"]
order_by = "records desc"   # with limit: the largest groups of each answer
limit = 10
window = "{window}"         # or "live": everything alive
slide = "{slide}"
revise = "2d"               # answers this young are corrected by late data, replays, forgets and undo
keep = "90d"
"""
