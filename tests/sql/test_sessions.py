"""Several archives at one moment: joined, pinned, fenced in; on the command line too."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidewheel
from tests.sql.test_sql_sandbox import FORBIDDEN
from tests.support.archives.built_table import HOUR_US, BuiltTable, Row, alive
from tests.support.archives.columns import column
from tidewheel.cli import main
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql
from tidewheel.sql.opening import open_session
from tidewheel.sql.read_faults import VersionGone
from tidewheel.sql.session import Session

SLOTS = 4
OUTSIDE = ["select * from live", "from probe('a')", "from flows.live", "from main.flows"]
JOINED = "select f.size, c.plan from flows f join customers c using (src)"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltTable]:
    """Two archives that share a column, some slots each; every version's rows are kept in `history`."""
    folder, chance = tmp_path_factory.mktemp("several"), random.Random(5)
    flows = BuiltTable.create(folder / "flows", [column("src", "string"), column("size", "long")], ["src"])
    customers = BuiltTable.create(folder / "customers", [column("src", "string"), column("plan", "string")], ["src"])
    for table, name, slots in ((flows, "size", SLOTS), (customers, "plan", SLOTS - 1)):
        for slot in range(slots):
            values = [chance.randint(0, 99) for _ in range(40)]
            rows = [
                table.row(
                    slot,
                    (slot + 1) * HOUR_US + chance.randint(1, 5 * HOUR_US),
                    src=f"10.0.0.{chance.randint(0, 9)}",
                    **{name: value if name == "size" else f"plan {value}"},
                )
                for value in values
            ]
            table.append(rows, watermark=slot)
    return {"flows": flows, "customers": customers}


@pytest.fixture
def session(tables: dict[str, BuiltTable]) -> Iterator[Session]:
    with tidewheel.session({name: table.location.root for name, table in tables.items()}) as session:
        yield session


def rows_by(table: BuiltTable, slots: int) -> list[Row]:
    return [row for row in table.rows if row["ins_slot"] < slots]


def joined(tables: dict[str, BuiltTable], slots: dict[str, int], as_of_us: int) -> Counter[tuple[int, str]]:
    """Every pair of records with one source, both applied by then and alive."""
    flows, customers = (alive(rows_by(tables[name], slots[name]), as_of_us) for name in ("flows", "customers"))
    return Counter((f["size"], c["plan"]) for f in flows for c in customers if f["src"] == c["src"])


def test_archives_are_joined_at_one_moment(tables: dict[str, BuiltTable], session: Session) -> None:
    # Historic archives: the present is the latest end of their data.
    assert session.as_of_us == SLOTS * HOUR_US
    assert session.versions == {"flows": SLOTS, "customers": SLOTS - 1}
    answer = session.sql(JOINED)
    assert Counter(answer.rows()) == joined(tables, session.versions, session.as_of_us)
    assert answer.versions == session.versions
    assert answer.as_of_us == session.as_of_us
    with pytest.raises(InvalidInput, match="2 archives were read"):
        _ = answer.version


