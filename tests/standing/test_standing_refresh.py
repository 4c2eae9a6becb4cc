"""Standing queries on real archives: answers are right after whatever happened, and only what is stale is redone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import (
    ALIVE,
    BY_KEY,
    TOTAL,
    answers,
    audit_is_clean,
    event,
    query_of,
    refresh,
    vacuum_everything,
)
from tidewheel.commits.operations.undo import undo
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.storage.ledger_store import receipts_since


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
