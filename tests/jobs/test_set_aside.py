"""A batch of which most records break a rule is refused, with what is wrong; a few are set aside and told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.side_rows import quarantined_rows
from tests.support.archives.small_archive import SmallArchive, generation_of
from tests.support.archives.toml_archives import TomlArchive
from tidewheel.cli import main
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.expire import expire
from tidewheel.indexing.core.guards import SET_ASIDE_MIN, Confirmations, guard_set_aside
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.errors import Refused
from tidewheel.jobs.update import update

GOOD = {"body": 1, "ins": "1970-01-01T00:00:01Z", "until": "1970-01-01T00:02:00Z"}


@pytest.mark.parametrize(
    ("came", "aside", "share", "refused"),
    [(40, 21, 0.5, True), (40, 20, 0.5, False), (21, 19, 0.5, False), (20, 20, 0.5, True), (20, 20, 1.0, False),
     (1000, 20, 0.0, True), (1000, 19, 0.0, False)],
)  # fmt: skip
def test_a_batch_is_refused_by_its_share_and_by_twenty(came: int, aside: int, share: float, *, refused: bool) -> None:
    receipt = SlotReceipt(7, came, came - aside, 0, 0, 0, aside, {}, rules={"late": aside})
    if not refused:
        guard_set_aside(str, [receipt], share, lambda slot: [])
        return
    with pytest.raises(Refused, match=rf"{aside} of {came:,} records \(late {aside}\) of slot 7.*For example one"):
        guard_set_aside(str, [receipt], share, lambda slot: ["one"])


def job_of(archive: SmallArchive, bad: int, good: int = 10) -> ArchiveJob:
    """The archive, and a batch with so many records that have a date of another country, and one without a key."""
    folder = archive.folder / "source"
    folder.mkdir(exist_ok=True)
    rows = [{"key": f"g{number}", **GOOD} for number in range(good)]
    rows += [{"key": f"b{number}", **GOOD, "until": "18.11.2026"} for number in range(bad - 1)]
    rows.append({"key": None, **GOOD})
    (folder / "0.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = replace(archive.file.source, format="json", path=str(folder / "{slot}.json"))
    return replace(archive.job, file=replace(archive.file, source=source))


@pytest.mark.usefixtures("spark")
def test_an_update_that_would_set_most_aside_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    archive = SmallArchive(tmp_path, generation_of()).create()
    job = job_of(archive, SET_ASIDE_MIN)
    with pytest.raises(Refused) as caught:
        update(job, [0])
    said = str(caught.value)
    assert "20 of 30 records (malformed 19, null_key 1)" in said
    assert "67%" in said
    assert '"until":"18.11.2026"' in said.replace(": ", ":")
    assert "null_key: {" in said
    assert "--allow-set-aside" in said
    assert job.snapshot().version == 0
    assert quarantined_rows(job.location) == []
    update(job, [0], confirmed=Confirmations(allow_set_aside=True))
    assert len(quarantined_rows(job.location)) == SET_ASIDE_MIN
    shown = CliRunner().invoke(main, ["status", job.location.uri])
    assert "20 records in quarantine (malformed 19, null_key 1)" in " ".join(shown.stdout.split())
    told = json.loads(CliRunner().invoke(main, ["status", job.location.uri, "--json"]).stdout)
    assert told["set_aside"] == {"malformed": 19, "null_key": 1}
    # Whatever is refused, what has expired leaves.
    assert job.snapshot().files
    expire(job, 3)
    assert not job.snapshot().files


@pytest.mark.usefixtures("spark")
@pytest.mark.nightly
def test_a_command_warns_of_the_few_that_were_set_aside(tmp_path: Path) -> None:
    tide = TomlArchive(tmp_path)
    tide.write_file(clock="data")
    tide.write_batches([0])
    batch = tmp_path / "batches" / "0.json"
    batch.write_text(batch.read_text() + "{not json\n" * 2)
    tide.open().create()
    done = CliRunner().invoke(main, ["update", str(tide.path), "--slot", tide.axis.name(0)])
    assert done.exit_code == 0, done.output
    assert "set aside: 2 of" in done.stderr
    assert "(malformed 2)" in done.stderr
    batch.write_text(batch.read_text() + "{not json\n" * 200)
    done = CliRunner().invoke(
        main, ["backfill", str(tide.path), "--from", tide.axis.name(0), "--to", tide.axis.name(1)]
    )
    assert done.exit_code == 3, done.output
    assert "--allow-set-aside" in done.stderr
    again = ["update", str(tide.path), "--slot", tide.axis.name(0), "--allow-set-aside"]
    assert CliRunner().invoke(main, again).exit_code == 0
