"""Path templates: what they expand to, and that no two slots may share a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel.indexing.archive_file.source_paths import check_template, path_for_slot, shared_path
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 24 * 3600 * SECOND


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("in/{start:%Y/%m/%d/%H}", "in/2026/11/18/10"),
        ("in/{end:%Y-%m-%dT%H%M}-{slot}", "in/2026-11-18T1100-7"),
        ("in/{start}", "in/2026-11-18T10:00:00Z"),
        ("in/{slot:06d}/{{a,b}}/*.json", "in/000007/{a,b}/*.json"),
        ("in/{start:%Y%m%d%H%M%S.%f}%", "in/20261118100000.000000%"),
    ],
)
def test_path_for_slot(template: str, expected: str) -> None:
    start_us = 1_794_996_000 * SECOND

    check_template(template)
    assert path_for_slot(template, start_us, start_us + HOUR, 7) == expected


@pytest.mark.parametrize(
    ("template", "interval_us"),
    [
        ("{start:%Y-%m-%d}", HOUR),
        ("{start:%H}", HOUR),
        ("{start:%m-%d}", DAY),
        ("{start:%d}", DAY),
        ("{start:%Y%m%d%H}", 5 * MINUTE),
        ("{start:%Y-%m}", 7 * DAY),
        ("{start:%m-%d}", 7 * DAY),
        ("{start:%Y%m%dT%H%M%S}", 500_000),
    ],
)
def test_paths_that_two_slots_share_are_found(template: str, interval_us: int) -> None:
    assert shared_path(template, TimeAxis(interval_us)) is not None


@pytest.mark.parametrize(
    ("template", "interval_us"),
    [("{start:%Y-%m-%d}", DAY), ("{start:%G-W%V}", 7 * DAY), ("{slot}", 1), ("{start:%Y%j%H%M}", 5 * MINUTE)],
)
def test_paths_of_their_own_are_left_alone(template: str, interval_us: int) -> None:
    assert shared_path(template, TimeAxis(interval_us)) is None


@given(st.text(alphabet="{}:%!slotartend[].0dY \\", max_size=30))
def test_a_template_that_passes_can_be_expanded(template: str) -> None:
    try:
        check_template(template)
    except InvalidInput:
        return
    path_for_slot(template, -HOUR, 0, -1)
