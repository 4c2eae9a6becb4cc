"""Answers that are lost between an object store and a writer: the commit happened, and the writer must find out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.commit_contract import commit_slot, create_contract_table
from tests.support.lossy_proxy import LossyProxy, lossy_proxy
from tests.support.services import object_store
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

TABLE = "s3a://archives/lossy"


@pytest.fixture
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LossyProxy]:
    folder = tmp_path_factory.mktemp("s3")
    with object_store(folder) as store, lossy_proxy(store.endpoint) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in {**store.environment, "AWS_ENDPOINT_URL": running.endpoint}.items():
            patch.setenv(name, value)
        yield running


@pytest.mark.parametrize("losses", [1, 2])
def test_a_commit_whose_answer_was_lost_is_found_in_the_log(proxy: LossyProxy, losses: int) -> None:
    create_contract_table(TABLE)
    proxy.contains, proxy.losses = "00001.json", losses
    assert commit_slot(open_snapshot(Location.of(TABLE)), 0, 7) == 1
    assert len(proxy.lost) == losses
    snapshot = open_snapshot(Location.of(TABLE))
    assert snapshot.version == 1
    assert [receipt.attempt for _, receipt in all_receipts(snapshot)] == ["init", "0-7"]
