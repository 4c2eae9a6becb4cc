"""Rewritten statements, run by DuckDB, give the rows, ends and slots that the judge gives."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import duckdb
import pytest

from tests.support.models.derived_sql import can_be_said, moment, relations, sql_of, with_ahead
from tests.support.models.derived_statements import random_statement
from tests.support.models.derived_world import World
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.derivations.judge import carried_out_to, rows_at
from tidewheel.sql.derivations.rewriting import Rewriting
from tidewheel.sql.derivations.sources import Relation
from tidewheel.sql.engine.quoting import Sql

MANY = int(os.environ.get("TIDEWHEEL_HISTORIES", "60"))
BEGIN = datetime(2026, 1, 1)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as made:
        yield made


def _check(connection: duckdb.DuckDBPyConnection, seed: int) -> int:
    """Compare one random statement over random histories; the number of its rows."""
    chance = random.Random(seed)
    world = World(seed)
    for _ in range(12):
        world.step_source()
    names = list(world.sources)
    form = with_ahead(random_statement(chance, names))
    if not can_be_said(form):
        return 0
    versions = {name: source.newest for name, source in world.sources.items()}
    stones = {name: source.tombstones for name, source in world.sources.items()}
    at = carried_out_to(versions) - chance.choice((0, 10, 20))
    wanted = Counter(row.stored for row in rows_at(form, versions, stones, at))
    known = relations(connection, versions, stones)
    sql = Rewriting(connection, known, Sql(moment(at))).rewritten(sql_of(form))
    found: Counter[object] = Counter()
    for *values, until, place in connection.execute(sql).fetchall():
        found[tuple(values), int((until - BEGIN).total_seconds() // 60), place] += 1
    assert found == wanted, f"seed {seed}: {sql_of(form)}\n{sql}"
    return sum(wanted.values())


def test_rewritten_statements_are_the_judges(connection):
    rows = [_check(connection, seed) for seed in range(MANY)]
    assert sum(many > 0 for many in rows) > MANY // 3


@pytest.mark.nightly
def test_many_rewritten_statements_are_the_judges(connection):
    for seed in range(10_000, 20_000):
        _check(connection, seed)


REFUSED = [
    ("select c0, count(*) from a group by c0", "takes no GROUP BY"),
    ("select c0 from a limit 3", "takes no LIMIT"),
    ("select c0 from a order by c0", "takes no ORDER BY"),
    ("select c0 from a where c0 not in (select c0 from b)", "takes no NOT IN"),
    ("select c0, (select max(c0) from b) from a", "scalar subquery"),
    ("select a.c0 from a right join b on a.c0 = b.c0", "takes no REGULAR RIGHT join"),
    ("select c0 from a intersect select c0 from b", "takes no INTERSECT"),
    ("select c0, now() from a", "gives another result on each call"),
    ("select c0 from d", "there is no archive d here"),
    ("select c0 from within(a)", "within takes an archive and one value"),
    ("select c0 from newest(a, 2, by => c0)", "newest takes no by"),
    ("select c0 from newest(a, 2, per => c7)", "per names c7, which a has not"),
    ("select c0 from read_csv('x')", "cannot stand behind FROM"),
    ("select rank() over (order by c0) from a", "a window function"),
    ("select distinct on (c0) c0 from a", "takes no DISTINCT ON"),
    ("insert into a values (1)", "only reads"),
    ("select 1; select 2", "2 statements"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_a_derived_archive_does_not_take_is_refused_by_name(connection, text, told):
    columns = Sql(
        "SELECT 1 AS c0, 2 AS c1, NULL::TIMESTAMP AS t, NULL AS _until, 1 AS _place, NULL AS _time, 1 AS _hash"
    )
    known = {name: Relation(name, columns, ("c0", "c1", "t"), Sql("INTERVAL 0 MINUTE")) for name in ("a", "b")}
    with pytest.raises(InvalidInput, match=told):
        Rewriting(connection, known, Sql(moment(0))).rewritten(text)
