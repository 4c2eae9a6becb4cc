"""Standing queries of small real archives, the records that they ask, and their answers as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.slots import micros
from tidewheel.jobs.audit.compare import audit
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled

COLUMNS = {"k": "VARCHAR", "r": "BIGINT", "v": "BIGINT", "x": "DOUBLE", "t": "TIMESTAMP WITH TIME ZONE"}


def query_of(name: str, body: str) -> Query:
    (text,) = parse_query_file(f'[query]\nname = "{name}"\nof = "m"\n{body}', "q.toml")
    query, faults = read_query(SelectParser(COLUMNS), settled(text, MINUTE_US))
    assert query is not None, faults
    return query


TOTAL = query_of(
    "total", 'select = "sum(v) as total, count(*) as n"\nwindow = "3m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"'
)
BY_KEY = query_of(
    "by_key", 'select = "max(v) as most"\ngroup_by = ["k"]\nwindow = "2m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"'
)
OVER_3M = 'window = "3m"\nslide = "1m"\nrevise = "9m"\nkeep = "1h"'
ALIVE = query_of("alive", 'select = "count(*) as n"\nwindow = "live"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"')


def event(slot: int, v: int, k: str = "a", lives: int = 4) -> Event:
    at_us = slot * MINUTE_US + 1
    return Event(k, v, at_us, (slot + lives) * MINUTE_US + 1)


def answers(archive: LocalArchive, query: Query, *, minutes: bool = False) -> dict[tuple[Any, ...], dict[str, Any]]:
    from tidewheel.local.partials.stored_columns import answer_columns
    from tidewheel.local.rows import file_schema, rows_of
    from tidewheel.storage.snapshot import open_snapshot

    snapshot = open_snapshot(archive.job.location.derived("answers"))
    rows = rows_of(snapshot.location, snapshot.files, file_schema(snapshot)).to_table().to_pylist()
    found = {}
    for row in rows:
        if row["part"] == query.part:
            values = {name: row[stored] for name, (stored, _) in answer_columns(query).items()}
            values |= {name: row[name] for name in ("rows", "complete", "revision")}
            at_us = micros(row["window_end"])
            at = at_us // MINUTE_US if minutes else at_us
            key = (at, *(values[one.name] for one in query.groups))
            assert key not in found, "each answer once"
            found[key] = values
    return found


def refresh(job: ArchiveJob, queries: Sequence[Query]) -> Refreshed:
    """Refresh as the product does, and raise what kept a query from being answered."""
    from tidewheel.local.standing.refresh import Refresh

    done = Refresh(job, queries).run()
    if done.wrong:
        raise done.wrong
    return done


def audit_is_clean(archive: LocalArchive) -> bool:
    return all(audit(derived_job(archive.job, kind), deep=False).clean for kind in ("partials", "answers"))


def vacuum_everything(archive: LocalArchive) -> None:
    """Everything that is not in the newest version goes."""
    archive.now_us += 10 * archive.grace_us + 10**12
    vacuum(archive.job)
