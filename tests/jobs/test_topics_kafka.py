"""Topics of a real Kafka broker as sources: what each slot reads, once and again, and what becomes of what is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console, RenderableType

from tests.support.archives.topic_archive import TopicArchive
from tests.support.services.broker import Broker, Message, broker, wait_until
from tidewheel.indexing.errors import InvalidInput, Unavailable
from tidewheel.indexing.rules.status import status_of
from tidewheel.jobs.data.source import Seen, read_batch
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import state_of
from tidewheel.views.outcomes import receipt_view
from tidewheel.views.status import status_view

PAGE = Path(__file__).parent.parent.parent / "docs" / "kafka.md"
pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker(tmp_path_factory.mktemp("kafka"), more="log.retention.ms=-1\n") as one:
        yield one


@pytest.fixture
def flows(running: Broker, tmp_path: Path) -> TopicArchive:
    return TopicArchive(tmp_path, running, tmp_path.name)


def shown(command: str, output: str, flows: TopicArchive) -> bool:
    """Whether the page shows a line of what a command prints."""
    (line,) = re.findall(rf"^    \$ tidewheel {command} .*\n    (.*)$", PAGE.read_text(), re.MULTILINE)
    return " ".join(line.split()) in " ".join(output.replace(flows.topic, "flows").split())


def printed(view: RenderableType) -> str:
    text = StringIO()
    Console(file=text, width=200).print(view)
    return text.getvalue()


def test_slots_are_read_once_by_time_and_then_by_their_offsets(flows: TopicArchive) -> None:
    flows.create()
    flows.send(*(flows.message(minute / 10, minute % 2) for minute in range(25)))
    first = flows.update(0, 1).receipt
    assert first is not None
    assert [one.offsets.ranges for one in first.slots if one.offsets] == [
        {0: (0, 5), 1: (0, 5)},
        {0: (5, 10), 1: (5, 10)},
    ]
    flows.send(flows.message(0.5), flows.message(1.5, 1), flows.message(2.6))
    before = flows.content()
    assert flows.update(0).version == 2
    assert flows.content() == before, "a replay reads what the slot has read, whatever came since"
    last = flows.update(2).receipt
    assert last is not None
    assert (last.slots[0].rows_in, last.late_rows) == (8, 2)
    flows.check()
    columns = flows.job.snapshot().columns
    assert [field.name for field in columns] == ["key", "until", "body", "sent", "part", "place"]
    assert shown("update", printed(receipt_view(3, last, flows.file.axis)), flows)


@pytest.mark.nightly
def test_a_new_partition_is_read_from_its_beginning_and_not_by_replays(flows: TopicArchive) -> None:
    flows.create()
    flows.send(flows.message(0.5), flows.message(0.5, 1), flows.message(1), flows.message(1, 1))
    flows.update(0)
    flows.broker.add_partitions(flows.topic, 3)
    flows.send(flows.message(0.9, 2), flows.message(1.1, 2), flows.message(2), flows.message(2, 1), flows.message(2, 2))
    flows.update(1)
    assert flows.offsets(1).ranges == {0: (1, 2), 1: (1, 2), 2: (0, 2)}
    flows.update(0)
    assert flows.offsets(0).ranges == {0: (0, 1), 1: (0, 1)}
    flows.check()


def test_what_is_gone_is_refused_with_what_to_do_or_counted(flows: TopicArchive) -> None:
    flows.create()
    flows.send(*(flows.message(0.5) for _ in range(4)), *(flows.message(1.5) for _ in range(4)), flows.message(2))
    flows.send(flows.message(0.5, 1), flows.message(2, 1))
    flows.update(0)
    flows.broker.delete_before(flows.topic, 0, 6)
    with pytest.raises(InvalidInput, match=r"(?s)4 offsets of partition 0 \[0, 4\).*lost = \"take\""):
        flows.update(0)
    with pytest.raises(InvalidInput, match=r"of slot 2026-01-01T00:01:00Z 2 offsets of partition 0 \[4, 8\)"):
        flows.update(1)
    assert flows.job.snapshot().version == 1
    flows.check()
    taking = replace(flows, more='lost = "take"')
    taken = taking.update(1).receipt
    assert taken is not None
    assert (taken.slots[0].rows_in, taking.offsets(1).lost) == (2, 2)
    with pytest.raises(InvalidInput, match="--allow-shrink"):
        taking.update(0)
    again = taking.update(0, allow_shrink=True).receipt
    assert again is not None
    assert (again.slots[0].rows_in, taking.offsets(0).lost) == (1, 4)
    told = status_of(state_of(flows.job.snapshot()), path="", now_us=flows.now_us)
    assert shown("status", printed(status_view(told, "")), flows)


@pytest.mark.nightly
def test_an_emptied_topic_and_one_made_anew_are_not_taken_for_the_old_one(flows: TopicArchive) -> None:
    flows.create()
    flows.send(flows.message(0.5), flows.message(0.6), flows.message(0.5, 1))
    flows.update(0)
    flows.broker.configure(flows.topic, retention_ms="1000")
    wait_until(lambda: "3 offsets" in refusal(flows, 0), 20, "the broker deletes nothing")
    flows.broker.delete(flows.topic)
    flows.broker.create(flows.topic, 2)
    flows.send(flows.message(1.5), flows.message(2))
    flows.now_us = flows.at(3)
    assert "was deleted and made anew since" in refusal(flows, 0)
    assert "follows one that was read from a topic" in refusal(flows, 1)
    taking = replace(flows, more='lost = "take"')
    taken = taking.update(1).receipt
    assert taken is not None
    assert taken.slots[0].rows_in == 1


def refusal(flows: TopicArchive, slot: int) -> str:
    try:
        update(flows.job, [slot])
    except InvalidInput as error:
        return error.message
    return ""


@pytest.mark.nightly
def test_what_compaction_took_is_missed_by_a_replay(flows: TopicArchive) -> None:
    flows.create(segment_ms="100", min_cleanable_dirty_ratio="0.01")
    flows.send(*(replace(flows.message(0.1 * n), key="same") for n in range(8)))
    flows.send(flows.message(1), flows.message(1, 1))  # into a segment of its own: the newest one is left alone
    flows.update(0)
    flows.broker.configure(flows.topic, cleanup_policy="compact")
    assert f"topic {flows.topic} is compacted" in refusal(flows, 0)
    wait_until(lambda: flows.broker.messages(flows.topic) < 9, 30, "the broker compacts nothing")
    taking = replace(flows, more='lost = "take"')
    flows.broker.configure(flows.topic, cleanup_policy="delete")
    assert "brought 8 messages when it was read before, and" in refusal(flows, 0)
    flows.check()
    taken = taking.update(0, allow_shrink=True).receipt
    assert taken is not None
    assert taken.slots[0].rows_in + taking.offsets(0).lost == 8


@pytest.mark.nightly
def test_two_who_read_neighbours_agree_on_the_bound_between_them(flows: TopicArchive) -> None:
    flows = replace(flows, more='missing = "empty"').create()
    flows.send(flows.message(0.5), flows.message(0.5, 1))
    flows.now_us = flows.at(3)
    others: list[int | None] = []

    def somebody_is_first(step: str) -> None:
        if step == "writing" and not others:
            flows.send(flows.message(0.9))
            others.append(flows.update(0).version)

    assert update(replace(flows.job, progress=somebody_is_first), [1]).tries == 2
    assert others == [1]
    flows.oracle.update({1: []})
    flows.send(flows.message(2.5), flows.message(2.5, 1))
    flows.update(2)
    assert [flows.offsets(slot).ranges[0] for slot in (0, 1, 2)] == [(0, 2), (2, 2), (2, 3)]
    flows.check()


def test_messages_that_are_no_record_are_set_aside(flows: TopicArchive, spark: SparkSession) -> None:
    flows.create()
    good = flows.message(0.1)
    wrong: list[object] = [
        None,
        "",
        " ",
        "null",
        "5",
        "[]",
        '[{"key": "a"}]',
        "{",
        '{"body": "x"}',
        '{"until": "never"}',
    ]
    wrong += [b"\xff\xfe{}", b'{"key": "\xff", "until": "2026-01-01T00:01:00Z"}']
    flows.send(good, *(Message(flows.at(0.2), value) for value in wrong), flows.message(1), flows.message(1, 1))
    receipt = update(flows.job, [0]).receipt
    assert receipt is not None
    assert (receipt.slots[0].rows_in, receipt.slots[0].stored) == (len(wrong) + 1, 1)
    assert receipt.slots[0].quarantined == len(wrong)


@pytest.mark.nightly
def test_messages_of_transactions_count_when_they_are_committed(flows: TopicArchive) -> None:
    from confluent_kafka import Producer

    flows.create()
    flows.send(flows.message(0.1), flows.message(1, 1))
    open_one = Producer({**flows.broker.options, "transactional.id": "open"})
    open_one.init_transactions()
    open_one.begin_transaction()
    hidden = flows.message(0.2)
    open_one.produce(flows.topic, hidden.content, partition=0, timestamp=hidden.at_us // 1000)
    open_one.flush()
    flows.send(flows.message(1.1))
    flows.now_us = flows.at(1)
    with pytest.raises(
        Unavailable, match=r"may not be complete: topic .* in partition 0, and its lateness lasts until"
    ):
        update(flows.job, [0])
    open_one.abort_transaction()
    receipt = update(flows.job, [0]).receipt
    assert receipt is not None
    assert (receipt.slots[0].rows_in, flows.offsets(0).ranges[0]) == (1, (0, 2))


def test_a_broker_that_is_away_or_lacks_the_topic_is_named(flows: TopicArchive, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match=f"broker at {flows.broker.address} has no topic {flows.topic}"):
        read_batch(spark, flows.file, [0], seen=Seen({}, flows.at(2)))


@pytest.mark.nightly
def test_keys_of_messages_become_a_column(flows: TopicArchive, spark: SparkSession) -> None:
    flows.create()
    flows.send(flows.message(0.1), flows.message(1), flows.message(1, 1))
    message = {"key": "who", "timestamp": "sent"}
    file = replace(flows.file, source=replace(flows.file.source, message=message))
    rows = read_batch(spark, file, [0], seen=Seen({}, flows.at(1))).frames[0].select("who", "sent").collect()
    assert [row["who"] for row in rows] == ["k1"]
    clash = replace(file, source=replace(file.source, message={"key": "body"}))
    with pytest.raises(InvalidInput, match=r"\[source.message\] gives a column the name body"):
        read_batch(spark, clash, [0], seen=Seen({}, flows.at(1)))
