"""Commits on an object store whose conditional PUT is atomic: the same promises as on a local disk.

With TIDEWHEEL_TEST_BUCKET and the AWS variables set, it is your own store that is put to the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commits.test_checkpoints import table_of_versions, written_by_eight
from tests.support.commit_contract import commit_slot, create_contract_table, race, run_writers
from tests.support.services.servers import ObjectStore, object_store
from tidewheel.storage.followed import Followed
from tidewheel.storage.location import Location
from tidewheel.storage.newest import Newest
from tidewheel.storage.snapshot import open_snapshot


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    if bucket := os.environ.get("TIDEWHEEL_TEST_BUCKET"):
        yield ObjectStore(os.environ.get("AWS_ENDPOINT_URL", ""), bucket, {})
        return
    with object_store(tmp_path_factory.mktemp("s3")) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


def test_two_processes_lose_and_double_nothing(store: ObjectStore) -> None:
    run_writers(store.url("contract"), writers=2, commits=30).check(2, 30)


@pytest.mark.cluster
def test_two_processes_lose_and_double_nothing_a_thousand_times(store: ObjectStore) -> None:
    outcome = run_writers(store.url("contract-1000"), writers=2, commits=1_000)
    outcome.check(2, 1_000)
    assert outcome.races_lost > 0


@pytest.mark.cluster
def test_eight_processes_write_the_same_checkpoints(store: ObjectStore, tmp_path: Path) -> None:
    table_of_versions(tmp_path)
    location = Location.of(store.url("checkpoints"))
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            location.write_bytes(location.child(str(path.relative_to(tmp_path))), path.read_bytes())
    written_by_eight(location)


def test_of_32_writers_on_one_version_one_wins(store: ObjectStore) -> None:
    assert len(race(store.url("race"), processes=4, writers_each=8)) == 1


def test_a_handle_that_stays_open_follows_the_log_and_commits_on_top(store: ObjectStore) -> None:
    create_contract_table(store.url("followed"))
    location, newest = Location.of(store.url("followed")), Newest()
    snapshot = newest.of(location)
    for number in range(3):
        commit_slot(snapshot, 0, number)
        snapshot = newest.of(location)
        assert isinstance(snapshot, Followed)
        assert (snapshot.version, snapshot.files) == (number + 1, open_snapshot(location).files)
        assert newest.of(location) is snapshot
