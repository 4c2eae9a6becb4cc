"""No file handles: an answer or an error that says so, and an archive that is what it was."""

from __future__ import annotations

import os
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.archives.copies import SPAN, copied
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, random_batch
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.status import status
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.errors import TidewheelError
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.storage.machine import machine_fault

HANDLES = (0, 1, 2, 3, 5, 8, 12, 20)


def test_a_missing_file_is_no_fault_of_the_machine() -> None:
    assert machine_fault("the file is gone", "while reading") is None


@contextmanager
def handles_left(number: int) -> Iterator[None]:
    """This process may open so many files more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on the numbers of files, and those in use have gaps.
    used = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    free = [at for at in range(used[-1] + 2 + number) if at not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[number] if number else free[0], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def scan(archive: SmallArchive) -> Counter[tuple[str, int]]:
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        return Counter(reader.sql("select key, body from live").rows())


def audited(archive: SmallArchive) -> None:
    """Files that cannot be opened are findings: those must name the reason too."""
    findings = audit(archive.job, deep=False).findings
    if findings:
        raise OSError("; ".join(one.message for one in findings))


OPERATIONS: dict[str, Callable[[SmallArchive], object]] = {
    "scan": scan,
    "status": lambda archive: status(archive.job),
    "audit": audited,
    "expire": lambda archive: expire(archive.job, 6, confirmed=EVERYTHING),
    "update": lambda archive: update(archive.job, [5], confirmed=EVERYTHING),
    "vacuum": lambda archive: vacuum(archive.job),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_without_file_handles(five_slots_built: SmallArchive, spark: SparkSession, tmp_path: Path, name: str) -> None:
    refused = 0
    for handles in HANDLES:
        archive = copied(five_slots_built, tmp_path / str(handles))
        archive.now_us += 10**10
        batch = random_batch(random.Random(5), 5, SPAN)
        archive.write(5, batch)
        before = archive.snapshot().version
        try:
            with handles_left(handles):
                OPERATIONS[name](archive)
        except (TidewheelError, OSError) as error:
            refused += 1
            if machine_fault(str(error), "") is None:
                raise
        after = archive.snapshot().version
        if after > before:
            archive.oracle.update({5: batch}) if name == "update" else archive.oracle.expire(6)
        archive.check()
        assert scan(archive) == Counter((str(r.key), r.body) for r in archive.oracle.content())
    assert refused, "the limit was felt"
    print(f"{len(HANDLES)} limits, {refused} refusals")
