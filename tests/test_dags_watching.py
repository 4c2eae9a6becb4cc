"""What the watch task worries about, and the alarm of a late run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.toml_archives import SPAN, TomlArchive
from tidewheel.indexing.archive_file import parse_archive_file
from tidewheel.indexing.ledger import Ledger
from tidewheel.indexing.state import TableState

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


def said(state: TableState, now_us: int) -> list[str]:
    from tidewheel.dags.watching import worries

    return [f"{one.message} | {one.remedy}" for one in worries(state, now_us)]


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
    [message] = said(state_of(tide, K, (K - 9, K - 6), (K - 4, K)), now_after(tide, K, 0))
    assert message == (
        "1 slot is missing in archive tide: 1970-01-14T19:40:00Z | when their data is there: "
        "airflow dags trigger tide__backfill --conf "
        '\'{"start": "1970-01-14T19:40:00Z", "end": "1970-01-14T20:00:00Z", "missing_only": true}\''
    )


def test_slots_too_old_to_be_alive_are_not_missed(tide: TomlArchive) -> None:
    from tidewheel.dags.watching import missing_slots

    old = K - SPAN - 5
    assert missing_slots(state_of(tide, K, (old, old), (old + 3, K))) == ()
    assert missing_slots(state_of(tide, K, (old, old), (K - SPAN + 3, K))) == ((K - SPAN + 1, K - SPAN + 2),)


def test_expiry_by_timer_leaves_fresh_slots_to_their_updates(tide: TomlArchive) -> None:
    from tidewheel.dags.watching import overdue_expiry

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
    from tidewheel.dags import alerts

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
