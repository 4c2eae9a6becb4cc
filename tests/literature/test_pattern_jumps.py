"""Windows that move in jumps, resampling, and landmark windows by a running synopsis."""

from __future__ import annotations

import random

import pytest

from tidewheel.queries.literature.patterns.jumping import Extent, JumpingWindow
from tidewheel.queries.literature.patterns.resample import Resample
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.texts.streaquel import read_loop


def record(ts: int, value: int = 0) -> Record:
    return Record((0, ts, value), (value,), ts)


@pytest.mark.parametrize(
    ("size", "slide", "mixed", "tumbles"),
    [
        (Extent(7), Extent(3), False, False),
        (Extent(4), Extent(4), False, True),
        (Extent(5, rows=True), Extent(2, rows=True), False, False),
        (Extent(3, rows=True), Extent(3, rows=True), False, True),
        (Extent(5, rows=True), Extent(4), True, False),
        (Extent(6), Extent(2, rows=True), True, False),
    ],
)
def test_jumping_windows_stay_until_they_slide(size: Extent, slide: Extent, mixed: bool, tumbles: bool) -> None:
    chance = random.Random(4)
    seen: list[list[Record]] = []
    window = JumpingWindow(size, slide, seen.append)
    assert (window.is_mixed, window.tumbles) == (mixed, tumbles)
    came: list[Record] = []
    expected: list[Record] = []
    for now in range(1, 60):
        for number in range(chance.randrange(3)):
            came.append(record(now, number))
            window.add(came[-1])
            if slide.rows and len(came) % slide.amount == 0:
                expected = true_contents(came, size, now)
        window.tick(now)
        if not slide.rows and now % slide.amount == 0:
            expected = true_contents(came, size, now)
        assert window.contents == expected
    held = [one for contents in seen for one in contents]
    assert not tumbles or len(held) == len(set(held))


def true_contents(came: list[Record], size: Extent, now: int) -> list[Record]:
    return came[-size.amount :] if size.rows else [one for one in came if now - size.amount < one.ts <= now]


def test_resample_is_the_mean_of_near_neighbours() -> None:
    chance = random.Random(9)
    asked = [record(ts) for ts in range(1, 100, 7)]
    values = [record(ts, chance.randrange(50)) for ts in range(1, 90) if chance.random() < 0.4]
    box, found = Resample(3, lambda one: one.values[0]), []
    for one in sorted([*asked, *values], key=lambda one: one.ts):
        found += box.add(one) if one in asked else box.add_value(one)
    found += box.heartbeat(110)
    assert [one.ts for one in found] == [one.ts for one in asked]
    for one in found:
        near = [held.values[0] for held in values if abs(held.ts - one.ts) <= 3]
        assert one.values[1] == (sum(near) / len(near) if near else None)


def test_a_loop_names_the_windows_that_a_stream_has() -> None:
    """Each run of a loop is a window of moments; a landmark one only grows."""
    came = [record(ts, ts) for ts in range(90, 120)]
    loop = read_loop("for (t = ST; t < ST + 10; t += 2) { WindowIs(S, ST, t); }")
    sums = [sum(one.ts for one in came if first <= one.ts <= last) for first, last in loop.windows(100, 0)]
    assert sums == [sum(range(100, last + 1)) for last in range(100, 110, 2)]
