"""A topic under Airflow: the task `source` waits until a slot is complete there, and `update` brings it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.broker import Broker, Message, broker
from tests.support.services.dag_runs import K, context_of, pytestmark, work
from tidewheel.indexing.core.slots import iso

pytestmark = [*pytestmark, pytest.mark.cluster, pytest.mark.usefixtures("spark")]


def test_a_topic_is_waited_for_and_brought(tmp_path: Path) -> None:
    with broker(tmp_path / "kafka", more="log.retention.ms=-1\n") as running:
        running.create("tide", 1)
        tide = TomlArchive(tmp_path)
        tide.write_file()
        read_from_topic(tide, running)
        send(tide, running, 10)
        assert not work(tide, "tide", "source", context_of(tide, K, K + 2)), "silent since, it may only be late"
        send(tide, running, 30)
        send(tide, running, 61)
        context = context_of(tide, K, K + 2)
        assert work(tide, "tide", "source", context)
        receipt = work(tide, "tide", "update", context)
        assert (receipt["slots"], receipt["rows_in"], receipt["late_rows"], receipt["lost"]) == (3, 2, 0, 0)


def read_from_topic(tide: TomlArchive, running: Broker) -> None:
    """The archive's file, with a topic in place of its files."""
    text = tide.path.read_text()
    text = text.replace('path = "../batches/{slot}.json"\nformat = "json"', 'topic = "tide"\nlateness = "3650d"')
    text = text.replace("[retention]", f'[source.options]\n"bootstrap.servers" = "{running.address}"\n\n[retention]')
    tide.path.write_text(text)


def send(tide: TomlArchive, running: Broker, minute: int) -> None:
    at_us = tide.axis.start_us(K) + minute * 60_000_000
    value = {"key": "k", "at": iso(at_us), "until": iso(at_us + 3_600_000_000), "body": minute}
    running.send("tide", [Message(at_us, value)])
