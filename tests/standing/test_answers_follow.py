"""Commands that change an archive bring the answers of its standing queries, and are done whatever becomes of these."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tidewheel
from benchmarks.archives.described_archive import records_of
from tests.support.archives.asked_archive import answers, asked_archive, told
from tests.support.archives.local_archive import MINUTE_US
from tests.support.archives.toml_archives import TomlArchive, first_slot_fed
from tidewheel.cli import main
from tidewheel.commits.attempt import Outcome
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.slots import iso

COUNTED = '[query]\nof = "tide"\nselect = "count(*) as n"\ngroup_by = ["key"]\nwindow = "20m"\nrevise = "1d"\n'
NEXT = f"expire m --through {iso(6 * MINUTE_US)} --allow-jump"


def typed(line: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, shlex.split(line))
    assert done.exit_code == code, done.output
    return done


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an archive m whose queries are answered."""
    asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    typed("refresh m")
    return tmp_path


def newest(name: str) -> list[dict[str, Any]]:
    return answers([name])[name]


@pytest.mark.usefixtures("spark")
def test_updates_and_backfills_bring_the_answers(tmp_path: Path) -> None:
    tide = first_slot_fed(tmp_path)
    queries = tide.path.parent / "queries"
    queries.mkdir()
    assert "refresh" not in updated(tide, 1), "nobody asks"
    (queries / "counted.toml").write_text(COUNTED)
    assert "refresh" not in updated(tide, 2, "--no-refresh")
    assert "refresh" not in updated(tide, 2, "--dry-run")
    assert not Path(f"{tide.open().path}.answers").exists()
    assert updated(tide, 2)["refresh"]["partials_made"] == 3
    followed = updated(tide, 3)["refresh"]
    assert (followed["queries"], followed["error"]) == (["counted"], None)
    assert followed["answers_given"] >= 1
    # Once behind all commits of a backfill; a query with faults keeps nobody else from answers, nor the command from 0.
    (queries / "bad.toml").write_text(COUNTED.replace("count(*)", "sum(nothing)"))
    tide.write_batches([3], edition=1)
    start, end = tide.axis.name(1), tide.axis.name(4)
    done = typed(f"backfill {tide.path} --from {start} --to {end} --allow-shrink")
    assert done.stdout.count("standing queries: 2 answers given, 1 of them corrected") == 1
    assert "not all of its standing queries have followed" in words(done.stderr)
    assert "bad.toml:3 [query] select" in words(done.stderr)
    assert f"then: tidewheel refresh {tide.path}" in words(done.stderr)
    ends = set(tide.open().queries.ask("counted", last=None).column("window_end").to_pylist())
    assert len(ends) == 3


@pytest.mark.usefixtures("spark")
def test_from_the_first_update_behind_a_query_file_on_nothing_is_missing(tmp_path: Path) -> None:
    tide = TomlArchive(tmp_path)
    tide.write_file(clock="data")
    tide.write_batches(range(4))
    tide.open().create()
    (tide.path.parent / "queries").mkdir()
    (tide.path.parent / "queries" / "counted.toml").write_text(COUNTED.replace('["key"]', "[]"))
    slots = [one for slot in range(4) for one in slots_of(tide.open().update(tide.axis.name(slot)))]
    assert sum(one.dead_on_arrival + one.short_lived for one in slots) > 0, "else this shows nothing"
    typed(f"refresh {tide.path}")
    given = tide.open().queries.ask("counted", last=None).to_pylist()
    assert [(row["n"], row["complete"]) for row in given] == [
        (len(records_of(slot, 0, tide.span)), 1) for slot in range(4)
    ]


def slots_of(outcome: Outcome) -> tuple[SlotReceipt, ...]:
    assert outcome.receipt is not None
    return outcome.receipt.slots


def updated(tide: TomlArchive, slot: int, *options: str) -> Any:
    return told("update", str(tide.path), "--slot", tide.axis.name(slot), *options)


def test_a_forget_reaches_them(asked: Path) -> None:
    assert "b" in {row["k"] for row in newest("by_key")}
    before = newest("by_key")
    assert "refresh" not in told("forget", "m", "--key", "b", "--yes", "--no-refresh")
    assert newest("by_key") == before
    shown = typed("forget m --key a --yes").stdout
    assert "of them corrected" in shown
    assert not newest("by_key")
    assert "standing queries: nothing is stale" in typed("forget m --key a --yes").stdout


def test_so_do_expiry_and_an_undo(asked: Path) -> None:
    rows, version = newest("alive"), tidewheel.open("m").snapshot().version
    assert told(*NEXT.split())["refresh"]["error"] is None
    undone = told("undo", "m", "--yes")["refresh"]
    assert undone["error"] is None
    assert newest("alive") == rows
    told("undo", "m", "--to", str(version - 2), "--yes")
    assert len(newest("alive")) < len(rows)
    assert "nothing is stale" in typed("refresh m").stdout


def test_what_keeps_them_from_following_is_told_and_the_command_is_done(asked: Path) -> None:
    """Partials that lost a file: every answer is kept, the archive is changed, and the remedy stands there."""
    before = newest("total")
    for file in (asked / "table.partials").glob("**/*.parquet"):
        file.unlink()
    version = tidewheel.open("m").snapshot().version
    said = told("forget", "m", "--key", "b", "--yes")
    assert said["refresh"]["error"]["kind"] == "damaged"
    assert tidewheel.open("m").snapshot().version == said["version"] > version
    assert newest("total") == before
    done = typed("forget m --key a --yes")
    partials = asked / "table.partials"
    assert words(done.stderr).endswith(f"run: mv {partials} {partials}.damaged && tidewheel refresh m")
    assert "then: " not in words(done.stderr)


def test_where_no_query_file_is_beside_it_answers_stay(asked: Path) -> None:
    """A table that is named by its place is not judged by the query files of whoever names it."""
    before = newest("by_key")
    done = typed(f"forget {asked / 'table'} --key b --yes")
    assert "answers stay as they are" in words(done.stderr)
    assert newest("by_key") == before
    (asked / "archives" / "queries" / "m.toml").rename(asked / "away.toml")
    assert "no query file asks it now" in words(typed("forget m --key a --yes").stderr)
    (asked / "away.toml").rename(asked / "archives" / "queries" / "m.toml")
    assert newest("by_key") == before
    assert json.loads(typed(f"{NEXT} --json").stdout)["refresh"]["answers_corrected"]
    assert not newest("by_key")


def test_a_refresh_by_place_deletes_no_answers(asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = newest("by_key")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "nothing here"))
        refused = typed(f"refresh {asked / 'table'}", code=2)
    assert "alive, by_key, total, whose answers a refresh would delete. Nothing was changed" in words(refused.stderr)
    assert newest("by_key") == before
    assert typed(f"refresh {asked / 'table'}").exit_code == 0, "its query files are found by its name"
