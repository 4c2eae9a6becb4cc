"""A Kafka broker's facts about a topic: its partitions, the rest of each, and the offsets at some moments.

librdkafka asks for them, which needs no Java: waiting for a slot starts none.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.topics import Partition, Topic, moments_of
from tidewheel.indexing.errors import InvalidInput, TidewheelError, Unavailable
from tidewheel.indexing.extras import needed
from tidewheel.jobs.data.topic_options import client_options

ANSWER_MAX_S = 30.0
_US_PER_MS = 1000
_FOR_EVER_US = 1 << 62
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_LOG = logging.getLogger(__name__)


def asked(file: ArchiveFile, slots: Sequence[int], now_us: int) -> Topic:
    """Return the topic of an archive's source, as far as its slots may need.

    Cost: a few requests, one more for each moment.
    """
    with needed("to read a Kafka topic"):
        from confluent_kafka import KafkaException
    broker = _Broker(file)
    try:
        return broker.topic(moments_of(file, slots), now_us)
    except KafkaException as error:
        raise broker.unanswered(error) from error


class _Broker:
    """One client for one look at a topic."""

    def __init__(self, file: ArchiveFile) -> None:
        from confluent_kafka.admin import AdminClient

        self.name, self.archive = file.source.topic, file.name
        self.said: list[str] = []  # by the client beside its answers: why it cannot connect, above all
        quiet = {"log_level": 0, "error_cb": lambda error: self.said.append(error.str())}
        self.options = client_options(file.source)
        self.client = AdminClient({**self.options, **quiet}, logger=_LOG)

    def topic(self, moments_us: Collection[int], now_us: int) -> Topic:
        from confluent_kafka import TopicCollection

        (described,) = self.client.describe_topics(TopicCollection([self.name]), request_timeout=ANSWER_MAX_S).values()
        description = described.result()
        settings = self._settings()
        topic_id = str(description.topic_id)
        return Topic(
            self.name,
            "" if topic_id == _NO_ID else topic_id,
            self._partitions([one.id for one in description.partitions], moments_us),
            asked_us=now_us,
            is_compacted="compact" in settings.get("cleanup.policy", ""),
            kept_us=_kept_us(settings),
        )

    def _partitions(self, numbers: Sequence[int], moments_us: Collection[int]) -> dict[int, Partition]:
        from confluent_kafka.admin import OffsetSpec

        # In this order: what comes meanwhile lies behind the ends, what is deleted meanwhile before the beginnings.
        ends = _answered(self._asked(numbers, OffsetSpec.latest()))
        asked = {us: self._asked(numbers, OffsetSpec.for_timestamp(_milliseconds(us))) for us in moments_us}
        at = {us: _answered(one) for us, one in asked.items()}
        begins = _answered(self._asked(numbers, OffsetSpec.earliest()))
        found = {}
        for number in numbers:
            first_at = {us: offsets[number] for us, offsets in at.items() if offsets[number] >= 0}
            found[number] = Partition(begins[number], ends[number], first_at)
        return found

    def _asked(self, numbers: Sequence[int], spec: Any) -> dict[int, Future[Any]]:
        """Return answers by partition.

        The end is the committed one: an open transaction hides all after its first message.
        """
        from confluent_kafka import IsolationLevel, TopicPartition

        wanted = {TopicPartition(self.name, number): spec for number in numbers}
        answers = self.client.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_MAX_S
        )
        return {one.partition: future for one, future in answers.items()}

    def _settings(self) -> Mapping[str, str]:
        """Return how long the topic keeps messages; nothing if we may not know."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, self.name)
        (answer,) = self.client.describe_configs([resource], request_timeout=ANSWER_MAX_S).values()
        try:
            return {name: entry.value or "" for name, entry in answer.result().items()}
        except KafkaException as error:
            _LOG.warning("the settings of topic %s cannot be read: %s", self.name, error.args[0].str())
            return {}

    def unanswered(self, error: Any) -> TidewheelError:
        from confluent_kafka import KafkaError

        fault = error.args[0]
        servers = self.options["bootstrap.servers"]
        if fault.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return InvalidInput(
                f"the broker at {servers} has no topic {self.name}. Nothing was changed",
                "create it, or correct [source] topic in the archive file",
            )
        if fault.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            return InvalidInput(
                f"the broker at {servers} does not let this user read topic {self.name}. Nothing was changed",
                "allow READ and DESCRIBE, or correct [source.options]",
            )
        self.client.poll(0)  # what it has to say is said only then
        why = self.said[0] if self.said else fault.str()
        return Unavailable(
            f"the broker at {servers} cannot be asked for topic {self.name} of archive {self.archive}: {why}. Nothing "
            "was changed",
            "see that it runs and that [source.options] is right, then run the command again",
        )


def _answered(asked: Mapping[int, Future[Any]]) -> dict[int, int]:
    """Return the offsets that were asked for, by partition."""
    return {number: future.result().offset for number, future in asked.items()}


def _milliseconds(moment_us: int) -> int:
    """Return the first whole millisecond, Kafka's unit of stamps, that is not before a moment."""
    return max(0, -(-moment_us // _US_PER_MS))


def _kept_us(settings: Mapping[str, str]) -> int | None:
    if settings.get("retention.bytes") != "-1" or not settings.get("retention.ms"):
        return None
    kept_ms = int(settings["retention.ms"])
    return _FOR_EVER_US if kept_ms < 0 else kept_ms * _US_PER_MS
