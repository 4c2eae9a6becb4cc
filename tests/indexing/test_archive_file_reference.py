"""The table of fields, and the page made from it."""

import re
from pathlib import Path

import pytest

from tests.support.archives.archive_files import faults_of, file_of
from tidewheel.commits.archive import refuse_contradiction
from tidewheel.indexing.archive_file.fields import FIELDS
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.archive_file.reference import archive_file_reference
from tidewheel.indexing.core.definition import SourceKind
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Absent

ROOT = Path(__file__).parent.parent.parent


def test_every_field_takes_its_own_example_and_default() -> None:
    for field in FIELDS:
        field.kind.check(field.example)
        if not isinstance(field.default, Absent):
            field.kind.check(field.default)
        assert (field.default is Absent.DECIDED_BY_RULE) == bool(field.default_note), field.place


def test_the_reference_page_is_up_to_date() -> None:
    assert (ROOT / "docs/archive-file.md").read_text(encoding="utf-8") == archive_file_reference(), (
        "write it anew, with the text that archive_reference.archive_file_reference() returns"
    )


def test_what_never_changes_in_place_is_what_the_table_refuses() -> None:
    """Changed one by one, each key that the page calls fixed is refused by name, and no other."""
    others = {
        "archive.name": '"other"', "archive.key": '["other"]', "archive.clock": '"data"', "archive.path": '"other"',
        "archive.expires_at": '"other"', "archive.inserted_at": '"other"', "time.interval": '"2h"',
        "time.max_lifetime": '"8d"', "time.epoch": '"2026-01-01T00:30:00Z"', "retention.grace": '"23h"',
        "retention.vacuum_period": '"5h"', "retention.log": '"8d"', "retention.quarantine": '"29d"',
        "retention.hold": '"1h"', "policy.too_long": '"cap"', "schedule.freshness": '"2h"', "queries.nodes": "2",
    }  # fmt: skip
    assert {field.place for field in FIELDS if field.fixed} <= set(others)
    stored = parse_archive_file(file_of(), "a.toml").definition("salt")
    for field in FIELDS:
        if field.place not in others:
            continue
        changed = parse_archive_file(file_of(**{field.place.replace(".", "__"): others[field.place]}), "a.toml")
        if not field.fixed:
            refuse_contradiction(changed, stored, "tidewheel migrate a")
            continue
        with pytest.raises(InvalidInput, match="contradicts its table") as refused:
            refuse_contradiction(changed, stored, "tidewheel migrate a")
        assert f"[{field.section}] {field.key} is " in refused.value.message
        assert "never change in place" in refused.value.remedy


def test_the_toml_on_the_reference_page_is_good() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", archive_file_reference(), re.DOTALL)
    without_source = file_of(source__path=None).replace("[source]\n", "")

    assert len(blocks) == 4
    kinds = [parse_archive_file(f"{without_source}\n{block}", "a.toml").source.kind for block in blocks[:3]]
    assert kinds == [SourceKind.READER, SourceKind.PYTHON, SourceKind.TOPIC]
    parse_archive_file(blocks[3], "a.toml")


def test_the_fault_on_the_reference_page_is_a_real_one() -> None:
    (shown,) = re.findall(r"^    a\.toml:9 (.*)$", archive_file_reference(), re.MULTILINE)

    assert faults_of(file_of(time__interval="300"))[0].endswith(shown)
