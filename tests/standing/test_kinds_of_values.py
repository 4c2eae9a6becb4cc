"""Standing queries over values of every kind: moments, days, lists, structs; what cannot be kept is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.standing.test_faulty_queries import archive, query, run, write
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive

__all__ = ["archive"]  # the fixture


def given(archive: LocalArchive, select: str, more: str = "", last: int = 1) -> list[dict[str, Any]]:
    """The newest answers of a query, beside one by a list, whose tree it may share."""
    nested = query("count(*) as n", name="nested", more='group_by = ["[v] as l", "k"]\n')
    write(archive, "kinds", query(select, name="kinds", more=more) + nested)
    code, told = run("refresh", "m")
    assert code == 0, told
    code, told = run("ask", "m", "kinds", "--last", str(last), "--json")
    assert code == 0, told
    return list(json.loads(told)["answers"])


def test_moments_are_answered_and_grouped_by(archive: LocalArchive) -> None:
    select = "min(t) as first, max(t) as last, arg_max(t, v) as most, count(*) as n"
    rows = given(archive, select, "group_by = [\"time_bucket(interval '1 hour', t) as hour\"]\n")
    assert [(one["hour"], one["first"], one["last"], one["most"], one["n"]) for one in rows] == [
        ("1970-01-01T00:00:00Z", *["1970-01-01T00:05:00.000001Z"] * 3, 2)
    ]
    assert run("audit", "m.answers", "--deep")[0] == run("audit", "m.partials", "--deep")[0] == 0


def test_days_beyond_the_calendar_are_groups_like_others(archive: LocalArchive) -> None:
    rows = given(archive, "count(*) as n, max(t) as t", "group_by = [\"date '9999-12-30' + v::integer as day\"]\n")
    assert [(one["day"], one["n"]) for one in rows] == [("+10000-01-05", 1), ("+10000-01-09", 1)]
    assert "+10000-01-09" in run("ask", "m", "kinds")[1]


def test_lists_of_values_hold_what_they_were(archive: LocalArchive) -> None:
    select = "first_n(k, 1) as f, last_n(t, 1) as t, concatenate(k, 9) as c, collect_distinct(k::blob, 9) as b"
    (one,) = given(archive, select)
    assert (one["f"], one["t"], one["c"]) == (["a"], ["1970-01-01T00:05:00.000001Z"], ["a", "b"])
    assert one["b"] == ["0x61", "0x62"]


def test_what_is_listed_stands_by_time_whatever_the_order_of_files(archive: LocalArchive) -> None:
    at_us = 6 * MINUTE_US
    rows = [
        Event(key, 1, at_us + after, at_us + 3 * MINUTE_US) for key, after in (("c", 1), ("a", 3), ("d", 2), ("b", 2))
    ]
    archive.update({6: rows})
    (one,) = given(archive, "concatenate(k, 9) as c")
    assert one["c"] == ["c", "b", "d", "a"]
    assert run("audit", "m.answers", "--deep")[0] == run("audit", "m.partials", "--deep")[0] == 0


@pytest.mark.parametrize("technique", ["", "sql"])
def test_lists_and_structs_are_compared_and_grouped_by(archive: LocalArchive, technique: str) -> None:
    more = "group_by = [\"{'k': k, 'small': v::utinyint} as s\"]\n" + f'technique = "{technique}"\n'
    rows = given(archive, "max([v, 1]) as most, arg_max({'v': v}, t) as newest, last([k]) as l", more)
    assert sorted((one["s"]["k"], one["s"]["small"], one["most"], one["newest"], one["l"]) for one in rows) == [
        ("a", 6, [6, 1], {"v": 6}, ["a"]),
        ("b", 10, [10, 1], {"v": 10}, ["b"]),
    ]


def test_groups_of_floats_are_told_apart_also_beside_lists(archive: LocalArchive) -> None:
    rows = given(archive, "count(*) as n", "group_by = [\"case when v = 10 then 'nan'::double else x end as f\"]\n", 2)
    assert [(one["f"], one["n"]) for one in rows] == [(4 / 3, 1), ("NaN", 1), (5 / 3, 1), ("NaN", 1)]


@pytest.mark.parametrize(
    ("select", "more", "wrong"),
    [
        ("max(t at time zone 'UTC') as m", "", "m: a value of type TIMESTAMP cannot be kept"),
        ("count(*) as n", 'group_by = ["t - t as gap"]\n', "gap: a value of type INTERVAL cannot be kept"),
        ("max({'u': uuid '00000000-0000-0000-0000-000000000000'}) as m", "", "cannot be kept"),
        ("count_distinct([v], 10) as n", "", "count_distinct of a list or struct"),
        ("approx_count_distinct({'v': v}) as n", "", "approx_count_distinct of a list or struct"),
    ],
)
def test_what_cannot_be_kept_is_named(archive: LocalArchive, select: str, more: str, wrong: str) -> None:
    path = write(archive, "bad", query(select, name="bad", more=more))
    code, told = run("query", "check", "m")
    assert (code, wrong in told, "has 1 fault" in told) == (2, True, True), told
    assert path.read_text().splitlines().index(more.strip() or f'select = "{select}"') + 1 == int(
        told.split("bad.toml:")[1].split(" ")[0]
    )


def test_what_is_beyond_a_limit_is_told_with_its_query(archive: LocalArchive) -> None:
    write(archive, "listed", query("concatenate(k, 1) as c", name="listed", more='ahead = "9s"\n'))
    code, told = run("refresh", "m")
    assert (code, "answers at version" in told) == (2, True)
    assert "cannot be folded for listed: concatenate: 2 values, and the limit is 1. Their answers stay" in told
    two = query("concatenate(k, 3) as c", name="listed", more='ahead = "9s"\n').replace(
        'window = "1m"', 'window = "2m"'
    )
    write(archive, "listed", two)
    code, told = run("refresh", "m")
    assert "query listed cannot be answered: concatenate: 4 values, and the limit is 3" in told


def test_answers_are_shown_without_what_moves_a_terminal(archive: LocalArchive) -> None:
    (one,) = given(archive, "max(chr(27) || '[2J') as m")
    assert one["m"] == "\x1b[2J"
    assert "\x1b" not in run("ask", "m", "kinds")[1]
    given(archive, "max(v) as m", 'group_by = ["chr(27) || k as e"]\n')
    assert "\x1b" not in run("ask", "m", "kinds", "--plot")[1]
