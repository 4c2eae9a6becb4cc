"""Standing queries on real archives: answers are right after whatever happened, and only what is stale is redone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from rich.console import Console

from tests.support.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.commits.clock import now_us
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.forget import forget
from tidewheel.commits.status import status
from tidewheel.commits.undo import undo
from tidewheel.commits.unstored import UNSTORED_TABLE
from tidewheel.commits.vacuum import vacuum
from tidewheel.indexing.core.slots import micros
from tidewheel.jobs.audit.compare import audit
from tidewheel.local.standing.auditing import derived_findings
from tidewheel.local.standing.derivation import derived_job, kept_trees
from tidewheel.local.standing.refresh import refresh
from tidewheel.local.standing.refreshed import Refreshed
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.select_parser import SelectParser
from tidewheel.sql.selects import read_query, settled
from tidewheel.storage.ledger_store import receipts_since

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
    from tidewheel.local.rows import file_schema, rows_of
    from tidewheel.local.standing.columns import answer_columns
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


def audit_is_clean(archive: LocalArchive) -> bool:
    from tidewheel.local.standing.derivation import derived_job

    return all(audit(derived_job(archive.job, kind), deep=False).clean for kind in ("partials", "answers"))


def vacuum_everything(archive: LocalArchive) -> None:
    """Everything that is not in the newest version goes."""
    archive.now_us += 10 * archive.grace_us + 10**12
    vacuum(archive.job)


def test_a_first_refresh_answers_every_slide(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(4):
        archive.update({slot: [event(slot, slot + 1), event(slot, 10, "b")]})
    done = refresh(archive.job, [TOTAL, BY_KEY, ALIVE])
    assert {one.part for one in done.due} == {TOTAL.part, BY_KEY.part, ALIVE.part}
    assert {at: (one["total"], one["n"]) for (at,), one in answers(archive, TOTAL, minutes=True).items()} == {
        1: (11, 2), 2: (23, 4), 3: (36, 6), 4: (39, 6),
    }  # fmt: skip
    assert answers(archive, BY_KEY, minutes=True)[4, "a"]["most"] == 4
    assert answers(archive, BY_KEY, minutes=True)[4, "b"]["most"] == 10
    assert [one["n"] for _, one in sorted(answers(archive, ALIVE, minutes=True).items())] == [2, 4, 6, 8]
    again = refresh(archive.job, [TOTAL, BY_KEY, ALIVE])
    assert again == Refreshed((), ())


def test_a_replay_corrects_the_answers_it_touches_and_no_others(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(8):
        archive.update({slot: [event(slot, slot + 1)]})
    refresh(archive.job, [TOTAL])
    before = answers(archive, TOTAL, minutes=True)
    archive.update({5: [event(5, 100)]})
    done = refresh(archive.job, [TOTAL])
    assert [one.slot for one in done.stale] == [5]
    after = answers(archive, TOTAL, minutes=True)
    changed = {at for (at,) in after if after[at,] != before[at,]}
    assert changed == {6, 7, 8} == {one.slot + 1 for one in done.due}
    assert (after[6,]["total"], after[6,]["revision"]) == (4 + 5 + 100, 1)
    assert after[5,] == before[5,]


def test_a_query_that_comes_late_is_answered_as_far_back_as_records_are_whole(tmp_path: Path) -> None:
    """Once, beyond `revise`; what partials are kept for is not made longer by it."""
    archive = LocalArchive(tmp_path, span=60).create()
    for slot in range(30):
        lives = 3 if slot in (9, 10, 20) else 50
        archive.update({slot: [event(slot, slot, lives=50), event(slot, 100, "b", lives=lives)]})
    vacuum_everything(archive)  # of slots 9, 10 and 20 a record has gone
    late = query_of("late", 'select = "sum(v) as s"\nwindow = "3m"\nrevise = "5m"\nkeep = "25m"')
    alive = query_of("alive", 'select = "count(*) as n"\nwindow = "live"\nrevise = "5m"\nkeep = "1h"')
    done = refresh(archive.job, [late, alive])
    found = answers(archive, late, minutes=True)
    whole = {at: one["s"] for (at,), one in found.items() if one["complete"] == 1}
    assert whole.keys() == {*range(6, 10), *range(14, 21), *range(24, 31)}, "within keep"
    assert all(value == sum(range(at - 3, at)) + 300 for at, value in whole.items())
    assert found.keys() - {(at,) for at in whole} == {(23,)}, "partials are kept of a part of it"
    assert {one.why for one in done.due} == {"missing", "missing, and older than what is corrected"}
    assert min(slot for slot, _ in written_since(archive, "partials", -1)) >= 30 - 60
    assert refresh(archive.job, [late, alive]) == Refreshed((), ())
    archive.update({30: [event(30, 30), event(30, 100, "b")]})
    refresh(archive.job, [late, alive])
    assert answers(archive, late, minutes=True)[31,]["s"] == 28 + 29 + 30 + 300
    assert audit_is_clean(archive)


def written_since(archive: LocalArchive, kind: str, version: int) -> list[tuple[int, int]]:
    """By the log: the slots of the batches that came into a derived archive since a version, with their rows."""
    snapshot = derived_job(archive.job, kind).snapshot()
    receipts = [one for at, one in receipts_since(snapshot, version) if one.slots]
    return sorted((slot.slot, slot.rows_in) for receipt in receipts for slot in receipt.slots)


def test_one_late_record_costs_its_fragment_and_the_answers_that_hold_it(tmp_path: Path) -> None:
    """Counted from the logs of both derived archives: five keys in each of twelve slots, one record of them late."""
    archive = LocalArchive(tmp_path, span=30).create()
    life = 'revise = "20m"\nkeep = "1h"\ntime = "t"\nslide = "1m"'
    by_key = query_of("by_key", f'select = "sum(v) as s"\ngroup_by = ["k"]\nwindow = "2m"\n{life}')
    total = query_of("total", f'select = "count(*) as n"\nwindow = "3m"\n{life}')
    for slot in range(12):
        archive.update({slot: [event(slot, 1, key, lives=25) for key in "abcde"]})
    refresh(archive.job, [by_key, total])
    versions = {kind: derived_job(archive.job, kind).snapshot().version for kind in ("partials", "answers")}
    archive.update({12: [replace(event(12, 7, "c", lives=25), t_us=4 * MINUTE_US + 5)]})
    refresh(archive.job, [by_key, total])
    # One partial row in each tree: the record's fragment and group.
    assert written_since(archive, "partials", versions["partials"]) == [(12, 1)] * len(set(trees_of(archive)))
    # Windows that hold minute 4 end at 5 and 6, of three minutes at 7 as well; and there is a new report.
    slots = [slot for slot, _ in written_since(archive, "answers", versions["answers"])]
    assert slots == sorted([4, 5, 12, 4, 5, 6, 12])


def trees_of(archive: LocalArchive) -> list[str]:
    return [tree.name for tree in kept_trees(derived_job(archive.job, "partials")).trees]


def test_an_answer_that_says_the_same_is_not_given_again(tmp_path: Path) -> None:
    """Its window holds something else, of which the answer tells nothing: revision and version stay."""
    archive = LocalArchive(tmp_path).create()
    most = query_of("much", 'select = "sum(v) > 50 as much"\nwindow = "3m"\nrevise = "9m"\nkeep = "1h"')
    for slot in range(6):
        archive.update({slot: [event(slot, 30, lives=9)]})
    refresh(archive.job, [most])
    archive.update({3: [event(3, 40, lives=9)]})
    done = refresh(archive.job, [most])
    assert (len(done.stale), done.due) == (1, ())
    assert {one["revision"] for one in answers(archive, most).values()} == {0}
    assert refresh(archive.job, [most]) == Refreshed((), ())
    archive.update({3: [event(3, -5, lives=9)]})
    archive.update({5: [event(5, 20, lives=9)]})
    done = refresh(archive.job, [most])
    assert [(one.slot + 1, one.revision) for one in done.due] == [(6, 2)]
    found = answers(archive, most, minutes=True)
    assert {at: one["revision"] for (at,), one in found.items() if one["revision"]} == {6: 1}
    assert [one["much"] for _, one in sorted(found.items())] == [False, True, True, True, True, False]
    assert audit_is_clean(archive)


def test_an_undo_takes_answers_back(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(3):
        archive.update({slot: [event(slot, 1)]})
    refresh(archive.job, [TOTAL])
    before = answers(archive, TOTAL, minutes=True)
    archive.update({3: [event(3, 7)]})
    refresh(archive.job, [TOTAL])
    assert (4,) in answers(archive, TOTAL, minutes=True)
    undo(archive.job)
    refresh(archive.job, [TOTAL])
    assert {key: one["total"] for key, one in answers(archive, TOTAL, minutes=True).items()} == {
        key: one["total"] for key, one in before.items()
    }
    archive.update({3: [event(3, 9)]})
    refresh(archive.job, [TOTAL])
    assert answers(archive, TOTAL, minutes=True)[4,]["total"] == 1 + 1 + 9


def test_a_record_that_came_unstored_before_the_first_query_makes_an_answer_incomplete(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)], 1: [event(1, 1), event(1, 5, lives=0)], 2: [event(2, 1)]})
    refresh(archive.job, [TOTAL, ALIVE])
    assert answers(archive, TOTAL, minutes=True)[3,]["complete"] == pytest.approx(2 / 3)
    assert answers(archive, ALIVE, minutes=True)[3,]["n"] == 3


def observed(folder: Path) -> LocalArchive:
    """Minutes 0 to 4, the first asked of by a query; of 2, a record is short-lived and one dead on arrival."""
    archive = LocalArchive(folder).create()
    archive.update({0: [event(0, 1)]})
    refresh(archive.job, [TOTAL])
    archive.update({1: [], 3: [], 4: [event(4, 16)]})
    archive.now_us = now_us() + 1
    receipt = archive.update({2: [event(2, 2), event(2, 4, "short", lives=0), event(2, 8, "dead", lives=1)]}).receipt
    assert receipt is not None
    assert [(one.stored, one.short_lived, one.dead_on_arrival, one.beside) for one in receipt.slots] == [(1, 1, 1, 2)]
    return archive


def totals(archive: LocalArchive) -> list[int]:
    """What three minutes hold that end with 2, 3 and 4, all of it."""
    refresh(archive.job, [TOTAL])
    assert refresh(archive.job, [TOTAL]) == Refreshed((), ())
    found = answers(archive, TOTAL, minutes=True)
    assert [found[at,]["complete"] for at in (3, 4, 5)] == [1, 1, 1]
    assert audit(archive.job, deep=False).findings == ()
    return [found[at,]["total"] for at in (3, 4, 5)]


def test_records_that_came_and_were_not_stored_are_counted(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    assert totals(archive) == [97, 96, 112]
    undo(archive.job)
    assert totals(archive) == [15, 14, 30]
    forget(archive.job, keys=[("short",)])
    assert totals(archive) == [11, 10, 26]
    forget(archive.job, keys=[("dead",)])
    assert totals(archive) == [3, 2, 18]
    archive.update({2: [event(2, 2), event(2, 4, "short", lives=0), event(2, 128, lives=0)]})
    assert totals(archive) == [131, 130, 146]


def test_a_crash_before_the_commit_leaves_nothing_that_counts_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = observed(tmp_path)
    monkeypatch.setenv(VARIABLE, "ready_to_commit")
    with pytest.raises(FailPointReached):
        archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    monkeypatch.delenv(VARIABLE)
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    assert totals(archive) == [97, 96, 112]


def rows_beside(archive: LocalArchive) -> int:
    table = UNSTORED_TABLE.open(archive.job.location)
    return 0 if table is None else int(table.to_pyarrow_table().num_rows)


def test_they_stay_until_they_were_counted_and_grace_is_over(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    archive.now_us += archive.grace_us + MINUTE_US
    vacuum(archive.job)
    assert rows_beside(archive) == 2, "nobody has counted them"
    assert totals(archive) == [15, 14, 30]
    vacuum(archive.job)
    assert rows_beside(archive) == 0
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 2), event(2, 64, lives=0)]})
    assert totals(archive) == [67, 66, 82]
    vacuum(archive.job)
    assert (rows_beside(archive), totals(archive)) == (1, [67, 66, 82]), "an undo may want it"


def test_nobody_waits_for_them_longer_than_the_deadline_says(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    deadline = status(archive.job).deadline
    kept, vacuums, *_ = deadline.unstored
    assert deadline.unstored_us == kept.duration_us + 3 * archive.grace_us
    assert (kept.duration_us, vacuums.name) == (archive.span * MINUTE_US + archive.grace_us, "vacuum")
    archive.now_us += kept.duration_us + MINUTE_US
    vacuum(archive.job)
    assert rows_beside(archive) == 0
    refresh(archive.job, [TOTAL])
    assert answers(archive, TOTAL, minutes=True)[3,]["complete"] == pytest.approx(2 / 3), "and an answer says so"
    assert audit(archive.job, deep=False).findings == ()


def test_an_archive_that_nobody_asks_keeps_none(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    outcome = archive.update({2: [event(2, 2), event(2, 4, "short", lives=0)]})
    assert outcome.plan.unstored_from is None
    assert (rows_beside(archive), status(archive.job).deadline.unstored) == (0, ())


def test_texts_and_lists_of_texts_are_stored_apart(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1, "a"), event(0, 2, "b")]})
    texts = query_of("texts", 'select = "max(k) as most"\nwindow = "1m"')
    lists = query_of("lists", 'select = "count_distinct(k, 10) as kinds"\nwindow = "1m"\ngroup_by = ["r"]')
    refresh(archive.job, [texts, lists])
    assert answers(archive, texts, minutes=True)[1,]["most"] == "b"
    assert answers(archive, lists, minutes=True)[1, 0]["kinds"] == 2


def test_answers_that_are_given_late_do_not_look_whole_where_partials_have_expired(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, span=20).create()
    for slot in range(16):
        archive.update({slot: [event(slot, 1, lives=2)]})
        refresh(archive.job, [TOTAL, ALIVE])
    vacuum_everything(archive)
    rmtree(tmp_path / "table.answers")
    refresh(archive.job, [TOTAL, ALIVE])
    totals, alive = answers(archive, TOTAL), answers(archive, ALIVE)
    assert {at // MINUTE_US for (at,), one in totals.items() if one["complete"] == 1} == set(range(11, 17))
    assert all(one["n"] == 3 for one in totals.values() if one["complete"] == 1)
    assert min(at for (at,) in alive) == 11 * MINUTE_US
    assert {one["n"] for one in alive.values()} == {2}, "one of this slot, one of the slot before"


def test_a_changed_query_starts_anew(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)], 1: [event(1, 2)]})
    refresh(archive.job, [TOTAL])
    changed = query_of("total", 'select = "min(v) as total"\nwindow = "3m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"')
    done = refresh(archive.job, [changed])
    assert {one.part for one in done.due} == {changed.part}
    assert [one["total"] for _, one in sorted(answers(archive, changed, minutes=True).items())] == [1, 1]


def test_what_nobody_asks_for_any_more_is_removed(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    assert refresh(archive.job, []) == Refreshed((), ())
    assert not (tmp_path / "table.answers").exists(), "nothing is made where nobody asks"
    for slot in range(3):
        archive.update({slot: [event(slot, slot + 1)]})
    refresh(archive.job, [TOTAL, BY_KEY])
    refresh(archive.job, [BY_KEY])
    assert answers(archive, TOTAL, minutes=True) == {}
    assert len(answers(archive, BY_KEY, minutes=True)) == 3
    assert audit_is_clean(archive)
    refresh(archive.job, [TOTAL, BY_KEY])
    assert len(answers(archive, TOTAL, minutes=True)) == 3, "asked again, given again"
    refresh(archive.job, [])
    assert answers(archive, BY_KEY, minutes=True) == {}
    assert audit_is_clean(archive)


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


def test_a_predicate_reaches_what_was_counted_and_not_stored(tmp_path: Path, spark: object) -> None:
    archive = observed(tmp_path)
    assert totals(archive) == [15, 14, 30]
    forgotten = forget(archive.job, where="k = 'short'")
    assert (forgotten.rows_found, forgotten.quarantined_forgotten, len(forgotten.plan.tombstones)) == (0, 1, 1)
    assert totals(archive) == [11, 10, 26]
    forget(archive.job, where="v >= 8")  # one beside the archive, and one in it
    assert totals(archive) == [3, 2, 2]
    assert forget(archive.job, where="v = 8").found_nothing


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


@pytest.mark.parametrize("seed", range(3))
def test_random_updates_equal_the_oracle(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    archive, latest = LocalArchive(tmp_path).create(), {}
    head = 0
    for _ in range(12):
        slot = head + chance.choice([1, 1, 1, 0, -1, -2, 2])
        head = max(head, slot)
        latest[slot] = [event(slot, chance.randrange(100), chance.choice("abc"), chance.randrange(9, 20))
                        for _ in range(chance.randrange(0, 6))]  # fmt: skip
        archive.update({slot: latest[slot]})
        if chance.random() < 0.6:
            refresh(archive.job, [TOTAL, BY_KEY])
    refresh(archive.job, [TOTAL, BY_KEY])
    found = answers(archive, TOTAL, minutes=True)
    first = min(latest)
    for at in range(max(first + 1, head + 1 - 5), head + 2):
        inside = [one for slot in range(at - 3, at) for one in latest.get(slot, [])]
        assert found[at,]["n"] == len(inside), f"seed {seed}, report {at}"
        assert found[at,]["total"] == (sum(one.v for one in inside) if inside else None)
        assert found[at,]["complete"] == pytest.approx(sum(slot in latest for slot in range(at - 3, at)) / 3)
