"""Standing queries of an archive that got a column: of batches from before, it is NULL, wherever their records are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import Schema

from tests.support.archives import local_archive
from tests.support.archives.asked_archive import QUERIES, asked_archive, events
from tests.support.archives.columns import column
from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import COLUMNS, OVER_3M, TOTAL, answers, event, refresh
from tidewheel.cli import main
from tidewheel.commits.accounting import bare_receipt
from tidewheel.commits.attempt_id import new_attempt
from tidewheel.commits.commit import commit_schema
from tidewheel.indexing.core.receipts import Deed
from tidewheel.local.rows import in_schema
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled
from tidewheel.storage.ledger_store import state_of


def add_a_column(archive: LocalArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that come do not have it."""
    job, snapshot = archive.job, archive.job.snapshot()
    receipt = bare_receipt(job, state_of(snapshot), Deed.WIDEN, new_attempt(job.clock()), "new columns: extra")
    fields, count = snapshot.schema.fields, len(snapshot.columns)
    commit_schema(snapshot, receipt, Schema([*fields[:count], column("extra", "long"), *fields[count:]]))
    table_of = local_archive._table

    def widened(events: Any, schema: pa.Schema, axis: Any) -> pa.Table:
        return in_schema(table_of(events, schema.remove(schema.get_field_index("extra")), axis), schema)

    monkeypatch.setattr(local_archive, "_table", widened)


def of_extra() -> Query:
    (text,) = parse_query_file(f'[query]\nname = "x"\nof = "m"\nselect = "count(extra) as n"\n{OVER_3M}', "q.toml")
    query, faults = read_query(SelectParser(COLUMNS | {"extra": "BIGINT"}), settled(text, MINUTE_US))
    assert query is not None, faults
    return query


def test_records_that_expired_or_were_not_stored_come_from_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)]})
    refresh(archive.job, [TOTAL])
    archive.update({1: [event(1, 2, lives=1), event(1, 4), event(1, 8, lives=0)]})
    add_a_column(archive, monkeypatch)
    archive.update({2: [event(2, 16)]})
    refresh(archive.job, [TOTAL, of_extra()])
    found = answers(archive, TOTAL, minutes=True)[3,]
    assert (found["total"], found["complete"]) == (31, 1)
    assert answers(archive, of_extra(), minutes=True)[3,]["n"] == 0


@pytest.mark.parametrize(
    "body", ["select = \"max({'a': v}) as z\"", 'select = "count(*) as n"\ngroup_by = ["{\'a\': k} as z"]']
)
def test_a_later_query_may_bring_columns_with_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """Every later refresh failed: the log told no bounds of the columns behind them."""
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = asked_archive(tmp_path)
    assert run("refresh", "m") == 0
    more = f'[[query]]\nname = "fields"\nof = "m"\n{body}\n{OVER_3M}\n'
    (tmp_path / "archives" / "queries" / "m.toml").write_text(QUERIES + more)
    assert run("refresh", "m") == 0
    archive.update({6: events(6)})
    assert run("refresh", "m") == 0
    assert [run("ask", "m", name) for name in ("by_key", "fields")] == [0, 0]
    assert [run("audit", name) for name in ("m.partials", "m.answers")] == [0, 0]


def run(*command: str) -> int:
    return CliRunner().invoke(main, list(command)).exit_code
