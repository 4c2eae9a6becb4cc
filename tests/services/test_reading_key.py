"""The page's key: it opens a door of the store through which nobody writes, and is enough to look at an archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.native_services import free_port, start, stop, versitygw
from tests.support.archives.situations import Situations
from tests.support.services.servers import ObjectStore, object_store

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.nightly
READER = {"READER_ACCESS_KEY_ID": "page", "READER_SECRET_ACCESS_KEY": "reads-only"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """This process is a client that may write."""
    with object_store(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store


@pytest.fixture
def reader(store: ObjectStore, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the api-server is given, as docker-compose.yml starts the second door."""
    port = free_port()
    command = [str(versitygw()), "--readonly", "--port", f"127.0.0.1:{port}", "--health", "/health", "--quiet"]
    given = {"ROOT_ACCESS_KEY_ID": "page", "ROOT_SECRET_ACCESS_KEY": "reads-only"}
    server = start([*command, "posix", str(tmp_path / "objects")], {**os.environ, **given}, tmp_path / "door.log")
    try:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        address = f"http://127.0.0.1:{port}"
        yield {**plain, **READER, "AWS_ENDPOINT_URL": store.endpoint, "READER_ENDPOINT_URL": address}
    finally:
        stop([server])


def as_reader(reader: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    words = [str(ROOT / "scripts/as-reader"), sys.executable, "-m", "tidewheel.cli", *command]
    return subprocess.run(words, env=reader, capture_output=True, text=True, check=False)


def test_it_looks_and_changes_nothing(store: ObjectStore, reader: dict[str, str], tmp_path: Path) -> None:
    played = Situations.in_folder(tmp_path)
    path = str(played.write("fresh", path=store.url("tables/fresh")))
    played.feed("fresh", (3, 2, 1))
    seen = as_reader(reader, "status", path, "--json")
    assert seen.returncode == 0, seen.stderr
    assert json.loads(seen.stdout)["health"]["word"] == "healthy"
    version = played.opened("fresh").snapshot().version
    refused = as_reader(reader, "forget", path, "--key", "a", "--yes")
    assert refused.returncode != 0
    assert played.opened("fresh").snapshot().version == version
