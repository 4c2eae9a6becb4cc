"""What the watch task worries about, and the alarm of a late run."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.archives.described_archive import SPAN
from tests.support.archives.toml_archives import TomlArchive
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import iso, merged_ranges
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.rules.due import Missing, due_slots, missing_slots
from tidewheel.indexing.rules.health import health_of
from tidewheel.indexing.rules.status import status_of

HOUR_US = 3600 * 10**6
K = 1000


@pytest.fixture
def tide(tmp_path: Path) -> TomlArchive:
    archive = TomlArchive(tmp_path)
    archive.write_file('freshness = "1h"')
    return archive


def state_of(tide: TomlArchive, watermark: int | None, *applied: tuple[int, int], clock: str = "wall") -> TableState:
    text = tide.path.read_text(encoding="utf-8").replace('clock = "wall"', f'clock = "{clock}"')
    definition = parse_archive_file(text, "tide.toml").definition("salt")
    return TableState(5, 5, watermark, definition, (), Ledger(5, 5, watermark, applied))


def now_after(tide: TomlArchive, slot: int, hours: float) -> int:
    return tide.axis.end_us(slot) + int(hours * HOUR_US)


def said(state: TableState, now_us: int, *due: tuple[int, int]) -> list[str]:
    """What is worried about where these slots were due, whatever the age of the newest batch."""
    told = status_of(state, path="", now_us=now_us)
    told = replace(told, missing_due=Missing(missing_slots(state, due)))
    return [f"{one.message} | {one.remedy}" for one in health_of(told).worries]


def test_nothing_to_worry_about(tide: TomlArchive) -> None:
    assert said(state_of(tide, K, (K - 20, K)), now_after(tide, K, 1)) == []
    assert said(state_of(tide, None), now_after(tide, K, 100)) == []


def test_expiry_that_is_twice_as_late_as_the_timer_is_a_worry(tide: TomlArchive) -> None:
    state = state_of(tide, K, (K - 20, K))
    assert said(state, now_after(tide, K, 2.3)) == []
    [message] = said(state, now_after(tide, K, 3))
    assert "expiry is overdue: archive tide is expired through 1970-01-14T21:40:00Z, 3h ago" in message
    assert "tidewheel expire tide" in message


def test_historic_archives_have_no_present(tide: TomlArchive) -> None:
    assert said(state_of(tide, K, (K - 20, K), clock="data"), now_after(tide, K, 1000)) == []


def test_missing_slots_come_with_the_command_that_fills_them(tide: TomlArchive) -> None:
    [message] = said(state_of(tide, K, (K - 9, K - 6), (K - 4, K)), now_after(tide, K, 0), (K - 9, K))
    assert message == (
        "1 slot is missing in archive tide: 1970-01-14T19:40:00Z, though their runs were due | see what became of "
        "their runs; when their data is there: airflow dags trigger tide__backfill --conf "
        '\'{"start": "1970-01-14T19:40:00Z", "end": "1970-01-14T20:00:00Z", "missing_only": true}\''
    )


# Which slots are due: hourly runs of three slots each.

START_SLOT = K - 10  # 18:20, in the run of 18:00


def due_of(
    tide: TomlArchive, state: TableState, hours: float, schedule: str = 'freshness = "10m"', created_slot: int = 0
) -> tuple[tuple[int, int], ...]:
    tide.write_file(schedule)
    file = parse_archive_file(tide.path.read_text(encoding="utf-8"), "tide.toml")
    return due_slots(file, state, tide.axis.end_us(created_slot), now_after(tide, K, hours))


def start_at(tide: TomlArchive, slot: int, more: str = "") -> str:
    return f'freshness = "10m"\nstart = {iso(tide.axis.start_us(slot))}\n{more}'


def test_a_slot_is_due_when_its_run_is_and_had_its_time(tide: TomlArchive) -> None:
    # K ends at 21:40, in the run that is due at 22:00.
    state, start = state_of(tide, K, (K - 20, K)), start_at(tide, START_SLOT)
    assert due_of(tide, state, 0, start) == ((START_SLOT, K - 2),)
    assert due_of(tide, state, 0.49, start) == ((START_SLOT, K - 2),)
    assert due_of(tide, state, 0.5, start) == ((START_SLOT, K + 1),)


def test_without_a_freshness_a_vacuum_period_is_the_patience(tide: TomlArchive) -> None:
    start = start_at(tide, START_SLOT).replace('freshness = "10m"', "")
    state = state_of(tide, K, (K - 20, K))
    assert due_of(tide, state, 0.5, start) == ((START_SLOT, K - 2),)
    assert due_of(tide, state, 1.4, start) == ((START_SLOT, K + 1),)


def test_slots_too_old_to_be_alive_are_not_due(tide: TomlArchive) -> None:
    state = state_of(tide, K, (K - 40, K))
    assert due_of(tide, state, 0, start_at(tide, K - 40)) == ((K - SPAN + 1, K - 2),)


def test_nothing_is_due_before_the_schedule_began(tide: TomlArchive) -> None:
    """A deliberate backfill of older slots, with a gap behind it."""
    state = state_of(tide, K, (K - 11, K - 9), (K - 4, K))
    assert due_of(tide, state, 0, start_at(tide, K - 4)) == ((K - 4, K - 2),)
    # Without a start the schedule began with the run that made the archive.
    assert due_of(tide, state, 0, created_slot=K - 2) == ((K - 4, K - 2),)
    # It was made by hand long before the schedule was switched on.
    assert due_of(tide, state_of(tide, K, (K - 4, K)), 0, created_slot=K - 99) == ((K - 4, K - 2),)


def test_nothing_is_due_without_a_schedule_or_from_one_that_does_not_make_up(tide: TomlArchive) -> None:
    state = state_of(tide, K, (K - 20, K - 5))
    assert due_of(tide, state, 9, start_at(tide, START_SLOT, "catchup = false")) == ()
    assert due_of(tide, state_of(tide, None), 9) == ()
    tide.write_file(cron="@never")
    file = parse_archive_file(tide.path.read_text(encoding="utf-8"), "tide.toml")
    assert due_slots(file, state, 0, now_after(tide, K, 9)) == ()


@pytest.mark.parametrize("lost", [None, 90])
def test_two_hours_of_minute_slots_with_hourly_runs(tide: TomlArchive, lost: int | None) -> None:
    """Looked at every minute: each hourly run takes ten minutes, and expiry moves the watermark in between.

    Nothing is ever missing, unless a run leaves a slot out: then that one is, from the run's patience on.
    """
    from tidewheel.dags.watch.watching import overdue_expiry

    text = (
        tide.path.read_text(encoding="utf-8").replace('"20m"', '"1m"').replace('freshness = "1h"', 'freshness = "15m"')
    )
    text = text.replace("[schedule]", "[schedule]\nstart = 1970-01-02T00:00:00Z").replace(
        'vacuum_period = "1h"', 'vacuum_period = "5m"'
    )
    file = parse_archive_file(text, "tide.toml")
    first = 1440
    applied: tuple[tuple[int, int], ...] = ((first, first + 59),)
    watermark, found = first + 59, {}
    for minute in range(60, 200):
        now_us = file.axis.start_us(first + minute)
        if minute % 60 == 10 and minute > 60:
            hour = first + minute // 60 * 60 - 60
            kept = [one for one in range(hour, hour + 60) if one - first != lost]
            applied = merged_ranges((*applied, *((one, one) for one in kept)))
            watermark = max(watermark, hour + 59)
        state = TableState(5, 5, watermark, file.definition("salt"), (), Ledger(5, 5, watermark, applied))
        through = overdue_expiry(state, now_us)
        if minute % 5 == 0 and through is not None:
            state = replace(state, watermark=(watermark := through))
        if gaps := missing_slots(state, due_slots(file, state, 0, now_us)):
            found[minute] = gaps
    assert watermark > first + 180
    expected = {} if lost is None else dict.fromkeys(range(135, 200), ((first + lost, first + lost),))
    assert found == expected


def test_expiry_by_timer_leaves_fresh_slots_to_their_updates(tide: TomlArchive) -> None:
    from tidewheel.dags.watch.watching import overdue_expiry

    state = state_of(tide, K, (K - 20, K))
    assert overdue_expiry(state, now_after(tide, K, 1)) is None
    assert overdue_expiry(state, now_after(tide, K, 1.4)) == K + 1
    assert overdue_expiry(state_of(tide, K, clock="data"), now_after(tide, K, 9)) is None


# The alarm.


alarms: list[dict[str, Any]] = []


def page(alert: dict[str, Any]) -> None:
    """Stands for the function that pages somebody."""
    alarms.append(alert)


def test_the_alarm_says_how_late_it_is_and_calls_who_is_named(
    tide: TomlArchive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tidewheel.archive import Archive
    from tidewheel.dags.watch import alerts

    monkeypatch.setenv("TIDEWHEEL_ALERT", f"{__name__}:page")
    monkeypatch.setattr(Archive, "now_us", lambda self: now_after(tide, K, 3))
    monkeypatch.setattr(alerts, "_applied_through_us", lambda archive: tide.axis.end_us(K))
    alarms.clear()
    with caplog.at_level(logging.ERROR):
        alerts.freshness_missed(str(tide.path), {"dag_run": {"dag_run_id": "scheduled__1"}})
    [alert] = alarms
    assert alert["message"] == "archive tide is not fresh: it lags 3h, promised are 1h; late run: scheduled__1"
    assert alert["message"] in caplog.text
    # A run of the past is late, but the archive is fresh all the same.
    monkeypatch.setattr(Archive, "now_us", lambda self: now_after(tide, K, 0.5))
    alerts.freshness_missed(str(tide.path), {"dag_run": {"dag_run_id": "backfill__1"}})
    assert len(alarms) == 1
