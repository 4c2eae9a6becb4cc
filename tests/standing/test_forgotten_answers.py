"""What was forgotten leaves partials and answers; where the records are gone, as far as can be told without them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

import tidewheel.archive
from tests.support.archives.asked_archive import asked_archive
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import (
    OVER_3M,
    TOTAL,
    answers,
    audit_is_clean,
    event,
    query_of,
    refresh,
    vacuum_everything,
)
from tidewheel.cli import main
from tidewheel.commits.operations.forget import forget
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.lost_rows import slots_losing
from tidewheel.local.standing.derived_audit import derived_findings
from tidewheel.local.standing.outcome import Refreshed


def test_a_forgotten_key_leaves_answers_of_any_age(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, span=30).create()
    old = query_of("old", 'select = "sum(v) as s"\ngroup_by = ["k"]\nwindow = "1m"\nrevise = "2m"\nkeep = "1h"')
    for slot in range(8):
        archive.update({slot: [event(slot, 1, "a", lives=20), event(slot, 2, "gone", lives=20)]})
        refresh(archive.job, [old, TOTAL])
    assert (1, "gone") in answers(archive, old, minutes=True)
    forget(archive.job, keys=[("gone",)])
    done = refresh(archive.job, [old, TOTAL])
    assert {one.why for one in done.stale} == {"forgotten"}
    assert {key for _, key in answers(archive, old, minutes=True)} == {"a"}
    assert len(answers(archive, old, minutes=True)) == 8
    assert answers(archive, TOTAL, minutes=True)[8,]["total"] == 3
    assert answers(archive, TOTAL, minutes=True)[2,]["total"] == 6, "older than revise: given, and kept"
    assert refresh(archive.job, [old, TOTAL]) == Refreshed((), ())
    assert audit_is_clean(archive)


def test_answers_that_were_only_erased_are_told(tmp_path: Path) -> None:
    """Nothing is given or corrected, and yet whoever reads answers should know."""
    from tidewheel.views.queries import refreshed_view

    archive = LocalArchive(tmp_path, span=30).create()
    old = query_of("old", 'select = "sum(v) as s"\ngroup_by = ["k"]\nwindow = "1m"\nrevise = "2m"\nkeep = "1h"')
    for slot in range(8):
        archive.update({slot: [event(slot, 1, "a" if slot else "gone", lives=20)]})
        refresh(archive.job, [old])
    forget(archive.job, keys=[("gone",)])
    done = refresh(archive.job, [old])
    assert (done.due, done.answers_erased) == ((), 1)
    told = done.summary()
    assert (told["answers_given"], told["answers_erased"]) == (0, 1)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(refreshed_view(done, archive.axis, dry_run=False))
    assert "1 answer erased: forgotten" in shown.get()
    assert refresh(archive.job, [old]).answers_erased == 0


def test_a_forgotten_key_of_any_type_leaves_old_answers(tmp_path: Path, spark: object) -> None:
    """Floating point is written by Spark's Java: whoever erases asks for it."""
    archive = LocalArchive(tmp_path, span=30, key=("x",)).create()
    old = query_of("old", 'select = "sum(v) as s"\ngroup_by = ["x"]\nwindow = "1m"\nrevise = "2m"\nkeep = "1h"')
    for slot in range(6):
        archive.update({slot: [replace(event(slot, 1, lives=20), x=one) for one in (0.1, 2e-9, None, slot / 7)]})
        refresh(archive.job, [old])
    forget(archive.job, keys=[(2e-9,)])
    refresh(archive.job, [old])
    left = {key for _, key in answers(archive, old, minutes=True)}
    assert left == {0.1, None, *(slot / 7 for slot in range(6))}
    assert audit_is_clean(archive)


@pytest.mark.parametrize(("erasure", "complete", "total"), [("delete", 1 / 3, 1), ("keep", 1.0, 5)])
def test_where_rows_are_gone_the_query_says_what_a_forget_does(
    erasure: str, complete: float, total: int, tmp_path: Path
) -> None:
    archive = LocalArchive(tmp_path, grace_us=1).create()
    body = f'select = "sum(v) as total"\nwindow = "3m"\nrevise = "9m"\nkeep = "1h"\nerasure = "{erasure}"'
    query = query_of("total", body)
    archive.update({0: [event(0, 2, "gone", lives=2)]})
    archive.update({1: [event(1, 2, "gone", lives=1), event(1, 0, "a", lives=9)]})
    refresh(archive.job, [query])
    archive.update({2: [event(2, 1, "a", lives=9)]})
    refresh(archive.job, [query])
    assert answers(archive, query, minutes=True)[3,]["total"] == 5
    vacuum_everything(archive)
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, [query])
    found = answers(archive, query, minutes=True)[3,]
    assert found["total"] == total
    assert found["complete"] == pytest.approx(complete)


