"""Answers that are lost between an object store and a writer: the commit happened, and the writer must find out."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.commit_contract import commit_slot, create_contract_table
from tests.support.services.lossy_proxy import Away, LossyProxy, lossy_proxy
from tests.support.services.servers import object_store
from tidewheel.indexing.errors import OutcomeUnknown
from tidewheel.storage import location
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

TABLE = "s3a://archives/lossy"
# For a store that never answers, instead of the half minutes that people wait.
ANSWER_S, ASK_AGAIN_S = 1, 2
SLACK_S = 20  # of a machine that has much else to do


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


@pytest.mark.parametrize("away", Away)
def test_a_commit_that_nobody_can_look_up_ends_as_unknown_and_is_found_later(
    proxy: LossyProxy, away: Away, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost, and from then on the store is away: the writer is told so in a bounded time."""
    monkeypatch.setattr(location, "ANSWER_S", ANSWER_S)
    monkeypatch.setattr(location, "ASK_AGAIN_S", ASK_AGAIN_S)
    create_contract_table(TABLE)
    snapshot = open_snapshot(Location.of(TABLE))
    proxy.contains, proxy.losses, proxy.then = "00001.json", 1, away
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown) as caught:
        commit_slot(snapshot, 0, 7)
    # The commit is sent until it may have arrived, the look-up until it is given up: each of them is bounded.
    assert time.monotonic() - started < 2 * (ASK_AGAIN_S + ANSWER_S) + SLACK_S
    assert "tidewheel history s3a://archives/lossy" in str(caught.value)
    proxy.comes_back()
    found = [receipt.attempt for _, receipt in all_receipts(open_snapshot(Location.of(TABLE)))]
    assert found == ["init", caught.value.values["attempt"]]
