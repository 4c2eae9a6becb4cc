"""Archives looked at side by side: stores that take a request and never answer hold up nobody."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.archives.situations import Situations, fresh, unreachable_store
from tidewheel.dags.page.archives_shown import overview_of
from tidewheel.dags.page.looks import Looks
from tidewheel.pages.overview import overview_page

LOOK_S = 2.0


@pytest.fixture
def silent_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store that lets everybody connect and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "nobody")
        yield


@pytest.fixture
def archives(tmp_path: Path) -> Situations:
    return Situations.in_folder(tmp_path)


@pytest.mark.usefixtures("silent_store")
def test_silent_stores_are_lines_with_their_last_known_state_and_the_others_are_seen(archives: Situations) -> None:
    fresh(archives, "there")
    fresh(archives, "moved")
    for number in range(2):
        unreachable_store(archives, f"away{number}")
    looks, paths = Looks(look_s=LOOK_S), [archives.path(name) for name in archives.names]
    overview_of(paths[0])  # with what a first look loads, which an api-server has loaded
    for is_moved in (False, True):  # the second time the looks of the first are still under way
        began = time.monotonic()
        there, moved, *away = looks.overviews(paths[:4])
        assert time.monotonic() - began < 2 * LOOK_S
        assert there.health.word == "healthy"
        for one in away:
            assert (one.health.word, one.health.why) == ("unreadable", "it did not answer within 2s")
        if not is_moved:
            before = moved
            unreachable_store(archives, "moved")
    assert before.health.word == "healthy"
    assert moved.health.word == "unreadable"
    assert "it was healthy; the figures are from then" in moved.health.why
    assert moved.status == before.status
    assert len(looks._under_way) == 4
    assert "it did not answer within 2s" in overview_page([there, moved, *away])


def test_what_fails_in_a_look_is_one_line(archives: Situations) -> None:
    path = archives.folder / "archives" / "none.toml"
    [seen] = Looks().overviews([path])
    assert seen.health.word == "unreadable"
    assert seen.status is None
