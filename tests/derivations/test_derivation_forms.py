"""Single forms of derived archives by hand: ends, slots, and what a read between updates may lack."""

from __future__ import annotations

from typing import Any

import pytest

from tidewheel.queries.derivations.forms import (
    AsOf,
    Compare,
    Distinct,
    ExceptAll,
    Exists,
    Form,
    Join,
    LeftJoin,
    Map,
    NotExists,
    Ranked,
    Source,
    UnionAll,
    Where,
)
from tidewheel.queries.derivations.judge import content, is_equal_between_updates
from tidewheel.queries.derivations.records import Axis, Batch, Record, Tombstone, Version
from tidewheel.queries.derivations.windows import Living, Newest, Window, Within

UNIT = 10
ON = ((0, 0),)


def _version(*batches: list[tuple[tuple[Any, ...], int | None, int]], steps: int = 1) -> Version:
    """One batch a slot, of records as (values, time, until); their hashes are their places."""
    found = {
        slot: Batch(
            1, tuple(Record(values, time, until, 100 * slot + n) for n, (values, time, until) in enumerate(rows))
        )
        for slot, rows in enumerate(batches)
    }
    return Version(1, Axis(UNIT, steps), found, len(batches) - 1)


def _of(form: Form, **versions: Version) -> list[tuple[tuple[Any, ...], int, int]]:
    return sorted(content(form, versions, {}).elements(), key=repr)


def _source(name: str, window: Window | None = None) -> Source:
    return Source(name, name, window or Living())


A, B = _source("a"), _source("b")


def test_a_join_ends_with_its_first_part_and_lies_where_the_last_came():
    a = _version([((1, "x"), 5, 50)], [])
    b = _version([], [((1, "y"), 15, 35)])
    assert _of(Join(A, B, ON), a=a, b=b) == [((1, "x", 1, "y"), 35, 1)]


def test_distinct_ends_with_its_last_duplicate():
    a = _version([((1,), 5, 50), ((1,), 5, 70)], [((1,), 15, 60)])
    assert _of(Distinct(A), a=a) == [((1,), 70, 0)]


def test_exists_ends_with_its_longest_match():
    a = _version([((1,), 5, 90)], [])
    b = _version([((1,), 5, 40)], [((1,), 15, 60)])
    assert _of(Exists(A, B, ON), a=a, b=b) == [((1,), 60, 1)]
    assert _of(NotExists(A, B, ON), a=a, b=b) == []


def test_except_all_keeps_those_that_end_first():
    a = _version([((1,), 5, 90), ((1,), 5, 50), ((1,), 5, 70)])
    b = _version([((1,), 5, 40)])
    assert _of(ExceptAll(A, B), a=a, b=b) == [((1,), 50, 0), ((1,), 70, 0)]


def test_a_left_join_shows_null_where_nothing_matches():
    a = _version([((1,), 5, 90), ((2,), 5, 90)])
    b = _version([((1, "y"), 5, 40)])
    assert _of(LeftJoin(A, B, ON, 2), a=a, b=b) == [((1, 1, "y"), 40, 0), ((2, None, None), 90, 0)]


def test_a_lookup_takes_the_latest_strictly_before():
    a = _version([((1,), 7, 90)])
    b = _version([((1, "old"), 3, 80), ((1, "new"), 6, 60), ((1, "same"), 7, 99)])
    assert _of(AsOf(A, B, ON), a=a, b=b) == [((1, 1, "new"), 60, 0)]


def test_a_number_that_is_shown_ends_with_the_first_better_row():
    a = _version([((1, 9), 5, 30), ((1, 7), 5, 90), ((1, 5), 5, 60)])
    shown = Ranked(A, (0,), 1, 2, shows_number=True)
    assert _of(shown, a=a) == [((1, 7, 2), 30, 0), ((1, 9, 1), 30, 0)]
    assert _of(Ranked(A, (0,), 1, 2), a=a) == [((1, 7), 90, 0), ((1, 9), 30, 0)]


def test_windows():
    a = _version([((1,), 5, 90), ((2,), None, 90), ((3,), 500, 90)], [])
    assert _of(_source("a", Within(30)), a=a) == [((1,), 35, 0), ((3,), 40, 0)]
    assert _of(_source("a", Within(30, ahead=20)), a=a) == [((1,), 35, 0), ((3,), 60, 0)]
    assert _of(_source("a", Newest(1)), a=a) == [((3,), 90, 0)]
    assert _of(_source("a", Newest(1, (0,))), a=a) == [((1,), 90, 0), ((2,), 90, 0), ((3,), 90, 0)]


def test_an_internal_window_ends_meetings_and_no_results():
    a = _version([((1, "x"), 5, 90)], [], [], [])
    b = _version([((1, "y"), 8, 90)], [], [], [((1, "late"), 35, 90)])
    inside = Join(_source("a", Within(20, internal=True)), _source("b", Within(20, internal=True)), ON)
    assert _of(inside, a=a, b=b) == [((1, "x", 1, "y"), 90, 0)]


def test_selections_projections_and_unions_keep_ends():
    a = _version([((1, 5), 5, 50), ((2, 7), 5, 60)])
    b = _version([((9, 9), 5, 70)])
    form = Map(UnionAll(Where(A, Compare(1, ">", 5)), B), (0,))
    assert _of(form, a=a, b=b) == [((2,), 60, 0), ((9,), 70, 0)]


def test_slots_of_a_longer_interval_lie_at_their_end():
    a = _version([((1,), 5, 90)], steps=3)
    assert _of(A, a=a) == [((1,), 90, 2)]


def test_what_is_forgotten_is_not_there():
    a = _version([((1,), 5, 90), ((2,), 5, 90)])
    assert list(content(A, {"a": a}, {"a": [Tombstone(0, key=1)]})) == [((2,), 90, 0)]
    assert list(content(A, {"a": a}, {"a": [Tombstone(0, row_hash=1)]})) == [((1,), 90, 0)]


@pytest.mark.parametrize(
    ("form", "is_equal"),
    [
        (Join(A, B, ON), True),
        (Distinct(Exists(A, B, ON)), True),
        (NotExists(A, B, ON), False),
        (Join(A, LeftJoin(A, B, ON, 1), ON), False),
        (Join(_source("a", Newest(2)), B, ON), False),
    ],
)
def test_which_reads_between_updates_are_the_statement(form, is_equal):
    assert is_equal_between_updates(form) is is_equal