def test_where_rows_are_gone_a_key_that_is_a_group_leaves_and_the_rest_stays_whole(tmp_path: Path) -> None:
    """Groups that hold the whole key tell by themselves what goes: no record is asked for."""
    archive = LocalArchive(tmp_path, grace_us=1).create()
    queries = [
        query_of("by_key", f'select = "sum(v) as s, avg(x) as x"\ngroup_by = ["k"]\n{OVER_3M}'),
        query_of("alive_by_key", f'select = "count(*) as n"\ngroup_by = ["r", "k"]\ncounts = "live"\n{OVER_3M}'),
    ]
    archive.update({0: [event(0, 2, "gone", lives=2), event(0, 7, "a", lives=2)]})
    archive.update({1: [event(1, 2, "gone", lives=9), event(1, 3, "a", lives=9)]})
    refresh(archive.job, queries)
    archive.update({2: [event(2, 1, "a", lives=9)]})
    refresh(archive.job, queries)
    vacuum_everything(archive)
    forget(archive.job, keys=[("gone",)])
    done = refresh(archive.job, queries)
    assert {(one.slot, one.why) for one in done.stale} == {(0, "forgotten"), (1, "forgotten")}
    found = answers(archive, queries[0], minutes=True)
    assert {key: (one["s"], one["complete"]) for key, one in found.items() if key[0] == 3} == {(3, "a"): (11, 1.0)}
    alive = answers(archive, queries[1], minutes=True)
    assert {key[2]: one["n"] for key, one in alive.items() if key[0] == 3} == {"a": 2}
    assert refresh(archive.job, queries) == Refreshed((), ())
    assert audit_is_clean(archive)


@pytest.mark.parametrize("erasure", ["delete", "keep"])
def test_a_key_that_is_a_group_leaves_partials_of_some_records_too(erasure: str, tmp_path: Path) -> None:
    """What came and was not stored before the first query was never counted; that keeps no forgotten key there."""
    archive = LocalArchive(tmp_path, grace_us=1).create()
    query = query_of("by_key", f'select = "sum(v) as s"\ngroup_by = ["k"]\nerasure = "{erasure}"\n{OVER_3M}')
    archive.update({0: [event(0, 2, "gone", lives=2), event(0, 7, "a", lives=2), event(0, 9, "b", lives=0)]})
    archive.update({1: [event(1, 1, "a", lives=9)]})
    refresh(archive.job, [query])
    archive.update({2: [event(2, 1, "a", lives=9)]})
    refresh(archive.job, [query])
    assert (3, "gone") in answers(archive, query, minutes=True)
    vacuum_everything(archive)
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, [query])
    found = answers(archive, query, minutes=True)
    assert {key: one["s"] for key, one in found.items() if key[0] == 3} == {(3, "a"): 9}
    assert found[3, "a"]["complete"] < 1
    assert refresh(archive.job, [query]) == Refreshed((), ())
    assert audit_is_clean(archive)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("erasure", ["delete", "keep"])
def test_a_forget_by_predicate_takes_no_group_from_a_later_forget_by_key(erasure: str, tmp_path: Path) -> None:
    """A predicate's records are known whole. Partials that met that lose one key later, not whole windows."""
    archive = LocalArchive(tmp_path, grace_us=1, span=9).create()
    terms = f'group_by = ["k"]\nerasure = "{erasure}"\nwindow = "4m"\nslide = "1m"\nrevise = "9m"\nkeep = "1h"'
    query = query_of("by_key", f'select = "sum(v) as s"\n{terms}')
    short = [event(0, 2, "gone", lives=3), event(0, 7, "a", lives=3), event(0, 5, "b", lives=3)]
    archive.update({0: short})
    archive.update({1: [event(1, 2, "gone", lives=3), event(1, 3, "a", lives=8), event(1, 90, "b", lives=8)]})
    archive.update({2: [event(2, 1, "a", lives=8)]})
    refresh(archive.job, [query])
    forget(archive.job, where="v = 90")
    refresh(archive.job, [query])
    archive.update({3: [event(3, 1, "a", lives=8)]})
    archive.update({4: [event(4, 1, "a", lives=8)]})
    refresh(archive.job, [query])
    vacuum_everything(archive)
    before = {key: (one["s"], one["complete"]) for key, one in answers(archive, query, minutes=True).items()}
    assert before[4, "gone"] == (4, 1.0)
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, [query])
    after = {key: (one["s"], one["complete"]) for key, one in answers(archive, query, minutes=True).items()}
    assert after == {key: one for key, one in before.items() if key[1] != "gone"}
    assert (after[4, "a"], after[4, "b"]) == ((12, 1.0), (5, 1.0))
    assert refresh(archive.job, [query]) == Refreshed((), ())
    assert audit_is_clean(archive)


