"""The manual page of the archive file, `docs/archive-file.md`, written from the table of its fields."""

from __future__ import annotations

from tidewheel.indexing.archive_file.fields import FORM
from tidewheel.indexing.toml.manual_pages import full_page, section_table

_OPENING = """\
# The archive file

One TOML file under `archives/` describes one archive: what it holds, how time is cut, where its batches come
from, and when it is updated. All faults of a file are reported at once, each with its line, the value and the
remedy:

    a.toml:9 [time] interval = 300: a number without a unit; use a duration such as "90s", "15m", "1h" or "7d"

Some keys never change in place, because what is stored and when it is deleted follow from them. The table remembers
them, and refuses a file that says something else. For another value, fill a new archive with the old one as its source.
`[layout]` changes by `tidewheel migrate`. Every other key counts from the next run on.

This page is generated from the table of fields that files are checked against.

"""
_VALUES = """\
## How values are written

- **duration**: whole numbers with units, the largest first: `"90s"`, `"15m"`, `"1h30m"`, `"7d"`, `"500ms"`
  (units `w`, `d`, `h`, `m`, `s`, `ms`, `us`), or ISO as in `"PT1H"`. Months and years have no fixed length
  and are refused.
- **moment with time zone**: `2026-01-01T00:00:00Z`, with or without quotes. Everything is computed in UTC.
- **column**: a top-level column, without spaces and without any of `, ; { } ( ) = .` or quotes. `ins_slot`,
  `exp_slot`, `valid_until`, `row_hash`, `layout`, `g` and `e` are columns that the archive adds itself; a source's
  columns of these names are taken under others (`rename`). A column may be of any type that Spark writes to Parquet but
  a map: take it as an array of pairs, `map_entries(tags)` in a view or a callable.
- **SQL expression**: one Spark SQL expression over the columns of the record. It may not depend on the time
  of the call or on chance, because applying a batch again must give the same archive.
- **path template**: a path with `{start}` and `{end}` (the bounds of the slot, ISO or by a date format of
  `%Y %y %m %d %H %M %S %f %j %G %V %u`) and `{slot}` (its number, or padded as in `{slot:08d}`). Every slot
  needs a path of its own. Double the braces that Spark should see: `{{a,b}}`.
- **table of columns**: the source's names with the archive's, as in `{ g = "gravity", "src ip" = "src" }` or below
  `[source.rename]`.
- **table of strings**: numbers and booleans are turned into strings. Dotted names need no quotes:
  `kafka.topic = "flows"` is the option `kafka.topic`. `${ENV:NAME}` is replaced at run time; an option that
  looks like a secret must be written so.

"""
_SOURCES = """\
## The four kinds of source

Files, one path for each slot, are in the full example below. Any reader that Spark has, with the column that
tells the slot of a row:

```toml
[source]
format = "jdbc"
time_column = "inserted_at"

[source.options]
url = "jdbc:postgresql://db.example.com/shop"
dbtable = "sessions"
user = "archive"
password = "${ENV:SHOP_PASSWORD}"
```

A Python function that returns the DataFrame of an interval:

```toml
[source]
callable = "company.sources:sessions"
missing = "empty"
```

A Kafka topic of JSON messages. Its slots are cut by the messages' timestamps once and read by their offsets from then
on: [Kafka](kafka.md).

```toml
[source]
topic = "sessions"
schema = "customer string, device string, inserted_at timestamp, keep_days int"
lateness = "2m"

[source.message]
offset = "message_offset"

[source.options]
"bootstrap.servers" = "kafka-1.example.com:9093,kafka-2.example.com:9093"
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "SCRAM-SHA-512"
"sasl.username" = "archive"
"sasl.password" = "${ENV:KAFKA_PASSWORD}"
```

"""


def archive_file_reference() -> str:
    """Return the whole page, in Markdown."""
    sections = "".join(section_table(FORM, name) for name in FORM.sections)
    return f"{_OPENING}{sections}{_VALUES}{_SOURCES}## A full example\n\n```toml\n{full_example()}```\n"


def full_example() -> str:
    """Return a file that sets every key once; of keys that exclude each other, only the first."""
    return full_page(FORM)
