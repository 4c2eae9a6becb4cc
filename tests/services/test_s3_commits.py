"""Commits on an object store whose conditional PUT is atomic: the same promises as on a local disk.

With TIDEWHEEL_TEST_BUCKET and the AWS variables set, it is your own store that is put to the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.commit_contract import race, run_writers
from tests.support.services import ObjectStore, object_store


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


def test_of_32_writers_on_one_version_one_wins(store: ObjectStore) -> None:
    assert len(race(store.url("race"), processes=4, writers_each=8)) == 1