@pytest.mark.usefixtures("spark")
def test_a_forget_by_predicate_lowers_complete_only_where_it_found_records(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, grace_us=1, span=9).create()
    query = query_of("total", 'select = "sum(v) as total"\nwindow = "2m"\nslide = "1m"\nrevise = "9m"\nkeep = "1h"')
    for slot in range(5):
        archive.update({slot: [event(slot, 1, "short", lives=1), event(slot, 10 + slot, "long", lives=8)]})
        refresh(archive.job, [query])
    vacuum_everything(archive)
    assert [slots_losing(archive.job, slots) for slots in ((), (2,), (1, 2, 4, 77))] == [[], [2], [1, 2]]
    found = forget(archive.job, where="v = 12", dry_run=True)
    assert found.slots_found == (2,)
    found = forget(archive.job, where="v = 12")
    assert found.receipt is not None
    assert found.receipt.forgotten_in == (2,)
    refresh(archive.job, [query])
    told = {at: (one["total"], one["complete"]) for (at,), one in answers(archive, query, minutes=True).items()}
    assert told == {1: (11, 0.5), 2: (23, 1.0), 3: (12, 0.5), 4: (14, 0.5), 5: (29, 1.0)}
    assert refresh(archive.job, [query]) == Refreshed((), ())


@pytest.mark.usefixtures("spark")
def test_what_a_predicate_costs_answers_is_told_before_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive.update({6: [event(6, 1, "short", lives=1), event(6, 77, "long", lives=4)]})
    archive.update({7: [event(7, 78, "long")]})
    tidewheel.archive.open("m").queries.refresh()
    archive.update({8: [event(8, 1, "long")]})
    vacuum_everything(archive)
    asking = CliRunner().invoke(main, ["forget", "m", "--where", "v >= 77"], input="n\n")
    for told in (asking, CliRunner().invoke(main, ["forget", "m", "--where", "v >= 77", "--dry-run"])):
        assert "answers that count 1 slot (1970-01-01T00:06:00Z) will not be complete any more" in told.stderr
    whole = CliRunner().invoke(main, ["forget", "m", "--where", "v = 78", "--dry-run"])
    assert "will not be complete" not in whole.stderr


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("erasure", ["delete", "keep"])
def test_a_key_in_floating_point_that_is_a_group_leaves_where_rows_are_gone(erasure: str, tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, grace_us=1, key=("x",)).create()
    query = query_of("by_x", f'select = "count(*) as n"\ngroup_by = ["x"]\nerasure = "{erasure}"\n{OVER_3M}')
    archive.update({0: [replace(event(0, 1, lives=2), x=one) for one in (0.1, -0.0, math.nan, None, 0.0)]})
    archive.update({1: [replace(event(1, 1, lives=9), x=0.5)]})
    refresh(archive.job, [query])
    archive.update({2: [replace(event(2, 1, lives=9), x=0.5)]})
    refresh(archive.job, [query])
    vacuum_everything(archive)
    forget(archive.job, keys=[(0.0,), (math.nan,)])
    refresh(archive.job, [query])
    left = {
        key[1]: (one["n"], one["complete"]) for key, one in answers(archive, query, minutes=True).items() if key[0] == 3
    }
    assert left == {0.1: (1, 1.0), None: (1, 1.0), 0.5: (2, 1.0)}
    assert audit_is_clean(archive)


def test_partials_that_outlive_their_records_are_no_finding_of_a_deep_audit(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, grace_us=1).create()
    query = query_of("by_key", f'select = "sum(v) as s"\ngroup_by = ["k"]\n{OVER_3M}')
    for slot in range(3):
        archive.update({slot: [event(slot, 2, "short", lives=2), event(slot, 7, "long", lives=5)]})
        refresh(archive.job, [query])
    vacuum_everything(archive)
    job = derived_job(archive.job, "partials")
    assert derived_findings(job, job.snapshot(), job.snapshot().files) == []


def test_a_predicate_and_a_key_forgotten_since_are_both_gone(tmp_path: Path, spark: object) -> None:
    """A group tells nothing of single records: partials that a predicate met are made of the records again."""
    archive = LocalArchive(tmp_path).create()
    query = query_of("by_key", f'select = "sum(v) as s"\ngroup_by = ["k"]\n{OVER_3M}')
    for slot in range(3):
        archive.update({slot: [event(slot, v, k, lives=9) for v, k in ((1, "a"), (2, "a"), (4, "gone"))]})
        refresh(archive.job, [query])
    forget(archive.job, where="v = 2")
    forget(archive.job, keys=[("gone",)])
    refresh(archive.job, [query])
    assert {key: one["s"] for key, one in answers(archive, query, minutes=True).items() if key[0] == 3} == {(3, "a"): 3}
    assert audit_is_clean(archive)


def test_a_slot_in_which_a_forget_found_nothing_is_not_folded_again(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, span=30).create()
    for slot in range(4):
        archive.update({slot: [event(slot, 1, "gone" if slot == 2 else "a", lives=20)]})
    refresh(archive.job, [TOTAL])
    forget(archive.job, keys=[("gone",)])
    assert [one.slot for one in refresh(archive.job, [TOTAL]).stale] == [2]
    assert answers(archive, TOTAL, minutes=True)[4,]["total"] == 2
