"""Drafts of archive files: samples that Spark reads otherwise than it looks, each tried before the file is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import ARCHIVE_FILE, events
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.core.definition import ArchiveFile, Clock
from tidewheel.resolve import read_archive_file

RECORDS = 120


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pretty_json(folder: Path) -> Path:
    rows = [{"device": f"d{i % 7}", "at": f"2026-11-18T04:{i % 60:02}:00Z", "value": i} for i in range(RECORDS)]
    path = folder / "pretty.json"
    path.write_text(json.dumps(rows, indent=1))
    return path


def dates_of_another_country(folder: Path) -> Path:
    path = folder / "dates.json"
    rows = [{"device": f"d{i % 7}", "at": f"18.11.2026 04:{i % 60:02}:00", "value": i} for i in range(RECORDS)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def milliseconds(folder: Path) -> Path:
    path = folder / "epoch.jsonl"
    rows = [{"user": f"u{i % 9}", "ts": 1_795_003_200_000 + i * 1000} for i in range(RECORDS)]
    path.write_text("".join(f"{json.dumps({**row, 'expires': 1_795_006_800_000 + i})}\n" for i, row in enumerate(rows)))
    return path


def of_pandas(folder: Path) -> Path:
    path = folder / "pandas.csv"
    path.write_text(",k,at\n" + "".join(f"{i},k{i},18.11.2026 04:{i % 60:02}\n" for i in range(RECORDS)))
    return path


def of_2010(folder: Path) -> Path:
    path = folder / "old.csv"
    lines = [f"k{i % 5},2010-01-01 00:{i % 60:02}:00,2010-01-01 03:{i % 60:02}:00\n" for i in range(RECORDS)]
    path.write_text("id,started,ended\n" + "".join(lines))
    return path


def drafted(sample: Path, *more: str) -> tuple[ArchiveFile, str]:
    name = sample.stem
    done = CliRunner().invoke(main, ["new", name, "--from", str(sample), *more])
    assert done.exit_code == 0, done.output
    path = Path("archives") / f"{name}.toml"
    return read_archive_file(path), path.read_text()


def test_what_spark_has_to_be_told(folder: Path) -> None:
    pretty, _ = drafted(pretty_json(folder), "--no-trial")
    assert (pretty.source.options, pretty.inserted_at) == ({"multiLine": "true"}, "at")
    dates, _ = drafted(dates_of_another_country(folder), "--no-trial")
    assert dates.source.options == {"timestampFormat": "dd.MM.yyyy HH:mm:ss"}
    assert "at timestamp" in dates.source.schema
    epoch, _ = drafted(milliseconds(folder), "--no-trial")
    assert (epoch.inserted_at, epoch.expires_at) == ("timestamp_millis(ts)", "timestamp_millis(expires)")
    pandas, _ = drafted(of_pandas(folder), "--no-trial")
    assert pandas.key == ("k",)
    assert pandas.source.options["timestampFormat"] == "dd.MM.yyyy HH:mm"
    old, text = drafted(of_2010(folder), "--no-trial")
    assert old.clock is Clock.DATA
    assert "CHECK: the sample lies far back" in text


@pytest.mark.usefixtures("spark")
def test_losses_are_marked_with_their_reason(folder: Path) -> None:
    sample = dates_of_another_country(folder)
    sample.write_text(sample.read_text() + '{"device": null, "at": "18.11.2026 04:00:00"}\n')
    _, text = drafted(sample)
    assert f"# Tried on the sample: {RECORDS} of {RECORDS + 1} records would be taken in." in text
    assert "# CHECK: 1 record would be set aside as null_key: " in text


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("sample", [pretty_json, dates_of_another_country, milliseconds, of_pandas, of_2010])
def test_all_of_a_sample_is_taken_in(folder: Path, sample: Callable[[Path], Path]) -> None:
    _, text = drafted(sample(folder))
    assert f"# Tried on the sample: {RECORDS} of {RECORDS} records would be taken in." in text


def test_the_clock_may_be_changed_while_nothing_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / "m.toml").write_text(ARCHIVE_FILE.replace('clock = "data"', 'clock = "wall"'))
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = LocalArchive(tmp_path).create()

    def said(*command: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, list(command))
        return done.exit_code, done.output

    code, text = said("expire", "m", "--through", "1970-01-01T00:00Z")
    assert code == 2
    assert "clock is wall in the file, data in the table" in text
    assert "take over what the file says: tidewheel migrate m" in text
    assert said("migrate", "m")[0] == 0
    assert archive.job.snapshot().definition.clock is Clock.WALL
    archive.update({0: events(0)})
    (tmp_path / "archives" / "m.toml").write_text(ARCHIVE_FILE)
    code, text = said("expire", "m", "--through", "1970-01-01T00:00Z")
    assert code == 2
    assert "these never change in place" in text
    assert said("migrate", "m")[0] == 2
    assert archive.job.snapshot().definition.clock is Clock.WALL
