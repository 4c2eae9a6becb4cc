"""Partials and answers that are not as they were stored: an audit names their slots, and these are made again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.asked_archive import answers as all_answers
from tests.support.archives.asked_archive import asked_archive, told
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import BY_KEY, TOTAL, answers, event, query_of, refresh
from tidewheel.cli import main
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.answer_store import stored_answers
from tidewheel.local.partials.partial_store import stored_partials
from tidewheel.local.standing.refresh import Refresh
from tidewheel.queries.standing.staleness import AGAIN

NAMES = ("total", "by_key", "alive")


WRONG = {
    "partials": ("partials.make.stored_partials", "a_bigint_1"),
    "answers": ("answers.give.stored_answers", "v_bigint_0"),
}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    return asked_archive(tmp_path)


def refreshed_by_a_program_with_a_fault(kind: str, slots: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """It adds one to what it stores of some slots."""
    place, column = WRONG[kind]
    stored: Callable[..., pa.Table] = stored_partials if kind == "partials" else stored_answers

    def wrong(*given: Any) -> pa.Table:
        table = stored(*given)
        if column not in table.column_names:
            return table
        pairs = zip(table.column(column).to_pylist(), table.column("ins_slot").to_pylist(), strict=True)
        values = [value + 1 if value is not None and slot in slots else value for value, slot in pairs]
        return table.set_column(table.schema.get_field_index(column), column, pa.array(values, pa.int64()))

    with monkeypatch.context() as patch:
        patch.setattr(f"tidewheel.local.{place}", wrong)
        told("refresh", "m")


@pytest.mark.parametrize("kind", WRONG)
def test_what_an_audit_names_is_made_again_by_its_command(
    kind: str, archive: LocalArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed_by_a_program_with_a_fault(kind, range(2, 4), monkeypatch)
    before = all_answers(NAMES)
    report = tidewheel.open(f"m.{kind}").audit(deep=True)
    command, _, otherwise = report.remedy.partition("; ")
    assert command == f"tidewheel refresh m --from {archive.axis.name(2)} --to {archive.axis.name(4)}"
    assert "mv " in otherwise
    assert "nothing is stale" in CliRunner().invoke(main, ["refresh", "m"]).output
    made = told(*shlex.split(command)[1:])
    assert {one["slot"] for one in made["stale"] if one["why"] == AGAIN} == {2, 3}
    assert {one["why"] for one in made["due"]} == {"its window holds something else now"}
    for name in ("m.partials", "m.answers"):
        assert told("audit", name)["clean"]
    assert all_answers(NAMES) != before
    assert "nothing is stale" in CliRunner().invoke(main, ["refresh", "m"]).output


def test_answers_of_later_slots_are_corrected_as_far_as_their_windows_reach_back(
    archive: LocalArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed_by_a_program_with_a_fault("partials", range(1, 2), monkeypatch)
    wrong = all_answers(["total"])["total"]
    done = tidewheel.open("m").queries.refresh(start=archive.axis.name(1))
    right = all_answers(["total"])["total"]
    changed = {number for number, (one, other) in enumerate(zip(wrong, right, strict=True)) if one != other}
    assert changed == {one.slot for one in done.due if one.part.startswith("total@")} == {1, 2, 3}
    assert told("audit", "m.answers")["clean"]


def test_partials_whose_records_are_gone_stay_and_that_is_told(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, span=20).create()
    for slot in range(9):
        archive.update({slot: [event(slot, slot, lives=18), event(slot, 10, "b", lives=3 if slot == 4 else 18)]})
    queries = [TOTAL, BY_KEY, query_of("long", 'select = "sum(v) as s"\nwindow = "9m"\nrevise = "9m"\nkeep = "1h"')]
    refresh(archive.job, queries)
    before = [answers(archive, query) for query in queries]
    archive.now_us += 10 * archive.grace_us + 10**12
    vacuum(archive.job)
    with pytest.raises(InvalidInput, match="from slot 1970-01-01T00:04:00Z on, stay as they are"):
        _raised(Refresh(archive.job, queries, again=range(3, 6)))
    assert [answers(archive, query) for query in queries] == before


def _raised(one: Refresh) -> None:
    done = one.run()
    assert {stale.slot for stale in done.stale} == {3, 5}
    assert done.wrong is not None
    raise done.wrong


def test_with_a_budget_nothing_is_made_again(archive: LocalArchive) -> None:
    with pytest.raises(InvalidInput, match="takes no budget"):
        tidewheel.open("m").queries.refresh(start=archive.axis.name(2), budget_s=1)
