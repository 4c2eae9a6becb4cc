"""All faults of a bad archive file are told at once, each at its line."""

import re

import pytest

from tests.support.archives.archive_files import faults_of, file_of
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.errors import InvalidInput

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 24 * 3600 * SECOND


def test_all_faults_are_told_at_once_each_at_its_line() -> None:
    text = """\
[archive]
name = "Net Flow"
key = ["g", "src ip"]
expires_at = "now() + INTERVAL 1 HOUR"
inserted_on = "flow_start"

[time]
interval = "1 month"
max_lifetime = 30

[policy]
null_key = "cap"

[retentoin]
grace = "1d"

[source]
path = "in/today"
[source.options]
header = true
"fs.s3a.secret.key" = "hunter2"
"""
    with pytest.raises(InvalidInput) as caught:
        parse_archive_file(text, "netflow.toml")

    assert str(caught.value) == (
        """\
netflow.toml has 12 faults; nothing was changed
  netflow.toml:1 [archive] path: required; add a line such as path = "s3a://archives/sessions"
  netflow.toml:2 [archive] name = "Net Flow": not a name that every tool takes; use a-z, 0-9 and _, begin \
with a letter, at most 63 characters
  netflow.toml:3 [archive] key = ["g", "src ip"]: g is a column that the archive adds itself; rename it \
under [source.rename]; reserved are e, exp_slot, g, ins_slot, layout, row_hash, valid_until
  netflow.toml:3 [archive] key = ["g", "src ip"]: a column name cannot hold ' '; give the column \
a plain name under [source.rename] (or the nested field one in the source)
  netflow.toml:4 [archive] expires_at = "now() + INTERVAL 1 HOUR": now gives another result on each call, \
so a replay would change the archive; compute the expiry from columns of the record
  netflow.toml:5 [archive] inserted_on: unknown key inserted_on; did you mean inserted_at? known are name, \
path, key, expires_at, inserted_at, clock
  netflow.toml:8 [time] interval = "1 month": a month or a year has no fixed length; use a duration such as \
"1h", "7d" or "30d"
  netflow.toml:9 [time] max_lifetime = 30: a number without a unit; use a duration such as "90s", "15m", \
"1h" or "7d"
  netflow.toml:12 [policy] null_key = "cap": cap shortens a life that is too long, there is nothing else to \
cap; choose "quarantine" or "reject"
  netflow.toml:14 [retentoin]: unknown section retentoin; did you mean retention? known are archive, time, \
layout, source, policy, retention, schedule, queries
  netflow.toml:18 [source] path = "in/today": the path is the same for every slot; name the slot with \
{start:%Y-%m-%dT%H%M} or {slot}
  netflow.toml:21 [source] options: option fs.s3a.secret.key holds a secret; keep secrets out of the file: \
write ${ENV:NAME}, which is read from the environment at run time
  what to do: mend the file; docs/archive-file.md explains every key"""
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[archive]\nname = ", "calls.toml:2 column 8"),
        ("[time\n", "calls.toml:1 column 6"),
        ("a = 1\na = 2", "2"),
    ],
)
def test_a_syntax_error_has_line_and_column(text: str, where: str) -> None:
    (fault,) = faults_of(text)

    assert where in fault
    assert "not TOML" in fault


