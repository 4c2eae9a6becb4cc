"""The soak's arithmetic, without the hours."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.process.soak import ROWS, SPAN, WINDOW, Soak, flatness, life_of, live_rows


@pytest.mark.parametrize("watermark", [0, 1, SPAN - 1, SPAN, 3 * SPAN + 5])
def test_live_rows_are_those_that_expire_after_the_watermark(watermark: int) -> None:
    """By the definition of an expiration slot: valid until a slot's start means that it expires in the slot before."""
    expirations = [slot + life_of(slot, number) - 1 for slot in range(watermark + 1) for number in range(ROWS)]
    assert live_rows(watermark) == sum(expiration > watermark for expiration in expirations)


def test_what_grows_is_told_from_what_stays_flat() -> None:
    samples = [{"slot": n, "log_bytes": 100 + n, "files": 7, "session": 0} for n in range(10 * WINDOW)]
    found = dict(flatness(samples))
    assert found["files"]["ratio"] == 1
    assert found["log_bytes"]["ratio"] > 3
    assert "heap_bytes" not in found


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    assert Soak.resumed(tmp_path).samples == []
    (tmp_path / "samples.jsonl").write_text('{"slot": 0, "session": 0}\n')
    assert len(Soak.resumed(tmp_path).samples) == 1
