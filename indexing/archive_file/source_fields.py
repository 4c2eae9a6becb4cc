"""The keys of an archive file's section [source]: where the batch of a slot comes from."""

from __future__ import annotations

from tidewheel.indexing.archive_file import column_kinds, source_kinds
from tidewheel.indexing.durations import DURATION_MAX_US
from tidewheel.indexing.toml.kinds import choice, duration
from tidewheel.indexing.toml.page import Absent, Field

_DERIVED = Absent.DECIDED_BY_RULE

SOURCE_FIELDS: tuple[Field, ...] = (
    Field(
        "source", "path", source_kinds.PATH_TEMPLATE,
        "Files: the path of each slot's batch, with `{start:%Y-%m-%dT%H%M}`, `{end:...}` or `{slot}`; a "
        "relative one starts at the folder of this file.",
        "s3a://landing/sessions/{start:%Y/%m/%d/%H}", default=_DERIVED, default_note="none",
    ),
    Field(
        "source", "time_column", column_kinds.COLUMN,
        "Any Spark reader: the timestamp column that says which slot a row belongs to; rows without a time belong "
        "to none and are not read.",
        "inserted_at", default=_DERIVED, default_note="none", alternative=True,
    ),
    Field(
        "source", "callable", source_kinds.CALLABLE,
        "Python: a function that is called as `function(spark, start, end)` and returns a DataFrame.",
        "company.sources:sessions", default=_DERIVED, default_note="none", alternative=True,
    ),
    Field(
        "source", "topic", source_kinds.TOPIC,
        "Kafka: the topic whose messages hold one JSON object each.",
        "sessions", default=_DERIVED, default_note="none", alternative=True,
    ),
    Field(
        "source", "format", source_kinds.SPARK_FORMAT,
        "The Spark format of the files or of the reader; `kafka` of a topic.",
        "json", default=_DERIVED, default_note="`parquet` for files, `kafka` for a topic, required for a reader",
    ),
    Field(
        "source", "schema", column_kinds.SCHEMA,
        "The columns to read and their types, for formats that do not carry them.",
        "customer string, device string, inserted_at timestamp, keep_days int",
        default=_DERIVED, default_note="what the format says",
    ),
    Field(
        "source", "options", source_kinds.OPTIONS,
        "Options for Spark's reader. Secrets are refused: write `${ENV:NAME}`, which is read from the "
        "environment at run time.",
        {"multiLine": "true"}, default={},
    ),
    Field(
        "source", "rename", column_kinds.RENAMES,
        "Columns that the archive shall know by another name, such as one of its own (`g`) or one with a space. "
        "Everything else in this file but `schema` uses the new name.",
        {"g": "gravity"}, default={},
    ),
    Field(
        "source", "missing", choice("fail", "empty"),
        "What to do when the source has nothing for a slot (no file, no row with a time in it, no DataFrame): stop, "
        "since the data may only be late, or apply an empty batch.",
        "fail", default="fail",
    ),
    Field(
        "source", "message", column_kinds.MESSAGE,
        "Kafka: what of a message beside its value becomes a column: `key` (as text), `timestamp`, `partition` and "
        "`offset`, each with the column's name.",
        {"timestamp": "sent_at", "offset": "sent_offset"}, default={}, alternative=True,
    ),
    Field(
        "source", "lateness", duration(0, DURATION_MAX_US),
        "Kafka: how long after the end of a slot a partition without later messages is waited for.",
        "5m", default="5m", alternative=True,
    ),
    Field(
        "source", "lost", choice("fail", "take"),
        "Kafka: what to do when messages of a slot are gone (retention, a topic that was emptied or made anew), or may "
        "be, as in a compacted topic: stop, or take what is left and count the loss.",
        "fail", default="fail", alternative=True,
    ),
)  # fmt: skip