FAULTS: dict[str, list[tuple[str | None, str]]] = {
    # key: what is written there, and what must be said about it
    "archive__name": [
        (None, "required"),
        ('""', "not a name"),
        ("5", "a whole number, not a string"),
        ('"9lives"', "begin with a letter"),
        ('"' + "a" * 64 + '"', "63"),
    ],
    "archive__path": [
        (None, "required"),
        ('""', "empty"),
        ('"s3://b/t"', "write s3a://b/t"),
        ('"s3a://bucket"', "s3a://bucket/path"),
        ('"hdfs://host/t"', "neither a local path nor s3a"),
        ('"~/t"', "~ is not expanded"),
        ('"a\\nb"', "line break"),
    ],
    "archive__key": [
        (None, "required"),
        ("[]", "one or more columns"),
        ('"caller"', "put it in brackets"),
        ("[1]", "a whole number, not a string"),
        ('["caller", "Caller"]', "the same column twice"),
        ('["valid_until"]', "adds itself"),
        ('["EXP_SLOT"]', "adds itself"),
        ('["call.er"]', "cannot hold '.'"),
    ],
    "archive__expires_at": [
        (None, "required"),
        ('" "', "neither a column nor an expression"),
        ('"a; drop table t"', "; ends a statement"),
        ('"a -- b"', "starts a comment"),
        ('"a /* b */"', "starts a comment"),
        ('"make_interval(1"', "parentheses"),
        ('"a) + (b"', "parentheses"),
        ('"concat(a, \'b)"', "quote ' is not closed"),
        ('"valid_until"', "adds itself"),
        ('"current_timestamp + keep"', "another result on each call"),
        ('"at + rand() * keep"', "another result on each call"),
    ],
    "archive__inserted_at": [('"a;b"', "ends a statement")],
    "archive__clock": [('"sun"', 'choose "wall" or "data"'), ("1", "not one of the choices")],
    "time__interval": [
        (None, "required"),
        ('"8d"', "longer than 7d; choose 7 days or less"),
        ('"0s"', "not above zero"),
        ('"1mo"', "no fixed length"),
        ('"P1M"', "no fixed length"),
        ('"2 years"', "no fixed length"),
        ('"1.5h"', "no fractions"),
        ('"1 hour"', 'write "1h"'),
        ('"15 minutes"', 'write "15m"'),
        ('"60"', "without a unit"),
        ("3600", "without a unit"),
        ("true", "a boolean, not a string"),
        ('"30m1h"', "the largest first"),
    ],
    "time__max_lifetime": [
        (None, "required"),
        ('"30m"', "shorter than the interval"),
        ('"40000d"', "100 years"),
    ],
    "time__epoch": [
        ("2026-01-01T00:00:00", "no time zone"),
        ("2026-01-01", "a date, not a moment"),
        ('"2026-01-01T00:00"', "no time zone"),
        ('"new year"', "not a moment"),
        ("0001-01-01T00:00:00Z", "too far away"),
    ],
    "layout__kind": [('"spiral"', "round_robin"), ("[]", "not one of the choices")],
    "layout__strategy": [('"none"', '"no_rebuild"')],
    "layout__insertion_classes": [("0", "1 to 4096"), ("true", "a boolean"), ("1.5", "a number")],
    "layout__expiration_classes": [("5000", "out of bounds"), ('"4"', "a string, not a whole number")],
    "layout__dead_share_max": [
        ("1.01", "0 to 1"),
        ("-0.1", "0 to 1"),
        ("nan", "0 to 1"),
        ('"half"', "a string"),
    ],
    "layout__runs_max": [("0", "out of bounds")],
    "layout__target_file_mb": [("0", "out of bounds")],
    "source__path": [
        (None, "no source"),
        ('"in/{day}"', "unknown placeholder {day}"),
        ('"in/{end}"', "the same for every slot"),
        ('"in/{start"', "close each placeholder"),
        ('"in/{start!r}"', "unknown placeholder {start!r}"),
        ('"in/{start:%B}"', "not a date format"),
        ('"in/{slot:x}"', "not a way to write a number"),
        ('"in/{start:%Y-%m-%d}"', "would both read in/1970-01-01"),
        ('"in/{start:%H%M}"', "would both read"),
    ],
    "source__callable": [('"company.calls:batch"', "path and callable are different sources")],
    "source__time_column": [('"at"', "path and time_column are different sources")],
    "source__format": [('"my format"', "not the name of a Spark format")],
    "source__schema": [('"a string; b"', "not a schema"), ("[]", "not a schema")],
    "source__options": [
        ('"header=true"', "a string, not a table"),
        ("{ a = [1] }", "option a is an array"),
        ('{ a.b = "1", "a.b" = "2" }', "option a.b is set twice"),
        ('{ a = "${HOME}" }', "no environment reference"),
        ('{ "" = "x" }', "no name"),
        ('{ password = "hunter2" }', "option password holds a secret"),
        ('{ "fs.s3a.access.key" = "hunter2" }', "holds a secret"),
        ('{ apiToken = "hunter2" }', "holds a secret"),
        ('{ url = "jdbc:x://u:hunter2@h/d" }', "option url holds a secret"),
        ('{ jaas = \'username="u" password="hunter2";\' }', "option jaas holds a secret"),
    ],
    "source__rename": [
        ("3", "not a table"),
        ('{ g = "e" }', "e is a column that the archive adds itself"),
        ('{ a = "src ip" }', "cannot hold ' '"),
        ('{ a = "c", b = "C" }', "two columns get the same name"),
        ('{ "" = "c" }', "empty"),
        ("{ a = { b = 1 } }", "not a string"),
    ],
    "source__missing": [('"skip"', 'choose "fail" or "empty"')],
    "policy__null_expiry": [('"cap"', "nothing else to cap")],
    "policy__too_long": [('"shorten"', '"cap"')],
    "policy__new_column": [('"drop"', 'choose "reject" or "add"')],
    "policy__shrink_max": [("50", "not a share")],
    "policy__set_aside_max": [("50", "not a share")],
    "retention__grace": [('"0s"', "not above zero")],
    "retention__log": [('"1h"', "shorter than the grace of 1d")],
    "schedule__cron": [
        ('"@often"', "unknown preset"),
        ('"* * * *"', "4 fields instead of five"),
        ('"60 * * * *"', "60 is not possible as the minute"),
        ('"0 0 31-1 * *"', "day of month"),
        ('"0 0 * * */0"', "day of week"),
        ('"30 * * * *"', "where no slot of"),
    ],
    "schedule__catchup": [('"yes"', "write true or false")],
    "schedule__pool": [('" a"', "spaces")],
    "schedule__freshness": [("5", "without a unit")],
}