@pytest.mark.parametrize("at_us", [HOUR_US, 2 * HOUR_US - 1, 2 * HOUR_US, 3 * HOUR_US + 7, 6 * HOUR_US])
def test_each_archive_is_read_at_its_own_version_for_the_moment(tables: dict[str, BuiltTable], at_us: int) -> None:
    places = {name: table.location.root for name, table in tables.items()}
    with tidewheel.session(places, as_of=iso(at_us)) as session:
        slots = {"flows": min(SLOTS, at_us // HOUR_US), "customers": min(SLOTS - 1, at_us // HOUR_US)}
        assert session.versions == slots
        assert Counter(session.sql(JOINED).rows()) == joined(tables, slots, at_us)


def test_a_session_stays_where_it_is(tmp_path: Path) -> None:
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    table.append([table.row(0, 5 * HOUR_US, key="first")], watermark=0)
    with tidewheel.session({"one": tmp_path}) as session:
        old = list(table.rows_by_file)
        table.append([table.row(1, 5 * HOUR_US, key="second")], watermark=1, removed=old)
        assert session.sql("select key from one").rows() == [("first",)]
        assert session["one"].sql("select key from live").rows() == [("first",)]
        for path in old:
            table.path(path).unlink()
        for query in ("select * from one", "select count(*) from live"):
            with pytest.raises(VersionGone, match=r"version 1 of archive built .* outlived the grace"):
                session.sql(query).rows()


def test_live_archives_share_now(tmp_path: Path) -> None:
    tables = {}
    for name, slots in (("a", 2), ("b", 3)):
        tables[name] = table = BuiltTable.create(tmp_path / name, [column("key", "string")], ["key"], clock=Clock.WALL)
        table.append([table.row(0, 9 * HOUR_US, key=name)], watermark=slots - 1)
    places = {name: table.location for name, table in tables.items()}
    assert open_session(places, now_us=lambda: 7 * HOUR_US).as_of_us == 7 * HOUR_US
    assert open_session(places, now_us=lambda: 0).as_of_us == 3 * HOUR_US
    historic = BuiltTable.create(tmp_path / "historic", [column("key", "string")], ["key"])
    with pytest.raises(InvalidInput, match=r"old keeps historic data .* no common present") as refused:
        open_session({**places, "old": historic.location}, now_us=lambda: 0)
    assert "--as-of" in refused.value.remedy
    assert (
        open_session({**places, "old": historic.location}, now_us=lambda: 0, as_of_us=3 * HOUR_US).versions["old"] == 0
    )


@pytest.mark.parametrize("query", [*FORBIDDEN, *OUTSIDE])
def test_the_sandbox_stays_closed(tables: dict[str, BuiltTable], session: Session, tmp_path: Path, query: str) -> None:
    flows = tables["flows"]
    (tmp_path / "secret.csv").write_text("a,b\n1,secret\n")
    names = {
        "file": flows.path(next(iter(flows.rows_by_file))),
        "side": flows.path("_delta_log/00000000000000000000.json"),
        "secret": tmp_path / "secret.csv",
        "root": flows.location.root,
        "new": tmp_path / "new",
    }
    with pytest.raises(InvalidInput):
        session.sql(query.format(**names)).rows()
    assert not (tmp_path / "new").exists()


def test_one_of_several(tables: dict[str, BuiltTable], session: Session) -> None:
    alone = session["customers"]
    assert alone.sql("select count(*) from live").rows() == alone.sql("select count(*) from customers").rows()
    with pytest.raises(InvalidInput, match="there is no table flows here"):
        alone.sql("select * from flows")
    with pytest.raises(InvalidInput, match="holds no archive orders"):
        _ = session["orders"]
    from tidewheel.sql.questions import Probe

    key = alive(tables["customers"].rows, session.as_of_us)[0]["src"]
    expected = [row for row in alive(tables["customers"].rows, session.as_of_us) if row["src"] == key]
    assert len(alone.ask(Probe(key)).rows()) == len(expected)
    with pytest.raises(InvalidInput, match="holds 2 archives"):
        session.ask(Probe(key))


def test_rows_and_files_for_those_who_compute(tables: dict[str, BuiltTable], session: Session) -> None:
    """What standing queries build upon: all records of one batch's files, the live ones, further views."""
    flows, pinned = tables["flows"], session.pinned["flows"]
    for slot in range(SLOTS):
        files = pinned.holding(ins_slot=slot)
        assert {file.path for file in files} == {
            p for p, rows in flows.rows_by_file.items() if rows[0]["ins_slot"] == slot
        }
        stored = session.stored("flows", files)
        columns = ["src", "size", "ins_slot", "exp_slot", "valid_until", "row_hash"]
        assert stored.columns == columns
        hashes = stored.aggregate("ins_slot, count(*), sum(row_hash)::varchar").fetchall()
        batch = [row for row in flows.rows if row["ins_slot"] == slot]
        assert hashes == [(slot, len(batch), str(sum(row["row_hash"] for row in batch)))]
    live = session.live("flows")
    assert live.columns == ["src", "size", "ins_slot", "exp_slot", "valid_until"]
    assert live.aggregate("count(*)").fetchall() == [(len(alive(flows.rows, session.as_of_us)),)]
    assert session.stored("flows", []).aggregate("count(*)").fetchall() == [(0,)]
    by_column = pinned.by_column
    assert sorted(file.path for files in by_column.values() for file in files) == sorted(flows.rows_by_file)
    assert all((file.generation, file.e) == unit for unit, files in by_column.items() for file in files)
    some = next(row for row in flows.rows if row["ins_slot"] == 2)
    cell = {file.path for file in pinned.holding(ins_slot=2, exp_slot=some["exp_slot"])}
    assert cell == {
        path
        for path, rows in flows.rows_by_file.items()
        if rows[0]["ins_slot"] == 2
        and min(r["exp_slot"] for r in rows) <= some["exp_slot"] <= max(r["exp_slot"] for r in rows)
    }


def test_further_views(tables: dict[str, BuiltTable], session: Session) -> None:
    session.register("big", Sql("SELECT src FROM flows WHERE size >= 50"))
    session.register("answers.per_source", Sql("SELECT src, count(*) AS n FROM flows GROUP BY src"))
    live = alive(tables["flows"].rows, session.as_of_us)
    assert session.sql("select count(*) from big").rows() == [(sum(row["size"] >= 50 for row in live),)]
    expected = Counter(row["src"] for row in live)
    for _ in range(2):
        assert dict(session.sql("select src, n from answers.per_source").rows()) == expected
    for query in ("from answers", "from per_source", "from other.per_source"):
        with pytest.raises(InvalidInput, match="there is no table"):
            session.sql(query)


@pytest.mark.parametrize("name", ["", "a b", "a-b", "1a", "a.b.c", "x'y", "file.parquet'"])
def test_names_that_sql_cannot_have(tables: dict[str, BuiltTable], name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be an archive's name"):
        tidewheel.session({name: tables["flows"].location.root})


def test_names_that_are_not_told_apart(tables: dict[str, BuiltTable], session: Session) -> None:
    with pytest.raises(InvalidInput, match="given twice"):
        tidewheel.session({"flows": tables["flows"].location.root, "Flows": tables["customers"].location.root})
    with pytest.raises(InvalidInput, match="given twice"):
        session.register("FLOWS", Sql("SELECT 1"))
    with pytest.raises(InvalidInput, match="needs an archive"):
        tidewheel.session({})


def test_an_explanation_tells_of_each_archive(session: Session) -> None:
    from tidewheel.sql.questions import Query

    told = session.explain(Query(JOINED))
    assert set(told.to_json()["archives"]) == {"flows", "customers"}
    assert any(line.startswith("customers: version 3") for line in told.lines())
    assert told.rows_found == len(session.sql(JOINED).rows())


# The command line.

FILE = """
[archive]
name = "{name}"
path = "../{name}"
key = ["src"]
inserted_at = "at"
expires_at = "until"
[time]
interval = "1h"
max_lifetime = "36h"
[source]
path = "in/{{start:%Y%m%dT%H}}"
format = "parquet"
"""


@pytest.fixture
def project(tables: dict[str, BuiltTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the two archives are known by name."""
    (tmp_path / "archives").mkdir()
    for name, table in tables.items():
        (tmp_path / "archives" / f"{name}.toml").write_text(FILE.format(name=name))
        (tmp_path / name).symlink_to(table.location.root)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEWHEEL_ARCHIVES", raising=False)
    return tmp_path


def run(line: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(main, shlex.split(line))
    return answer.exit_code, answer.stdout, answer.stderr


def test_a_query_names_its_archives(tables: dict[str, BuiltTable], project: Path) -> None:
    expected = joined(tables, {"flows": SLOTS, "customers": SLOTS - 1}, SLOTS * HOUR_US)
    code, said, _ = run(f'sql "{JOINED}" --json')
    document = json.loads(said)
    assert code == 0
    assert document["versions"] == {"customers": SLOTS - 1, "flows": SLOTS}
    assert Counter((row["size"], row["plan"]) for row in document["rows"]) == expected
    same = run('sql flows "select count(*) from live"')[1]
    assert same == run('sql "select count(*) from flows"')[1]
    assert same == run('sql flows "select count(*) from built"')[1], "the table knows its own name"
    assert run('sql "with flows2 as (from flows) select count(*) from flows2"')[1] == same
    assert run('sql "select count(*) from twin" --archive twin=./flows')[1] == same
    assert run('sql "select 1 from twin join flows using (src)" --archive twin=flows')[0] == 0
    code, said, side = run(f'sql "{JOINED}" --as-of 1970-01-01T02:00Z')
    assert "customers version 2, flows version 2, as of 1970-01-01T02:00:00Z" in side
    assert "customers" in run(f'sql "{JOINED}" --explain')[1]
    assert run('sql "describe flows"')[0] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sql flows", ["one query or one view is needed"]),
        ("sql", ["one query or one view is needed"]),
        ('sql "select 1" --view duckdb "x"', ["one query or one view is needed"]),
        ('sql "select * from live"', ["live is the view of one archive", "name it before the query"]),
        ('sql "select * from flow"', ["there is no archive flow", "did you mean flows"]),
        ('sql "select 1"', ["a session needs an archive"]),
        ("sql \"select * from './flows'\"", ["cannot be an archive's name", "--archive"]),
        ('sql "delete from flows"', ["SELECT"]),
        ('sql "select nope from flows"', ["nope", "DESCRIBE"]),
        ('sql "select * from twin" --archive twin', ["--archive NAME=PLACE"]),
        ('sql flows "select 1" --archive twin=flows', ["leave flows out"]),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(project: Path, line: str, words: list[str]) -> None:
    code, said, side = run(line)
    assert (code, said) == (2, "")
    for word in words:
        assert word in side


@pytest.mark.parametrize(
    "line",
    ["status flows", "status flows --json", "probe flows 10.0.0.1 --columns valid_until", "probe flows x --json"],
)
def test_short_commands_load_little(project: Path, line: str) -> None:
    """pyarrow brings numpy, and both together take longer to load than the answer takes."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tidewheel.cli", *line.split()],
        capture_output=True, text=True, check=True, cwd=project,
    )  # fmt: skip
    loaded = {name.rsplit("|", 1)[-1].strip() for name in told.stderr.splitlines() if name.startswith("import time:")}
    assert "deltalake" in loaded
    assert not loaded & {"pyspark", "py4j", "pandas", "pyarrow", "numpy", "airflow"}


def test_reading_loads_no_spark(project: Path) -> None:
    program = "; ".join(
        [
            "import sys, tidewheel",
            f"tidewheel.session({{'flows': 'flows', 'customers': 'customers'}}).sql({JOINED!r}).rows()",
            "tidewheel.open('flows').probe('10.0.0.1').rows()",
            "print([name for name in ('pyspark', 'py4j', 'pandas', 'airflow') if name in sys.modules])",
        ]
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=project)
    assert told.stdout.strip() == "[]"


def test_results_say_what_they_are(tables: dict[str, BuiltTable], session: Session) -> None:
    answer = session.sql(JOINED)
    assert repr(answer) == (
        "<Result of flows version 4, customers version 3 as of 1970-01-01T04:00:00Z: a stream of size, plan>"
    )
    rows = answer.rows()
    assert repr(answer).endswith(f": {len(rows)} rows of size, plan>")
    assert answer.rows() == list(answer) == answer.limited(10**6).rows()
    assert answer.limited(3).rows() == rows[:3]
    with tidewheel.open(tables["flows"].location.root).reader as reader:
        probed = reader.probe("10.0.0.1")
        assert probed.limited(1).rows() == probed.rows()[:1]
        assert probed.limited(10**6).rows() == list(probed)
        assert sum(batch.num_rows for batch in probed.batches()) == probed.arrow().num_rows == len(probed.rows())
