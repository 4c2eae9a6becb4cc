"""The store is away just after a commit: what is told is what happened, and the same command goes on from there."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import ARCHIVE_FILE, events
from tests.support.archives.local_archive import LocalArchive
from tests.support.services.away import away_after_commit, folder_away, put_unstored, unstored_keys
from tests.support.services.lossy_proxy import Away, lossy_proxy
from tests.support.services.servers import object_store
from tidewheel.cli import main
from tidewheel.storage import location

Store = tuple[Callable[[], object], Callable[[], object]]
COMMANDS = {
    "expire": ["expire", "m", "--through", "1970-01-01T00:06Z"],
    "forget": ["forget", "m", "--key", "a", "--yes"],
    "undo": ["undo", "m", "--yes"],
    "migrate": ["migrate", "m", "--expiration-classes", "2"],
    "rebuild": ["migrate", "m", "--expiration-classes", "2", "--stop-and-rebuild"],
}


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str = "") -> LocalArchive:
    """The archive m with some slots, and records beside it that were dead on arrival."""
    (folder / "archives").mkdir()
    (folder / "archives" / "m.toml").write_text(ARCHIVE_FILE.replace("../table", url or "../table"))
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(folder / "archives"))
    archive = LocalArchive(folder, url=url).create()
    archive.update({slot: events(slot) for slot in range(6)})
    put_unstored(archive, "abb")
    return archive


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    return filled(tmp_path, monkeypatch)


def played(archive: LocalArchive, command: list[str], store: Store, after_s: float, for_s: float) -> str:
    """Carry a command out while the store goes away after its commit; what it said, after it was judged."""
    version = archive.job.snapshot().version
    with away_after_commit(*store, after_s, for_s) as went:
        done = CliRunner().invoke(main, command)
    assert done.exit_code in (0, 8), done.output
    assert archive.job.snapshot().version == version + 1
    assert "Nothing was changed" not in done.output
    assert "Damaged" not in done.output
    if done.exit_code == 8:
        assert went
        assert re.search(rf"version {version + 1} stands.* is not swept yet", done.output), done.output
    elif command[0] == "forget":
        assert unstored_keys(archive) == ["b", "b"], done.output
    return done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_told_of_a_store_that_is_away_after_the_commit(archive: LocalArchive, name: str) -> None:
    command = COMMANDS[name]
    said = played(archive, command, folder_away(archive.folder / "table"), 0, 60)
    assert ("not swept yet" in said) is (name == "forget")
    if name == "forget":
        assert unstored_keys(archive) == ["a", "b", "b"]
        again = CliRunner().invoke(main, command)
        assert again.exit_code == 0, again.output
        assert unstored_keys(archive) == ["b", "b"]


@pytest.mark.nightly
def test_away_at_any_moment_after_the_commit(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(20):
        for command in COMMANDS.values():
            archive = filled(tmp_path_factory.mktemp("away"), monkeypatch)
            after_s, for_s = chance.choice([0, chance.uniform(0, 0.1)]), chance.uniform(0, 0.3)
            played(archive, command, folder_away(archive.folder / "table"), after_s, for_s)
            again = CliRunner().invoke(main, ["forget", archive.job.location.uri, "--key", "a", "--yes"])
            assert again.exit_code == 0, again.output
            assert unstored_keys(archive) == ["b", "b"]


@pytest.mark.nightly
@pytest.mark.parametrize("away", [Away.FAILS, Away.HANGS_UP])
def test_an_object_store_that_is_away_after_the_commit(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, away: Away
) -> None:
    monkeypatch.setattr(location, "ANSWER_S", 1)
    monkeypatch.setattr(location, "ASK_AGAIN_S", 2)
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    with object_store(tmp_path_factory.mktemp("s3")) as store, lossy_proxy(store.endpoint) as proxy:
        for name, value in {**store.environment, "AWS_ENDPOINT_URL": proxy.endpoint}.items():
            monkeypatch.setenv(name, value)
        for number, command in enumerate([*COMMANDS.values(), COMMANDS["forget"]]):
            archive = filled(tmp_path_factory.mktemp("away"), monkeypatch, f"s3a://archives/t{number}")
            after_s, for_s = chance.choice([0, chance.uniform(0, 0.3)]), chance.choice([60, chance.uniform(0, 2)])
            played(archive, command, (lambda: proxy.goes(away), proxy.comes_back), after_s, for_s)
            again = CliRunner().invoke(main, ["forget", archive.job.location.uri, "--key", "a", "--yes"])
            assert again.exit_code == 0, again.output
            assert unstored_keys(archive) == ["b", "b"]