@pytest.mark.parametrize(
    ("place", "written", "said"),
    [(place, written, said) for place, cases in FAULTS.items() for written, said in cases],
    ids=lambda value: re.sub(r"[^\w]+", "_", str(value))[:40],
)
def test_each_fault_is_told_once_where_it_stands(place: str, written: str | None, said: str) -> None:
    text = file_of(**{place: written})
    (fault,) = faults_of(text)

    section, _, key = place.partition("__")
    lines = text.split("\n")
    index = lines.index(f"[{section}]")
    if written is not None and "different sources" not in said:
        index = next(i for i in range(index, len(lines)) if lines[i].startswith(key))
    assert fault.startswith(f"calls.toml:{index + 1} [{section}]")
    assert said in fault
    assert "hunter2" not in fault


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"layout__kind": '"wave_by_insertion"', "layout__expiration_classes": "2"},
            "expiration_classes = 2: wave_by_ins",
        ),
        (
            {"layout__kind": '"wave_by_expiration"', "layout__insertion_classes": "2"},
            "insertion_classes = 2: wave_by_exp",
        ),
        (
            {"time__interval": '"1d"', "source__path": '"{slot}"', "schedule__cron": '"@hourly"'},
            'use "@daily"',
        ),
        (
            {"time__interval": '"5h"', "source__path": '"{slot}"'},
            "no hourly, daily or weekly run holds whole slots of 5h",
        ),
        (
            {"time__interval": '"7d"', "source__path": '"{slot}"', "schedule__cron": '"@weekly"'},
            'epoch decides; use "0 0 * * 4"',
        ),
        ({"source__path": None, "source__time_column": '"at"'}, "format: required with time_column"),
        ({"source__path": None, "source__callable": '"calls"'}, "not a function's place"),
        (
            {"source__path": None, "source__callable": '"a.b:c"', "source__schema": '"a int"'},
            "reads for itself",
        ),
        ({"source__path": None, "source__time_column": '"g"', "source__format": '"delta"'}, "adds itself"),
    ],
    ids=lambda value: re.sub(r"[^\w]+", "_", str(value))[:40],
)
def test_keys_must_fit_each_other(changes: dict[str, str | None], said: str) -> None:
    (fault,) = faults_of(file_of(**changes))

    assert said in fault


def test_every_bad_option_is_told_at_its_own_line_and_no_secret_is_shown() -> None:
    text = file_of() + "\n[source.options]\na = []\nkafka.password = 'hunter2'\n\n'sasl.token' = 'hunter2'"
    first = text.split("\n").index("[source.options]") + 2
    faults = faults_of(text)

    assert [fault.split()[0] for fault in faults] == [f"calls.toml:{first + offset}" for offset in (0, 1, 3)]
    assert "hunter2" not in "".join(faults)


def test_options_about_secrets_are_no_secrets() -> None:
    options = '{ ssl.password.file = "/etc/pw", oauth.token.endpoint.url = "https://h/t", max_tokens = 5 }'

    assert len(parse_archive_file(file_of(source__options=options), "calls.toml").source.options) == 3


def test_sections_must_be_tables() -> None:
    faults = faults_of("time = 5\n[[layout]]\nkind = 'round_robin'")

    assert "calls.toml:1 [time]: not a section; write it as [time]" in faults
    assert "calls.toml:2 [layout]: not a section; write it as [layout]" in faults


def test_semicolons_and_quotes_inside_sql_strings_are_fine() -> None:
    expression = '"""CASE kind WHEN \'a;b--(\' THEN `ends at` WHEN \'it\'\'s\' THEN \\"x\\" END"""'

    assert "a;b--(" in parse_archive_file(file_of(archive__expires_at=expression), "calls.toml").expires_at
