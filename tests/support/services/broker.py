"""A real Kafka broker for tests, on the loopback, and what a producer and an operator do with its topics."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from scripts.kafka_broker import broker_command
from scripts.native_services import free_port, start, stop
from tests.support.services.servers import START_MAX_S, available, require_jars

WAIT_MAX_S = 30.0


@dataclass
class Broker:
    """One broker that can be stopped, killed and started again on the same ports and data."""

    folder: Path
    port: int
    controller_port: int
    more: str = ""
    protocol: str = "PLAINTEXT"
    client: Mapping[str, str] = field(default_factory=dict)  # what a client needs beside the address
    process: Any = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @property
    def options(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address, "log_level": 0, "error_cb": lambda error: None, **self.client}

    @cached_property
    def admin(self) -> AdminClient:
        """One for all: an answer comes only while its client lives."""
        return AdminClient(self.options)

    def start(self) -> None:
        command = broker_command(self.folder, self.port, self.controller_port, more=self.more, protocol=self.protocol)
        self.process = start(command, dict(os.environ), self.log)
        wait_until(self._answers, START_MAX_S, "the broker is not ready")

    def stop(self) -> None:
        stop([self.process])

    def kill(self) -> None:
        """As a machine that loses power, as far as the process goes."""
        self.process.kill()
        self.process.wait()

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        [made] = self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)]).values()
        made.result()
        wait_until(lambda: self._is_known(topic), WAIT_MAX_S, f"topic {topic} is not there")

    def delete(self, topic: str) -> None:
        [gone] = self.admin.delete_topics([topic]).values()
        gone.result()
        wait_until(lambda: not self._is_known(topic), WAIT_MAX_S, f"topic {topic} is still there")

    def add_partitions(self, topic: str, total: int) -> None:
        [made] = self.admin.create_partitions([NewPartitions(topic, total)]).values()
        made.result()
        wait_until(
            lambda: len(self.admin.list_topics(topic).topics[topic].partitions) == total, WAIT_MAX_S, "partitions"
        )

    def configure(self, topic: str, **config: str) -> None:
        changes = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        [done] = self.admin.incremental_alter_configs([resource]).values()
        done.result()

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """What retention does, now and to the offset."""
        [done] = self.admin.delete_records([TopicPartition(topic, partition, offset)]).values()
        done.result()

    def messages(self, topic: str, partition: int = 0) -> int:
        """How many messages are left in a partition."""
        reader = Consumer({**self.options, "group.id": "tests", "enable.partition.eof": True})
        reader.assign([TopicPartition(topic, partition, 0)])
        count = 0
        while (one := reader.poll(WAIT_MAX_S)) is not None and one.error() is None:
            count += 1
        reader.close()
        return count

    def send(self, topic: str, messages: Iterable[Message], **options: Any) -> None:
        producer = Producer({**self.options, "linger.ms": 5, **options})
        if "transactional.id" in options:
            producer.init_transactions()
            producer.begin_transaction()
        for one in messages:
            producer.produce(
                topic, one.content, key=one.key, partition=one.partition, timestamp=one.at_us // 1000,
                on_delivery=_delivered,
            )  # fmt: skip
        if "transactional.id" in options:
            producer.commit_transaction(WAIT_MAX_S)
        assert producer.flush(WAIT_MAX_S) == 0

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"the broker ended: {self.log.read_text()}"
        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _is_known(self, topic: str) -> bool:
        return topic in self.admin.list_topics(timeout=5).topics


@dataclass(frozen=True)
class Message:
    at_us: int
    value: object  # JSON, or the text itself
    partition: int = 0
    key: str | None = None

    @property
    def content(self) -> bytes | None:
        if self.value is None or isinstance(self.value, bytes):
            return self.value
        return (self.value if isinstance(self.value, str) else json.dumps(self.value)).encode()


@contextmanager
def broker(folder: Path, **given: Any) -> Iterator[Broker]:
    """A running broker."""
    require_jars("kafka")
    one = Broker(folder, free_port(), free_port(), **given)
    with available():
        broker_command(folder, one.port, one.controller_port)
    try:
        one.start()
        yield one
    finally:
        if one.process is not None:
            one.stop()


def wait_until(is_so: Any, wait_max_s: float, what: str) -> None:
    deadline = time.monotonic() + wait_max_s
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def in_order(messages: Sequence[Message]) -> list[Message]:
    return sorted(messages, key=lambda one: one.at_us)


def _delivered(error: Any, message: Any) -> None:
    assert error is None, error
