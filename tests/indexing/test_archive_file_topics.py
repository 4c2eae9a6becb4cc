"""Topics in archive files: what must be said of one, what may not, and no secret among it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import Source, SourceKind
from tidewheel.indexing.errors import InvalidInput

PAGE = Path(__file__).parent.parent.parent / "docs" / "kafka.md"
HEAD = """
[archive]
name = "flows"
path = "/nowhere/flows"
key = ["id"]
expires_at = "until"
[time]
interval = "1h"
max_lifetime = "7d"
[source]
"""
TOPIC = 'topic = "flows"\n'
SCHEMA = 'schema = "id string, until timestamp"\n'
BROKER = '[source.options]\n"bootstrap.servers" = "broker:9092"\n'


def source_of(text: str) -> Source:
    return parse_archive_file(HEAD + text, "flows.toml").source


def test_a_topic_needs_its_name_its_columns_and_a_broker() -> None:
    assert source_of(TOPIC + SCHEMA + BROKER) == Source(
        SourceKind.TOPIC,
        format="kafka",
        topic="flows",
        schema="id string, until timestamp",
        options={"bootstrap.servers": "broker:9092"},
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TOPIC + BROKER, "required with topic"),
        (TOPIC + SCHEMA, "no broker is named"),
        ('topic = "two words"\n' + SCHEMA + BROKER, "not a name that Kafka takes"),
        (TOPIC + SCHEMA + 'format = "json"\n' + BROKER, "topics are Kafka's"),
        ('format = "kafka"\ntime_column = "timestamp"\n' + BROKER, "a topic is read by its offsets"),
        ('path = "in/{slot}"\nlateness = "1m"\n', "not used: the source is no topic"),
        ('path = "in/{slot}"\ntopic = "flows"\n' + SCHEMA + BROKER, "path and topic are different sources"),
        (TOPIC + SCHEMA + 'message = { headers = "h" }\n' + BROKER, "a message has no headers"),
        (TOPIC + SCHEMA + 'message = { key = "g" }\n' + BROKER, "g is a column that the archive adds itself"),
        (TOPIC + SCHEMA + 'lost = "skip"\n' + BROKER, 'choose "fail" or "take"'),
        (TOPIC + SCHEMA + BROKER + '"sasl.password" = "hunter2"\n', "option sasl.password holds a secret"),
        (TOPIC + SCHEMA + BROKER + '"group.id" = "mine"\n', "group.id: not known of a topic"),
    ],
)
def test_each_fault_is_told_once(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        source_of(text)
    faults = refused.value.values["faults"]
    assert len(faults) == 1
    assert said in str(faults[0])
    assert "hunter2" not in str(refused.value)


def test_the_file_on_the_page_is_good() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert parse_archive_file(block, "flows.toml").source.kind is SourceKind.TOPIC
