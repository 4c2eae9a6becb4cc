"""Sources in PostgreSQL, read by JDBC from a real server: the interval is asked for there, not filtered here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.archives.byte_search import holders
from tests.support.services.servers import Postgres, postgres, require_jars
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput, NotInstalled
from tidewheel.jobs.data.source import read_batch

# 600 rows, 10 minutes apart, from midnight on; slot n of 2026 is its hour n.
TABLE = """
create table events (
    id bigint primary key,
    at timestamptz not null,
    wall_time timestamp not null,
    until timestamptz not null
);
insert into events
select i, t, t at time zone 'UTC', t + interval '1 day'
from (select i, '2026-01-01T00:00:00Z'::timestamptz + i * interval '10 minutes' as t from generate_series(0, 599) i) v;
create index on events (at);
"""
ARCHIVE = """
[archive]
name = "events"
path = "/nowhere/events"
key = ["id"]
expires_at = "until"
[time]
interval = "1h"
max_lifetime = "7d"
epoch = "2026-01-01T00:00:00Z"
[source]
format = "jdbc"
time_column = "{time_column}"
[source.options]
url = "{url}"
dbtable = "events"
user = "{user}"
password = "${{ENV:EVENTS_PASSWORD}}"
{more}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    require_jars("postgresql")
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.execute(TABLE)
        yield running


def archive_of(server: Postgres, time_column: str = "at", more: str = "") -> ArchiveFile:
    text = ARCHIVE.format(time_column=time_column, url=server.jdbc_url, user=server.user, more=more)
    return parse_archive_file(text, "events.toml")


