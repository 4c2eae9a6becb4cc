"""Several archives side by side, as of one moment: `tidewheel.session`.

with tidewheel.session({"netflow": "netflow", "customers": "data/customers"}) as session:
    session.sql("select plan, sum(bytes) from netflow join customers using (src) group by plan").dicts()
    session["customers"].sql("select count(*) from live").rows()
    session.sql("select * from answers.top_talkers").dicts()    # of standing queries

Beside the archives, a session has the answers of their standing queries as views; if two archives have queries of one
name, neither of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.archive import Archive
from tidewheel.handle import Handle
from tidewheel.indexing.durations import parse_duration
from tidewheel.indexing.errors import InvalidInput
from tidewheel.moments import Moment, moment_us
from tidewheel.resolve import archives_folder, resolve

if TYPE_CHECKING:
    from tidewheel.sql.session import Session
    from tidewheel.storage.location import Location

ANSWERS = "answers."


def session(archives: Mapping[str, str | Path | Archive], *, as_of: Moment | None = None, hold: str = "") -> Session:
    """Archives under the names that SQL shall have for them, each pinned at one version, all read as of one moment.

    An archive is named as for `tidewheel.open`, or is one that is open. The moment is the present unless `as_of`
    names another; archives of historic data have their present at the end of their data.

    `hold="2h"` keeps vacuum from what these versions need for so long, or until the session is closed or its process
    ends. How long is possible follows from `[retention]`: the grace, and by how much `hold` lets readers prolong it.
    """
    opened = {name: one if isinstance(one, Archive) else Archive(resolve(one)) for name, one in archives.items()}
    return _opened(opened, None if as_of is None else moment_us(as_of), parse_duration(hold) if hold else 0)


def session_with_answers(archive: Handle, as_of: Moment | None = None) -> Session:
    """An archive alone, with the answers of its standing queries."""
    as_of_us = None if as_of is None else moment_us(as_of)
    return _opened({archive.snapshot().definition.name: archive}, as_of_us, 0)


def _opened(archives: Mapping[str, Handle], as_of_us: int | None, hold_us: int) -> Session:
    from tidewheel.commits.clock import now_us
    from tidewheel.sql.opening import open_session

    locations = {name: archive.location for name, archive in archives.items()}
    beside = {name: one for name, one in _answers_of(locations, as_of_us).items() if name not in locations}
    opened = open_session(locations, now_us=now_us, as_of_us=as_of_us, hold_us=hold_us, beside=beside)
    if beside:
        _register_answers(opened, beside)
    return opened


def _answers_of(locations: Mapping[str, Location], as_of_us: int | None) -> dict[str, Location]:
    """Return the locations of archives' answers, if they reach back to that moment."""
    from tidewheel.sql.opening import snapshot_as_of, snapshot_at

    found = {}
    for name, location in locations.items():
        answers = location.derived("answers")
        if "." in name or not answers.has_log():
            continue
        try:
            if as_of_us is not None:
                snapshot_as_of(snapshot_at(answers), as_of_us)
        except InvalidInput:
            continue
        found[f"{name}.answers"] = answers
    return found


def _register_answers(session: Session, beside: Iterable[str]) -> None:
    from tidewheel.local.standing.views import answer_views
    from tidewheel.sql.engine.quoting import Sql, join, quote_identifier

    views: list[tuple[str, Sql]] = []
    for name in beside:
        source = join(".", map(quote_identifier, name.split(".")))
        views += answer_views(session.pinned[name].snapshot, source).items()
    names = Counter(name for name, _ in views)
    for name, select in views:
        if names[name] == 1:
            session.register(name, select)


def session_for(query: str, given: Mapping[str, str], *, as_of: Moment | None = None, hold: str = "") -> Session:
    """A session of the archives that a query names; `given` says where those lie that are not known by their name."""
    from tidewheel.sql.statements.guard import archives_named

    tables = archives_named(query)
    asked = {name.partition(".")[2] for name in tables if name.startswith(ANSWERS)}
    named = {name for name in tables if not name.startswith(ANSWERS)} | set(given)
    named |= _asked_by(asked, named)
    return session({name: given.get(name, name) for name in sorted(named)}, as_of=as_of, hold=hold)


def _asked_by(queries: Iterable[str], named: Collection[str]) -> set[str]:
    """The archives that standing queries ask, by the queries' names; `named` are preferred."""
    from tidewheel.query_files import read_texts

    texts = read_texts(archives_folder())[0] if queries else []
    found = set()
    for query in queries:
        archives = {text.of for text in texts if text.name == query}
        archives = archives & set(named) or archives
        if len(archives) != 1:
            several = f"{', '.join(sorted(archives))} have each one" if archives else "no query file has it"
            raise InvalidInput(
                f"which archive is the standing query {query} of? {several}",
                f"name the archive: tidewheel sql ARCHIVE 'select ... from {ANSWERS}{query}'",
            )
        found |= archives
    return found
