"""Source files that change while an update reads them: the batch is one file's, or refused."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.errors import InvalidInput, TidewheelError, Unavailable
from tidewheel.jobs.update import update

pytestmark = pytest.mark.usefixtures("spark")

INSERTED, UNTIL = "1970-01-01T00:00:01Z", "1970-01-01T00:02:00Z"
SHORT, LONG = 100, 400
ANY_SIZE = Confirmations(allow_shrink=True)


def text_of(form: str, writer: str, records: int) -> str:
    """Records whose key begins with who wrote them."""
    rows = [(f"{writer}{number:05}", number, INSERTED, UNTIL) for number in range(records)]
    if form == "csv":
        return "".join(f"{','.join(map(str, row))}\n" for row in rows)
    return "".join(f"{json.dumps(dict(zip(('key', 'body', 'ins', 'until'), row, strict=True)))}\n" for row in rows)


def by_rename(path: Path, text: str) -> None:
    neighbour = path.with_name(f"_{path.name}")
    neighbour.write_text(text)
    neighbour.rename(path)


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def beginning_in_place(path: Path, text: str) -> None:
    """A writer that is still at it when the update is done."""
    path.write_text(text[:50])


def with_the_old_times(path: Path, text: str) -> None:
    """As rsync and cp -p do."""
    before = path.stat()
    by_rename(path, text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def away(path: Path, text: str) -> None:
    path.unlink()


EXCHANGES: tuple[Callable[[Path, str], None], ...] = (by_rename, in_place, with_the_old_times, beginning_in_place, away)


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    return SmallArchive(tmp_path, generation_of()).create()


def source_path(archive: SmallArchive, form: str, slot: int = 0) -> Path:
    path = archive.folder / "source" / f"{slot}.{form}"
    path.parent.mkdir(exist_ok=True)
    return path


def job_of(archive: SmallArchive, form: str, options: dict[str, str] | None = None) -> ArchiveJob:
    path = str(source_path(archive, form)).replace("0.", "{slot}.")
    source = replace(archive.file.source, format=form, path=path, options=options or {})
    return replace(archive.job, file=replace(archive.file, source=source))


def stored_by(outcome: Outcome, job: ArchiveJob) -> dict[str, int]:
    """How many records of each writer the archive holds; all that came are stored."""
    assert outcome.receipt is not None
    snapshot = job.snapshot()
    tables = [pq.ParquetFile(snapshot.location.child(fact.path)).read(["key"]) for fact in snapshot.files]
    found = Counter(key[0] for table in tables for key in table.column("key").to_pylist())
    assert outcome.receipt.slots[0].rows_in == found.total()
    return dict(found)


def meanwhile(job: ArchiveJob, step: str, change: Callable[[], None]) -> ArchiveJob:
    """The job, and what somebody else does when it comes to a step."""
    return replace(job, progress=lambda said: change() if said == step else None)


@pytest.mark.parametrize(
    "exchange",
    [*EXCHANGES[:2], *(pytest.param(one, marks=pytest.mark.nightly) for one in EXCHANGES[2:])],
    ids=lambda one: one.__name__,
)
def test_an_exchanged_file_is_refused_and_the_next_try_stores_the_new_one(
    archive: SmallArchive, exchange: Callable[[Path, str], None]
) -> None:
    path, job = source_path(archive, "json"), job_of(archive, "json")
    path.write_text(text_of("json", "a", SHORT))
    with pytest.raises(Unavailable, match="changed while it was read") as caught:
        update(meanwhile(job, "writing", lambda: exchange(path, text_of("json", "b", SHORT))), [0])
    assert str(path) in str(caught.value)
    assert job.snapshot().version == 0
    if exchange is by_rename:
        by_rename(path, text_of("json", "b", LONG))
        assert stored_by(update(job, [0]), job) == {"b": LONG}


def test_a_file_that_comes_behind_sparks_listing_is_not_of_the_batch(archive: SmallArchive) -> None:
    job = job_of(archive, "csv")
    folder = source_path(archive, "csv").parent
    source = replace(job.require_file().source, path=str(folder / "{slot}*.csv"))
    job = replace(job, file=replace(job.require_file(), source=source))
    (folder / "0a.csv").write_text(text_of("csv", "a", SHORT))
    late = meanwhile(job, "writing", lambda: in_place(folder / "0b.csv", text_of("csv", "b", SHORT)))
    assert stored_by(update(late, [0]), job) == {"a": SHORT}


@pytest.mark.parametrize(
    ("form", "options", "text", "empty"),
    [
        ("csv", {"header": "true"}, "key,body,ins,until\n", True),
        pytest.param(
            "csv",
            {"header": "true", "comment": "#"},
            "# of today\nkey,body,ins,until\n",
            True,
            marks=pytest.mark.nightly,
        ),
        pytest.param("json", {"multiLine": "true"}, "[\n]\n", True, marks=pytest.mark.nightly),
        ("json", {}, "\n \n", True),
        ("csv", {"header": "true", "lineSep": ";"}, "key,body,ins,until\na,1,x,y\n", False),
    ],
)
def test_text_that_gives_no_record_is_a_batch_only_where_it_holds_none(
    archive: SmallArchive, form: str, options: dict[str, str], text: str, *, empty: bool
) -> None:
    source_path(archive, form).write_text(text)
    job = job_of(archive, form, options)
    if empty:
        assert stored_by(update(job, [0]), job) == {}
        return
    with pytest.raises(InvalidInput, match="gave no record, although its files hold text"):
        update(job, [0])
    assert job.snapshot().version == 0


@pytest.mark.nightly
def test_a_packed_file_that_was_cut_is_named(archive: SmallArchive) -> None:
    path, job = source_path(archive, "json.gz"), job_of(archive, "json")
    source = replace(job.require_file().source, path=str(path).replace("0.", "{slot}."))
    packed = gzip.compress(text_of("json", "a", 5000).encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidInput) as caught:
        update(replace(job, file=replace(job.require_file(), source=source)), [0])
    assert str(path) in caught.value.message


@pytest.mark.nightly
@pytest.mark.parametrize("form", ["json", "csv"])
def test_whenever_a_file_is_exchanged_the_batch_is_one_files(archive: SmallArchive, form: str) -> None:
    """Writers without pause, at any moment of the read."""
    seed = random.randrange(10**6)
    print("seed", seed)
    chance, records = random.Random(seed), 20_000
    path, job = source_path(archive, form), job_of(archive, form)
    texts = {writer: text_of(form, writer, records + place * 4000) for place, writer in enumerate("abcd")}
    sizes = {writer: text.count("\n") for writer, text in texts.items()}
    refused, stored = [], 0
    for _ in range(40):
        path.write_text(texts["a"])
        exchange, delay = chance.choice(EXCHANGES[:4]), chance.uniform(0, 1.5)

        def write(
            exchange: Callable[[Path, str], None] = exchange, delay: float = delay, writer: str = chance.choice("bcd")
        ) -> None:
            time.sleep(delay)
            exchange(path, texts[writer])

        thread = threading.Thread(target=write)
        thread.start()
        try:
            found = stored_by(update(job, [0], confirmed=ANY_SIZE), job)
        except TidewheelError as error:
            refused.append(str(error))
        else:
            # What a writer only began is that writer's file as long as nobody changes it while it is read.
            assert len(found) == 1
            assert exchange is beginning_in_place or [*found.values()] == [sizes[writer] for writer in found]
            stored += 1
        thread.join()
    assert refused, stored
    assert all("Nothing was changed" in said for said in refused)
