"""What a good archive file becomes."""

import tomllib
from pathlib import Path

import pytest

from tests.support.archives.archive_files import file_of
from tidewheel.indexing.archive_file.fields import FIELDS
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.archive_file.reference import full_example
from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import (
    ArchiveFile,
    Clock,
    Definition,
    Policy,
    Retention,
    Schedule,
    Source,
    SourceKind,
    Verdict,
)
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.slots import TimeAxis

ROOT = Path(__file__).parent.parent.parent
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 24 * 3600 * SECOND


def test_the_smallest_file_gets_every_default() -> None:
    archive = parse_archive_file(file_of(), "calls.toml")

    assert archive == ArchiveFile(
        name="calls",
        path="data/calls",
        key=("caller",),
        expires_at="ends_at",
        inserted_at="",
        clock=Clock.WALL,
        axis=TimeAxis(HOUR),
        max_lifetime_us=7 * DAY,
        generation=Generation(
            0,
            Layout(LayoutKind.ROUND_ROBIN, 1, 4, span=168),
            Strategy.EXPIRE_REBUILD,
            0.5,
            16,
            128 * 1024 * 1024,
        ),
        source=Source(SourceKind.FILES, format="parquet", path="in/{start:%Y-%m-%dT%H}"),
        policy=Policy(),
        retention=Retention(DAY, 6 * HOUR, 7 * DAY, 30 * DAY),
        schedule=Schedule(),
    )


def test_the_full_example_sets_every_key_and_is_good() -> None:
    document = tomllib.loads(full_example())
    set_here = {f"{section}.{key}" for section, content in document.items() for key in content}

    assert set_here == {field.place for field in FIELDS if not field.alternative}
    assert parse_archive_file(full_example(), "sessions.toml").policy.too_long is Verdict.CAP


def test_the_netflow_archive_is_good() -> None:
    archive = parse_archive_file((ROOT / "archives/netflow.toml").read_text(encoding="utf-8"), "netflow.toml")

    assert archive.name == "netflow"
    assert archive.generation.layout.span == 36
    assert archive.clock is Clock.DATA
    start_us = 1_794_960_000 * SECOND
    assert path_for_slot(archive.source.path, start_us, start_us + 5 * MINUTE, 0).endswith("/2026-11-18T0000")


def test_what_is_stored_with_the_table_survives_json() -> None:
    definition = parse_archive_file(full_example(), "sessions.toml").definition(salt="s")

    assert Definition.from_json(definition.to_json()) == definition


def test_a_reader_source() -> None:
    text = file_of(source__path=None, source__format='"jdbc"', source__time_column='"ended"')
    source = parse_archive_file(f"{text}\n[source.options]\nfetchsize = 1000\nheader = true", "calls.toml").source

    assert source == Source(
        SourceKind.READER, format="jdbc", time_column="ended", options={"fetchsize": "1000", "header": "true"}
    )


def test_a_python_source() -> None:
    text = file_of(source__path=None, source__callable='"company.calls:batch"', source__missing='"empty"')

    assert parse_archive_file(text, "calls.toml").source == Source(
        SourceKind.PYTHON, callable="company.calls:batch", missing="empty"
    )


def test_dotted_option_names_need_no_quotes() -> None:
    options = '{ kafka.bootstrap.servers = "broker:9092", "kafka.group.id" = "tides", subscribe = "calls" }'
    source = parse_archive_file(file_of(source__options=options), "calls.toml").source

    assert source.options == {
        "kafka.bootstrap.servers": "broker:9092", "kafka.group.id": "tides", "subscribe": "calls"
    }  # fmt: skip


def test_environment_references_stay_as_they_are() -> None:
    options = '{ password = "${ENV:DB_PASSWORD}", url = "jdbc:x://h/d?user=u&password=${ENV:DB_PASSWORD}" }'

    assert parse_archive_file(file_of(source__options=options), "calls.toml").source.options["password"] == (
        "${ENV:DB_PASSWORD}"
    )


@pytest.mark.parametrize(
    ("changes", "rows", "columns"),
    [
        ({"layout__kind": '"wave_by_insertion"', "layout__insertion_classes": "7"}, 7, 1),
        ({"layout__kind": '"wave_by_expiration"'}, 1, 4),
        ({"layout__kind": '"randomized"', "layout__insertion_classes": "3", "layout__seed": "9"}, 3, 4),
    ],
    ids=["wave_by_insertion", "wave_by_expiration", "randomized"],
)
def test_layouts_get_fitting_defaults(changes: dict[str, str], rows: int, columns: int) -> None:
    layout = parse_archive_file(file_of(**changes), "calls.toml").generation.layout

    assert (layout.insertion_classes, layout.expiration_classes) == (rows, columns)


@pytest.mark.parametrize(
    "epoch",
    [
        '"2026-01-01T01:00:00+01:00"',
        "2026-01-01T00:00:00Z",
        "2026-01-01 00:00:00+00:00",
        '"20260101T000000Z"',
    ],
)
def test_an_epoch_may_have_any_zone_and_quotes_or_not(epoch: str) -> None:
    assert parse_archive_file(file_of(time__epoch=epoch), "calls.toml").axis.epoch_us == 1_767_225_600 * SECOND


@pytest.mark.parametrize(
    ("interval", "preset"), [("5m", "@hourly"), ("1h", "@hourly"), ("90m", "@daily"), ("1d", "@daily")]
)
def test_the_default_schedule_holds_whole_slots(interval: str, preset: str) -> None:
    text = file_of(time__interval=f'"{interval}"', source__path='"in/{slot}"')

    assert parse_archive_file(text, "calls.toml").schedule.cron == preset
