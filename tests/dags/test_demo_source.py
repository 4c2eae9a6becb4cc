"""The source of the demo archives: every interval that is over has its batch, once, and old ones go."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidewheel.playground.demo_source import BEFORE_INTERVALS, EVERY, KEPT, DemoSource, demo_records

NOW = datetime(2026, 11, 19, 10, 3, tzinfo=UTC)
LAST = datetime(2026, 11, 19, 9, 55, tzinfo=UTC)


def test_every_interval_that_is_over_has_its_batch(tmp_path: Path) -> None:
    source = DemoSource(tmp_path / "batches", EVERY)
    assert source.due(NOW) == [LAST - count * EVERY for count in range(BEFORE_INTERVALS - 1, -1, -1)]
    assert not source.is_fed(NOW)
    assert source.feed(NOW) == BEFORE_INTERVALS
    assert source.is_fed(NOW)
    lines = (tmp_path / "batches/2026-11-19T0955.json").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert records == list(demo_records(LAST, EVERY))
    assert all(LAST <= datetime.fromisoformat(one["at"]) < LAST + EVERY for one in records)


def test_a_batch_is_written_once(tmp_path: Path) -> None:
    DemoSource(tmp_path, EVERY).feed(NOW)
    again = DemoSource(tmp_path, EVERY)
    assert again.feed(NOW) == 0
    assert again.feed(NOW + EVERY) == 1
    assert not again.is_fed(NOW + 3 * EVERY)


def test_old_batches_go(tmp_path: Path) -> None:
    source = DemoSource(tmp_path, EVERY)
    source.feed(NOW)
    source.clean(LAST + KEPT + timedelta(minutes=1))
    assert [path.name for path in tmp_path.iterdir()] == []
    source.feed(NOW)
    source.clean(LAST + KEPT)
    assert [path.name for path in tmp_path.iterdir()] == ["2026-11-19T0955.json"]
