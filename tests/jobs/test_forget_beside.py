"""A forget by predicate takes what lies beside an archive as well: every type's values, old quarantines, texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from tests.jobs.test_malformed import FORMATS, job_of, write
from tests.old_archives.contents import KEY_KINDS, OLD_ARCHIVES, KeyKind
from tests.support.archives.side_rows import quarantined_rows
from tests.support.archives.small_archive import SmallArchive, generation_of
from tests.whole.test_old_archives import CONFIRMED, Unpacked, comparable
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.jobs.update import update

pytestmark = pytest.mark.usefixtures("spark")
SLOT, SLOT_AT = 10, "1970-01-01T00:10Z"
BY_DEFAULT = ("binary", "double")


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in BY_DEFAULT else pytest.mark.nightly) for one in KEY_KINDS]
)
def test_a_value_of_every_type_is_found_in_the_quarantine(tmp_path: Path, name: str) -> None:
    """What is written there is JSON: each value must be read back from it as it was."""
    old = Unpacked.of(OLD_ARCHIVES[name], tmp_path)
    kind = KEY_KINDS[name]
    rows = [row | {"until": None} for row in old.one.rows(SLOT)]
    batch = old.place / "batches" / f"{SLOT}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, old.one.schema), batch)
    archive = old.open()
    archive.update(SLOT_AT, **CONFIRMED)
    for value in dict.fromkeys(map(comparable, kind.values)):
        wanted = [row for row in rows if comparable(row["key"]) == value]
        found = archive.forget(where=f"ins_slot = {SLOT} and key <=> {literal(wanted[0]['key'], kind)}", dry_run=True)
        assert (found.rows_found, found.quarantined_forgotten) == (0, len(wanted)), value


def literal(value: Any, kind: KeyKind) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return f"decode(X'{value.encode().hex()}', 'UTF-8')"
    return f"cast('{value}' as {kind.spark})"


# The record that each of these has had in its quarantine for ever.
OLD = {
    "binary": "key = X'676f6e65'",
    "binary_double": "key0 = X'676f6e65' and key1 = 0",
    "long_date_boolean": "key0 = 7 and key1 = date '2024-02-29' and not key2",
}


@pytest.mark.parametrize("name", OLD)
def test_a_quarantine_of_an_old_program_is_searched(tmp_path: Path, name: str) -> None:
    old = Unpacked.of(OLD_ARCHIVES[name], tmp_path)
    archive = old.open()
    assert archive.forget(where=f"{OLD[name]} and word = 'b1' and until is null").quarantined_forgotten == 0
    assert len(quarantined_rows(archive.location)) == 1
    assert archive.forget(where=f"{OLD[name]} and word = 'a1' and until is null").quarantined_forgotten == 1
    assert quarantined_rows(archive.location) == []
    assert archive.forget(where=f"{OLD[name]} and until is null").found_nothing
    old.check_reads()


# A predicate, and which of the bad texts it takes: by what could be parsed of them, or as nothing could.
TAKEN = {"key = 'b'": [0], "key = 'c' and body = 2": [1], "until is null and body = 2": [1], "key is null": [2]}


@pytest.mark.parametrize("where", TAKEN)
def test_a_malformed_text_goes_by_what_could_be_parsed_of_it(tmp_path: Path, where: str) -> None:
    archive = SmallArchive(tmp_path, generation_of()).create()
    job = job_of(archive, "json")
    bad = write(archive, "json")
    update(job, [0])
    assert forget(job, where=where).quarantined_forgotten == 1
    assert [bad.index(row["text"]) for row in quarantined_rows(job.location)] == [
        place for place in range(len(bad)) if place not in TAKEN[where]
    ]
    later = replace(job, clock=lambda: archive.now_us + 100 * archive.grace_us)
    vacuum(later)
    kept = b"".join(path.read_bytes() for path in Path(archive.file.path, "_tidewheel").rglob("*.parquet"))
    assert [text for text in bad if text.encode() in kept] == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_quarantine_without_texts_is_searched_beside_one_with(tmp_path: Path, form: str) -> None:
    archive = SmallArchive(tmp_path, generation_of()).create()
    job = job_of(archive, form)
    write(archive, form)
    update(job, [0])
    table = QUARANTINE.open(job.location)
    assert table is not None
    old = pa.table(table.to_pyarrow_table()).drop_columns(["text"])
    write_deltalake(table, old, mode="overwrite", schema_mode="overwrite")
    assert forget(job, where="key = 'b'", dry_run=True).quarantined_forgotten == 1
    bad = write(archive, form, 1)
    update(job, [1])
    assert forget(job, where="key = 'b'").quarantined_forgotten == 2
    assert sorted(filter(None, (row["text"] for row in quarantined_rows(job.location)))) == sorted(bad[1:])
