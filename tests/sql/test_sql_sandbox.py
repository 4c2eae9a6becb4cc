"""Ad-hoc SQL reads the view `live` and nothing else: not other files, not the archive's own behind the view's back."""

import itertools
import os
from pathlib import Path

import duckdb
import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.connections import open_sandbox
from tidewheel.sql.reader import Reader

EXPIRED = 2 * HOUR_US


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An archive with expired rows still in its files, a secret beside it and a side file inside it."""
    place = tmp_path_factory.mktemp("sandbox")
    table = BuiltTable.create(place / "archive", [column("key", "string"), column("size", "long")], ["key"])
    rows = [table.row(0, EXPIRED, key="gone", size=1), table.row(0, 9 * HOUR_US, key="here", size=2)]
    table.append(rows, watermark=1)
    (place / "secret.csv").write_text("a,b\n1,secret\n")
    (place / "archive" / "_tidewheel").mkdir(exist_ok=True)
    duckdb.execute(f"COPY (SELECT 'secret' AS key) TO '{place}/archive/_tidewheel/side.parquet'")
    return place


@pytest.fixture(scope="module")
def reader(place):
    with Reader.open(place / "archive", now_us=lambda: 0) as reader:
        yield reader


def everything(place):
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


ALLOWED = [
    "select * from live",
    "SELECT key, sum(size) FROM live GROUP BY ALL ORDER BY 1 LIMIT 3;",
    "from live",
    "with big as (select * from live where size > 1) select count(*) from big b join live using (key)",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select * from t",
    "select * from probe('here')",
    "select * from probe_range('a', 'z')",
    "select * from probe_range('a', NULL)",
    "select * from range(3)",
    "select unnest([1, 2]), * from live",
    "(select 1) union all (select size from live)",
    "values (1), (2)",
    "describe live",
    "summarize live",
    "select * from (pivot live on key in ('here') using sum(size))",
    "select (select max(size) from live), exists (from live where size = 2)",
    "select row_number() over (order by size) from live qualify true",
    "select 'read_csv(''/etc/passwd'')', '; drop table live; --' from live /* comment; */ -- another",
]

# {file} is a live data file, {side} another file of the archive, {secret} a file outside, {new} one to be written.
FORBIDDEN = [
    "select current_setting('allowed_paths')",
    "select system.main.CURRENT_SETTING('allowed_paths')",
    "select list_transform([1], lambda x: \"current_setting\"('temp_directory'))",
    "select getvariable('x')",
    "select stats(size) from live",
    "select pg_get_viewdef(1)",
    "select write_log('x')",
    "select json_serialize_plan('select current_setting(''allowed_paths'')', optimize := true)",
    "select json_serialize_plan('from read_parquet(''{file}'')', optimize := true)",
    "select key from live order by json_serialize_plan('from read_parquet(''{file}'')')",
    "select json_deserialize_sql(json_serialize_sql('select 1'))",
    "select * from histogram_values('{file}', size)",
    "select get_block_size('memory')",
    "select * from '{file}'",
    'select * from "{file}"',
    "from '{side}'",
    "from '{secret}'",
    "select * from read_parquet('{file}')",
    "select * from read_parquet(['{file}', '{side}'])",
    "select * from parquet_scan('{file}')",
    "select * from read_parquet('{root}/**/*.parquet')",
    "select * from read_csv('{secret}')",
    "select * from read_csv_auto('/etc/passwd')",
    "select * from read_text('{secret}')",
    "select * from read_blob('{file}')",
    "select * from read_json('{secret}')",
    "select * from sniff_csv('{secret}')",
    "select * from glob('/*')",
    "select * from parquet_metadata('{file}')",
    "select * from parquet_file_metadata('{file}')",
    "select * from parquet_schema('{file}')",
    "select * from main.read_parquet('{file}')",
    "select * from system.main.read_parquet('{file}')",
    "select * from query('from read_parquet(''{file}'')')",
    "select * from query_table('{file}')",
    "select * from query_table(['{file}'])",
    "from json_execute_serialized_sql(json_serialize_sql('from ''{file}'''))",
    "select (select max(size) from '{file}')",
    "select * from live where key in (select key from '{file}')",
    "select * from live order by (select max(size) from '{file}')",
    "select * from live, lateral (select * from '{file}')",
    "select * from live union all select *, 1, 1, now() from '{file}'",
    "with x as (from '{file}') from x",
    'with "{file}" as (select 1) select * from "{file}"',
    "select * from (with \"{file}\" as (select 1) select 1) a, '{file}' b",
    "with x as materialized (from '{file}') from x",
    "with recursive x as (from '{file}' union all from x) from x",
    "with x as (copy (select 1) to '{new}') from x",
    "with x as (copy (select 1) to '{file}' (format parquet, use_tmp_file false)) from x",
    "copy (select 1) to '{file}' (format parquet, use_tmp_file false)",
    "copy live to '{new}'",
    "with x as (insert into live values ('a', 1)) from x",
    "with x as (delete from live returning *) from x",
    "with x as (update live set size = 1 returning *) from x",
    "describe '{file}'",
    "summarize '{file}'",
    "show '{file}'",
    "show tables",
    "from (show all tables)",
    "table '{file}'",
    "select * from '{file}' at (version => 1)",
    "select * from information_schema.tables",
    "select * from duckdb_settings()",
    "select * from duckdb_views()",
    "select * from duckdb_secrets()",
    "select * from pragma_version()",
    "select * from which_secret('s3://a', 's3')",
    "select getenv('HOME')",
    "attach '{new}' as other",
    "attach '{secret}'",
    "detach memory",
    "use memory",
    "install httpfs",
    "load httpfs",
    "load '{secret}'",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "set allowed_paths = ['/']",
    "set variable a = 1",
    "reset lock_configuration",
    "pragma enable_profiling",
    "pragma database_list",
    "call pragma_version()",
    "explain select 1",
    "explain analyze select 1",
    "create table x as select 1",
    "create or replace view live as select 1",
    "create or replace temp view live as select 1",
    "create macro f(a) as a",
    "create secret (type s3)",
    "drop view live",
    "insert into live values ('a', 1)",
    "delete from live",
    "update live set size = 1",
    "export database '{new}'",
    "import database '{root}'",
    "checkpoint",
    "vacuum",
    "begin",
    "prepare p as select 1",
    "execute p",
    "select 1; select 2",
    "select 1; copy live to '{new}'",
    "merge into live using live b on true when matched then delete",
    "",
    ";",
    "-- nothing",
    "not sql at all",
    "select * from nowhere",
    "select * from python_variable",
    "select * from arrow_scan(1, 2, 3)",
    "select nope from live",
    "select 'open",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_a_select_over_live_runs(reader, query):
    rows = reader.sql(query).rows()
    assert not any("gone" in map(str, row) for row in rows)


@pytest.mark.parametrize("query", FORBIDDEN)
def test_nothing_else_runs(reader, place, tmp_path, query):
    python_variable = [1]
    names = {
        "file": next(path for path in (place / "archive").rglob("part-*.parquet")),
        "side": place / "archive" / "_tidewheel" / "side.parquet",
        "secret": place / "secret.csv",
        "root": place / "archive",
        "new": tmp_path / "new",
    }
    before = everything(place)
    with pytest.raises(InvalidInput):
        reader.sql(query.format(**names)).rows()
    assert everything(place) == before
    assert not list(tmp_path.iterdir())
    assert python_variable == [1]
    assert reader.sql("select key from live").rows() == [("here",)]


FILTERS = [
    "true",
    "size > 1",
    "size > 1 -- why",
    "size between 1 and 2 /* so */",
    "key in (select key from live)",
    "(size) = 2",
    "$$a$$ = 'a'",
]
NO_FILTERS = [
    "",
    "true)",
    "true) or (true",
    "true) union all (select * from live",
    "true; drop view live",
    "size > 1 from live",
    "size > 1 limit 1",
    "size > 1 order by size",
    "key as name",
    "key in (select key from '{file}')",
    "exists (from read_csv('/etc/passwd'))",
    "/* open",
    "true --\n) union all (select 1",
    "1 = 1 where true",
    "distinct true",
]


@pytest.mark.parametrize("where", FILTERS)
def test_a_filter_is_an_expression(reader, where):
    assert reader.scan(where).rows() == [("here", 2)]


@pytest.mark.parametrize("where", NO_FILTERS)
def test_a_filter_is_nothing_else(reader, place, where):
    file = next((place / "archive").rglob("part-*.parquet"))
    with pytest.raises(InvalidInput):
        reader.scan(where.format(file=file)).rows()


def test_the_fence_stands_without_the_guard(reader, place, tmp_path):
    """What the settings alone keep out, should the check of the syntax ever miss something."""
    file = next((place / "archive").rglob("part-*.parquet"))
    sandbox = open_sandbox([str(file)])
    assert sandbox.sql(f"select count(*) from '{file}'").fetchall() == [(1,)]
    attacks = [
        query
        for query in FORBIDDEN
        if any(w in query for w in ("{secret}", "{side}", "{new}", "/etc", "set ", "install", "load"))
    ]
    assert len(attacks) > 20
    for attack in attacks:
        if attack.startswith("set variable"):
            continue
        with pytest.raises(duckdb.Error):
            sandbox.sql(
                attack.format(
                    file=file,
                    side=place / "archive/_tidewheel/side.parquet",
                    secret=place / "secret.csv",
                    root=place,
                    new=tmp_path / "new",
                )
            ).fetchall()
    assert not list(tmp_path.iterdir())


def test_a_query_leaves_nothing_behind(reader):
    here = set(os.listdir())
    reader.sql("select key from live order by key").rows()
    assert set(os.listdir()) == here
    assert not Path(".tmp").exists()


def functions_of_duckdb(*, all_of_them):
    """Scalar functions and macros of up to two values, but for those that only let time pass."""
    which = "true" if all_of_them else "stability <> 'CONSISTENT'"
    listed = duckdb.execute(
        "select distinct function_name, len(parameters) from duckdb_functions() "
        f"where function_type in ('scalar', 'macro') and len(parameters) <= 2 and {which} order by all"
    )
    return [(name, values) for name, values in listed.fetchall() if name.isidentifier() and "sleep" not in name]


@pytest.mark.parametrize(
    ("all_of_them", "calls_min"), [(False, 40), pytest.param(True, 1000, marks=pytest.mark.nightly)]
)
def test_no_function_tells_where_the_files_lie(reader, place, all_of_them, calls_min):
    """A sweep over DuckDB's own list, so that a function of a later version is seen as well."""
    told, calls = set(), 0
    for name, values in functions_of_duckdb(all_of_them=all_of_them):
        for given in itertools.product(("'allowed_paths'", "1"), repeat=values):
            try:
                said = str(reader.sql(f'select "{name}"({", ".join(given)})').rows())
            except InvalidInput as error:
                said = str(error)
            calls += 1
            if str(place) in said:
                told.add(name)
    assert not told
    assert calls > calls_min


@pytest.mark.parametrize("query", ["delete from live", "pragma version", "explain select 1", "set threads = 1"])
def test_what_is_no_select_is_told_as_that(reader, query):
    with pytest.raises(InvalidInput, match="it is no SELECT, and a query only reads"):
        reader.sql(query)


def test_an_error_of_several_lines_is_told_in_one(reader):
    with pytest.raises(InvalidInput) as caught:
        reader.sql("select\n  keyy\nfrom live").rows()
    assert "Binder Error" in caught.value.message
    assert "\\n" not in caught.value.message.partition("failed: ")[2]
    assert "LINE" not in caught.value.message
