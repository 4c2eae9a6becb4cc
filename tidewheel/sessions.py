"""Several archives side by side, as of one moment: `tidewheel.session`.

with tidewheel.session({"netflow": "netflow", "customers": "data/customers"}) as session:
    session.sql("select plan, sum(bytes) from netflow join customers using (src) group by plan").dicts()
    session["customers"].sql("select count(*) from live").rows()
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.archive import Archive
from tidewheel.clock import Moment, moment_us
from tidewheel.indexing.durations import parse_duration
from tidewheel.resolve import resolve

if TYPE_CHECKING:
    from tidewheel.sql.session import Session


def session(archives: Mapping[str, str | Path | Archive], *, as_of: Moment | None = None, hold: str = "") -> Session:
    """Archives under the names that SQL shall have for them, each pinned at one version, all read as of one moment.

    An archive is named as for `tidewheel.open`, or is one that is open. The moment is the present unless `as_of`
    names another; archives of historic data have their present at the end of their data.

    `hold="2h"` keeps vacuum from what these versions need for so long, or until the session is closed or its process
    ends. How long is possible follows from `[retention]`: the grace, and by how much `hold` lets readers prolong it.
    """
    from tidewheel.commits.clock import now_us
    from tidewheel.sql.opening import open_session

    opened = {name: one if isinstance(one, Archive) else Archive(resolve(one)) for name, one in archives.items()}
    locations = {name: archive.location for name, archive in opened.items()}
    return open_session(
        locations,
        now_us=now_us,
        as_of_us=None if as_of is None else moment_us(as_of),
        hold_us=parse_duration(hold) if hold else 0,
    )


def session_for(query: str, given: Mapping[str, str], *, as_of: Moment | None = None, hold: str = "") -> Session:
    """A session of the archives that a query names; `given` says where those lie that are not known by their name."""
    from tidewheel.sql.guard import archives_named

    named = archives_named(query)
    return session({name: given.get(name, name) for name in named} | dict(given), as_of=as_of, hold=hold)