def ids_by_slot(spark: SparkSession, file: ArchiveFile, slots: list[int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row in read_batch(spark, file, slots).frames[0].select("id", "ins_slot").collect():
        rows.setdefault(row["ins_slot"], []).append(row["id"])
    return {slot: sorted(ids) for slot, ids in rows.items()}


def asked(server: Postgres) -> list[str]:
    """The queries for rows that the server has seen."""
    return re.findall(r"SELECT .* FROM events +WHERE \(.*", server.log.read_text())


@pytest.mark.parametrize("time_column", ["at", "wall_time"])
def test_the_server_is_asked_for_the_interval_alone(
    server: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, time_column: str
) -> None:
    monkeypatch.setenv("EVENTS_PASSWORD", server.password)
    before = len(asked(server))
    found = ids_by_slot(spark, archive_of(server, time_column), [10, 11, 20])
    assert found == {slot: list(range(6 * slot, 6 * slot + 6)) for slot in (10, 11, 20)}
    (query,) = asked(server)[before:]
    for moment in ("2026-01-01 10:00:00", "2026-01-01 12:00:00", "2026-01-01 20:00:00", "2026-01-01 21:00:00"):
        assert f'"{time_column}" >= \'{moment}' in query or f'"{time_column}" < \'{moment}' in query


def test_a_partitioned_read_is_several_queries(
    server: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENTS_PASSWORD", server.password)
    more = 'partitionColumn = "id"\nlowerBound = "0"\nupperBound = "600"\nnumPartitions = "3"'
    before = len(asked(server))
    assert ids_by_slot(spark, archive_of(server, more=more), [33]) == {33: list(range(198, 204))}
    queries = asked(server)[before:]
    assert len(queries) == 3
    assert all("2026-01-02 09:00:00" in query and '"id"' in query for query in queries)


def test_the_lineage_names_the_table_and_no_secret(
    server: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENTS_PASSWORD", server.password)
    batch = read_batch(spark, archive_of(server), [10])
    assert batch.lineage[10] == ("jdbc events 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z",)


def test_a_wrong_password_is_refused_without_showing_it(
    server: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENTS_PASSWORD", "another-secret")
    with pytest.raises(InvalidInput, match="cannot be read") as refused:
        read_batch(spark, archive_of(server), [10])
    assert "another-secret" not in str(refused.value)


def test_a_missing_driver_is_named_with_its_remedy(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    monkeypatch.setenv("EVENTS_PASSWORD", "any")
    with pytest.raises(NotInstalled, match="postgresql"):
        read_batch(spark, archive_of(Postgres(1, "nobody", "", tmp_path)), [10])


SECRETS = {
    "EVENTS_PASSWORD": "",  # the server's own
    "AWS_ACCESS_KEY_ID": "AKIAMARKEROFATEST",
    "AWS_SECRET_ACCESS_KEY": "secret-marker-of-a-test",
    "AWS_SESSION_TOKEN": "token-marker-of-a-test",
}
COMMANDS = (
    *("init {file} --slot 2026-01-01T00:00Z", "update {file} --slot 2026-01-01T00:00Z --json", "status {file} --json"),
    *("history {file} --json", "audit {file}", "update {file} --slot 2026-01-01T01:00Z --debug"),
    "update {bad} --slot 2026-01-01T02:00Z --debug",
)


@pytest.mark.nightly
def test_no_secret_is_printed_stored_or_passed_on_a_command_line(server: Postgres, tmp_path: Path) -> None:
    secrets = {**SECRETS, "EVENTS_PASSWORD": server.password}
    text = ARCHIVE.format(time_column="at", url=server.jdbc_url, user=server.user, more="")
    file, bad = tmp_path / "events.toml", tmp_path / "bad.toml"
    file.write_text(text.replace("/nowhere/events", str(tmp_path / "table")))
    bad.write_text(file.read_text().replace('dbtable = "events"', 'dbtable = "no_such_table"'))
    said, seen = [], set[str]()
    for line in COMMANDS:
        command = [sys.executable, "-m", "tidewheel.cli", *line.format(file=file, bad=bad).split()]
        process = subprocess.Popen(
            command, env={**os.environ, **secrets}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        watcher = Thread(target=_watch, args=(process, seen))
        watcher.start()
        said.append(process.communicate()[0])
        watcher.join()
        assert (process.returncode == 0) == ("{bad}" not in line), said[-1]
    assert any("java" in one for one in seen), "Java's command line was seen"
    for name, secret in secrets.items():
        assert not [one for one in (*said, *seen) if secret in one], name
        assert holders(tmp_path / "table", [secret]) == {}, name


def _watch(process: subprocess.Popen[str], seen: set[str]) -> None:
    """The command lines of a process and all that it starts."""
    while process.poll() is None:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(entry.name)) == process.pid:
                    seen.add((entry / "cmdline").read_text(errors="replace"))
            except OSError:
                continue  # it has ended
        sleep(0.1)


HOUR_THAT_COMES_TWICE = """
import sys
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.jobs.process.session import open_session
from tidewheel.jobs.data.source import read_batch
file = parse_archive_file(sys.stdin.read(), "events.toml")
for name in sys.argv[1:]:
    slot = int(name)
    print("slot", slot, sorted(row["id"] for row in read_batch(open_session(), file, [slot]).frames[0].collect()))
"""


@pytest.mark.cluster
@pytest.mark.parametrize("time_column", ["at", "wall_time"])
def test_the_time_zone_of_the_machine_does_not_matter(server: Postgres, time_column: str) -> None:
    # 05:30Z and 06:30Z are both 01:30 on that morning in New York.
    server.execute(
        "insert into events select n, t, t at time zone 'UTC', t from (values"
        " (1001, '2026-11-01T05:30:00Z'::timestamptz), (1002, '2026-11-01T06:30:00Z'::timestamptz)) as v (n, t)"
        " on conflict do nothing"
    )
    text = ARCHIVE.format(time_column=time_column, url=server.jdbc_url, user=server.user, more="")
    surroundings: dict[str, Any] = {**os.environ, "TZ": "America/New_York", "EVENTS_PASSWORD": server.password}
    command = [sys.executable, "-c", HOUR_THAT_COMES_TWICE, "7301", "7302"]
    done = subprocess.run(command, input=text, env=surroundings, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["slot 7301 [1001]", "slot 7302 [1002]"], done.stderr
