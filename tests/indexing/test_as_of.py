"""The moment of a read: three rules, each against its own sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.rules.as_of import answers_for, as_of_default_us, version_as_of, watermark_end_us

AXIS = TimeAxis(interval_us=10, epoch_us=3)
WATERMARKS = st.lists(st.none() | st.integers(-20, 20), max_size=12)


@pytest.mark.parametrize(
    ("clock", "end_us", "now_us", "expected"),
    [
        (Clock.WALL, 100, 150, 150),
        (Clock.WALL, 100, 99, 100),  # the batch of a slot that ends in the future was confirmed
        (Clock.WALL, None, 99, 99),
        (Clock.DATA, 100, 150, 100),
        (Clock.DATA, 100, 50, 100),
        (Clock.DATA, None, 50, 50),
    ],
)
def test_the_default_moment(clock, end_us, now_us, expected):
    assert as_of_default_us(clock, end_us, now_us) == expected


def test_the_end_of_a_watermark_is_the_start_of_the_next_slot():
    assert watermark_end_us(AXIS, 0) == 13
    assert watermark_end_us(AXIS, -1) == 3
    assert watermark_end_us(AXIS, None) is None


@pytest.mark.parametrize(("end_us", "as_of_us", "expected"), [(10, 10, True), (10, 9, False), (None, -5, True)])
def test_a_version_answers_from_the_end_of_its_watermark_on(end_us, as_of_us, expected):
    assert answers_for(end_us, as_of_us) is expected


@given(WATERMARKS, st.integers(-250, 250))
def test_the_chosen_version_is_the_newest_that_lost_nothing(watermarks, as_of_us):
    history = list(enumerate(watermarks))
    exact = [v for v, w in history if w is not None and answers_for(AXIS.end_us(w), as_of_us)]
    assert version_as_of(history, AXIS, as_of_us) == (exact[-1] if exact else None)
    assert version_as_of(reversed(history), AXIS, as_of_us) == (exact[-1] if exact else None)


def test_an_undo_makes_an_older_watermark_the_newest_version():
    # Version 3 jumped too far, version 4 took it back.
    history = [(1, 1), (2, 2), (3, 90), (4, 2)]
    assert version_as_of(history, AXIS, AXIS.end_us(2)) == 4
    assert version_as_of(history, AXIS, AXIS.end_us(1)) == 1
