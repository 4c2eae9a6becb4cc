"""What of a source's text could not be parsed into values is kept as it came, under a name of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.support.archives.side_rows import quarantined_rows
from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.indexing.core.definition import Policy, Verdict
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import ledger_of

pytestmark = pytest.mark.usefixtures("spark")

GOOD = ("a", "1", "1970-01-01T00:00:01Z", "1970-01-01T00:02:00Z")
# A value that is none of its column's type, and one that would decide the record's life.
BAD_VALUES = (("b", "many", *GOOD[2:]), ("c", "2", GOOD[2], "soon"))
NAMES = ("key", "body", "ins", "until")


def in_json(values: tuple[str, ...]) -> str:
    return json.dumps(dict(zip(NAMES, values, strict=True)) | ({"body": int(values[1])} if values[1].isdigit() else {}))


def in_csv(values: tuple[str, ...]) -> str:
    return ",".join(values)


# How a record is written, and a text that is none.
FORMATS: dict[str, tuple[Callable[[tuple[str, ...]], str], str]] = {
    "json": (in_json, "{not json"),
    "csv": (in_csv, "d,1,1970-01-01T00:00:01Z,1970-01-01T00:02:00Z,one more"),
}


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    return SmallArchive(tmp_path, generation_of()).create()


def job_of(archive: SmallArchive, form: str, malformed: Verdict = Verdict.QUARANTINE) -> ArchiveJob:
    path = str(archive.folder / "source" / f"{{slot}}.{form}")
    source = replace(archive.file.source, format=form, path=path)
    return replace(archive.job, file=replace(archive.file, source=source, policy=Policy(malformed=malformed)))


def write(archive: SmallArchive, form: str, slot: int = 0) -> list[str]:
    """A good record and the bad ones as a batch; the texts of the bad ones."""
    written, broken = FORMATS[form]
    bad = [*map(written, BAD_VALUES), broken]
    (archive.folder / "source").mkdir(exist_ok=True)
    (archive.folder / "source" / f"{slot}.{form}").write_text("\n".join([written(GOOD), *bad]) + "\n")
    return bad


def quarantined(job: ArchiveJob, slot: int = 0) -> list[dict[str, Any]]:
    return quarantined_rows(job.location, [(slot, ledger_of(job.snapshot()).batches[slot, ""].attempt)])


@pytest.mark.parametrize("form", FORMATS)
def test_what_could_not_be_parsed_is_kept_as_it_came(archive: SmallArchive, form: str) -> None:
    job = job_of(archive, form)
    bad = write(archive, form)
    receipt = update(job, [0]).receipt
    assert receipt is not None
    assert (receipt.slots[0].rows_in, receipt.slots[0].stored) == (len(bad) + 1, 1)
    rows = quarantined(job)
    assert {row["rule"] for row in rows} == {"malformed"}
    assert sorted(row["text"] for row in rows) == sorted(bad)
    assert [row[2:] for row in archive.content()] == [("a", 1)]
    assert not list(Path(job.location.uri).glob("run-*/unparsed/*.parquet")), "what was moved is not left behind"
    assert audit(job).findings == ()


@pytest.mark.parametrize("form", FORMATS)
def test_the_rest_of_it_is_stored_where_the_policy_says_so(archive: SmallArchive, form: str) -> None:
    job = job_of(archive, form, Verdict.STORE)
    bad = write(archive, form)
    update(job, [0])
    assert {row[2:] for row in archive.content()} >= {("a", 1), ("b", None)}
    kept = {row["text"]: row["rule"] for row in quarantined(job)}
    assert kept.items() <= dict.fromkeys(bad, "malformed").items()
    assert bad[1] in kept, "it has no expiry, for that could not be read"


def test_a_rejected_text_is_shown(archive: SmallArchive) -> None:
    write(archive, "json")
    with pytest.raises(InvalidInput, match=r"3 by malformed.*\{not json"):
        update(job_of(archive, "json", Verdict.REJECT), [0])
    assert archive.snapshot().version == 0


def test_the_columns_may_be_learned_from_malformed_text(tmp_path: Path) -> None:
    archive = SmallArchive(tmp_path, generation_of())
    file = job_of(archive, "json").require_file()
    file = replace(file, source=replace(file.source, schema=""), inserted_at="", expires_at="timestamp_seconds(120)")
    job = replace(archive.job, file=file)
    write(archive, "json")
    create(job, 0)
    update(job, [0])
    assert [field.name for field in job.snapshot().columns] == ["body", "ins", "key", "until"]
    assert [row["text"] for row in quarantined(job)] == ["{not json"]


def test_forget_takes_a_text_of_which_the_key_could_be_parsed(archive: SmallArchive) -> None:
    job = job_of(archive, "json")
    bad = write(archive, "json")
    update(job, [0])
    forget(job, keys=[("b",)])
    assert sorted(row["text"] for row in quarantined(job)) == sorted(bad[1:])


def test_a_quarantine_from_before_texts_were_kept_goes_on(archive: SmallArchive) -> None:
    write(archive, "csv")
    job = job_of(archive, "csv")
    update(job, [0])
    table = QUARANTINE.open(job.location)
    assert table is not None
    old = pa.table(table.to_pyarrow_table()).drop_columns(["text"])
    write_deltalake(table, old, mode="overwrite", schema_mode="overwrite")
    write(archive, "csv", 1)
    update(job, [1])
    assert [row["text"] for row in quarantined(job)] == [None] * 3
    assert all(row["text"] for row in quarantined(job, 1))
